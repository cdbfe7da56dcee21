import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type FileCoverage, readCoverage } from '../../tools/executed-lines.js';

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
      new LruMap(1).values();`;
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    // A process that is killed while it writes its coverage file leaves an incomplete file.
    await writeFile(join(folder, 'half.json'), '{"result":[{"scr');
    files = await readCoverage([folder], compiled, ['core']);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('reports no missed line for a file that ran completely', () => {
    expect(of('core/validation/nearest.ts').missed).to.deep.equal([]);
    expect(of('core/validation/nearest.ts').lines).to.be.greaterThan(3);
  });

  it('reports the lines of functions that were not called', () => {
    const { lines, missed } = of('core/util/lru-map.ts');
    expect(missed).to.have.length.within(8, lines - 5);
    for (const [at, line] of missed.entries()) expect(line).to.be.greaterThan(missed[at - 1] ?? 4);
  });

  it('reports every line of a file that was not loaded', () => {
    const { lines, missed } = of('core/redis/circuit-breaker.ts');
    expect(missed).to.have.length(lines);
  });

  it('ignores files that contain only types', () => {
    expect(of('core/contracts/cache.ts')).to.equal(undefined);
  });
});
