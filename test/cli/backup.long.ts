import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeRows } from '../../bench/rows-dataset.js';
import { commandArgs, runNode } from '../support/command-process.js';

const ROWS = 1_000_000;
const HEAP_MB = 128;
/** Maximum memory of the process in MB. The rows take about 190 MB as text, and several times as much as objects. */
const MAX_MB = 400;

const MEASURE = `data:text/javascript,${encodeURIComponent(`
import { readFileSync } from 'node:fs';
let largest = 0;
const measure = () => {
  largest = Math.max(largest, Number(/RssAnon:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]));
};
setInterval(measure, 50).unref();
process.on('exit', () => process.stdout.write('\\nmemory ' + Math.round(largest / 1024) + ' MB'));
`)}`;

describe(`a backup of ${ROWS} rows`, function () {
  this.timeout(600_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'large-backup-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it(`needs at most ${MAX_MB} MB of memory, and so does the restore`, async () => {
    const [dataset, backup] = [join(folder, 'dataset'), join(folder, 'backup')];
    await writeRows(dataset, ROWS);
    const home = async (name: string, declarations: string): Promise<string> => {
      const path = join(folder, name, 'tables');
      await mkdir(path, { recursive: true });
      for (const file of await readdir(declarations)) {
        if (file.endsWith('.collection.json')) await cp(join(declarations, file), join(path, file));
      }
      const config = {
        adapter: { use: 'sqlite', options: { path: 'data.db' } },
        plugins: ['status', { use: 'tables', options: { path: 'tables' } }],
        auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
      };
      await writeFile(join(folder, name, 'api.json'), JSON.stringify(config));
      return join(folder, name, 'api.json');
    };
    const run = (config: string, ...args: string[]) =>
      runNode(
        [`--max-old-space-size=${HEAP_MB}`, '--import', MEASURE, ...commandArgs(['--config', config, ...args])],
        {},
      );
    const source = await home('source', dataset);
    await run(source, 'publish', dataset);
    const memory: number[] = [];
    const measured = async (config: string, ...args: string[]) => {
      const output = await run(config, ...args);
      memory.push(Number(/memory (\d+) MB$/.exec(output)![1]));
    };
    await measured(source, 'export', backup);
    const target = await home('target', join(backup, 'declarations'));
    await measured(target, 'import-backup', backup);
    console.log(`      export ${memory[0]} MB, import-backup ${memory[1]} MB`);
    for (const each of memory) expect(each).to.be.below(MAX_MB);
    const audit = await run(target, 'snapshots', 'audit', '--verify', '--json');
    const { faults, notes } = JSON.parse(audit.replace(/\nmemory .*$/, ''));
    expect([faults, notes]).to.deep.equal([[], []]);
  });
});
