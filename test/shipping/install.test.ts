import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';

interface Ended {
  readonly code: number;
  readonly stderr: string;
}

const node = (...args: string[]): Promise<Ended> =>
  promisify(execFile)(process.execPath, args).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: Ended) => error,
  );

describe('the package', () => {
  let folder: string;
  const at = (name: string) => join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'install-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('without its compiler, "npm start" and the executable explain how to build it', async () => {
    await mkdir(at('cli'));
    for (const name of ['package.json', 'cli/build.js', 'cli/metro-forecast.js']) {
      await cp(join(packageRoot, name), at(name));
    }
    const advice = 'npm ci && npm prune --omit=dev';
    const prepared = await node(at('cli/build.js'));
    expect([prepared.code, prepared.stderr.includes(advice)]).to.deep.equal([0, true]);
    const started = await node(at('cli/metro-forecast.js'), 'start');
    expect([started.code, started.stderr.includes(advice)]).to.deep.equal([1, true]);
    expect(started.stderr).to.not.match(/ at /);
  });

  it('has an executable with the name of the package, for npx', async () => {
    const { name, bin } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
    expect(bin[name]).to.equal(bin['metro-forecast']);
  });

  it('cannot be published with the placeholders of package.json', async () => {
    const check = join(packageRoot, 'tools/check-release.js');
    const text = await readFile(join(packageRoot, 'package.json'), 'utf8');
    await writeFile(at('package.json'), text);
    const result = await node(check, at('package.json'));
    expect(result.code).to.equal(1);
    expect(result.stderr).to.contain('repository, bugs, homepage, author');
    await writeFile(at('package.json'), text.replaceAll('OWNER', 'someone'));
    expect((await node(check, at('package.json'))).code).to.equal(0);
  });
});
