/** Which lines are told to have run: proved by a process that runs one file, half of another, and none else. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type FileCoverage, readCoverage } from './coverage.js';

const compiled = fileURLToPath(new URL('../..', import.meta.url));

describe('readCoverage()', () => {
  let folder: string;
  let files: readonly FileCoverage[];
  const of = (name: string): FileCoverage => files.find(({ file }) => file === name)!;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coverage-test-'));
    const program = `
      import { nearest } from ${JSON.stringify(join(compiled, 'core/validation/nearest.js'))};
      import { LruMap } from ${JSON.stringify(join(compiled, 'core/util/lru-map.js'))};
      nearest('prot', ['port', 'zzzzz']);
      nearest('zz', []);
      new LruMap(1).clear();`;
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    // Of a process that was killed.
    await writeFile(join(folder, 'half.json'), '{"result":[{"scr');
    files = await readCoverage([folder], compiled, ['core']);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('misses no line of a file that ran whole', () => {
    expect(of('core/validation/nearest.ts').missed).to.deep.equal([]);
    expect(of('core/validation/nearest.ts').lines).to.be.greaterThan(3);
  });

  it('misses the lines of the functions that were not called', () => {
    const { lines, missed } = of('core/util/lru-map.ts');
    expect(missed).to.have.length.within(8, lines - 5);
    for (const [at, line] of missed.entries()) expect(line).to.be.greaterThan(missed[at - 1] ?? 7);
  });

  it('misses every line of a file that nobody loaded', () => {
    const { lines, missed } = of('core/redis/breaker.ts');
    expect(missed).to.have.length(lines);
  });

  it('leaves out what has types alone', () => {
    expect(of('core/contracts/cache.ts')).to.equal(undefined);
  });
});
