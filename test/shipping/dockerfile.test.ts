/** The image is well formed, complete, and starts what the package has. */
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { validate } from 'dockerfile-utils';
import { loadConfig } from '../../app/load-config.js';
import { at, read } from '../support/shipped-files.js';

/** The instructions of a Dockerfile, continued lines joined, as [name, rest]. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => /^(\w+)\s+(.*)$/.exec(line)!.slice(1) as [name: string, rest: string]);
const all = (name: string): string[] => instructions.filter(([each]) => each === name).map(([, rest]) => rest);
const final = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
const last = (name: string): string | undefined => final.findLast(([each]) => each === name)?.[1];
/** What the final stage takes from the tree that was built, as paths of the repository. */
const copied = final
  .filter(([name]) => name === 'COPY')
  .flatMap(([, rest]) => rest.split(/\s+/).slice(1, -1))
  .map((path) => path.replace('/app/', ''));

describe('Dockerfile', () => {
  it('has no fault that its linter knows', () => {
    const found = validate(read('Dockerfile')).map(({ range, message }) => `${range.start.line + 1}: ${message}`);
    expect(found).to.deep.equal([]);
  });

  it('starts from images of a named version, never the latest', () => {
    for (const image of all('FROM')) expect(image).to.match(/^[\w./-]+:(?!latest)[\w.-]+( AS \w+)?$/);
  });

  it('copies what exists, and all that the package has', () => {
    const built = ['node_modules', 'dist'];
    expect(copied.filter((path) => !built.includes(path) && !existsSync(at(path)))).to.deep.equal([]);
    const published = (JSON.parse(read('package.json')).files as string[])
      .filter((path) => !path.startsWith('!'))
      .map((path) => path.split('/')[0]);
    expect(copied).to.include.members([...new Set(published), 'package.json', 'node_modules']);
    expect(
      read('.dockerignore')
        .split('\n')
        .filter((line) => copied.includes(line))
        .sort(),
    ).to.deep.equal(built.sort());
  });

  it('runs the command line, as a user that is not root, with a check of its health', async () => {
    expect(last('USER')).to.equal('node');
    expect(JSON.parse(last('ENTRYPOINT')!)).to.deep.equal(['node', 'bin/metro-forecast.js']);
    expect(existsSync(at('bin/metro-forecast.js'))).to.equal(true);
    const { config } = await loadConfig({ env: {} });
    expect(last('EXPOSE')).to.equal(`${config.server.port}`);
    expect(last('HEALTHCHECK')).to.contain(`|| ${config.server.port}}${config.server.basePath}/health`);
  });
});
