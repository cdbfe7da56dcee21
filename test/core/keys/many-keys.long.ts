import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../core/contracts/runtime.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { packageRoot } from '../../../core/util/package.js';
import { commandArgs, runNode } from '../../support/command-process.js';
import { keptLogger } from '../../support/kept-logger.js';
import { formatKeyFile } from '../../support/key-file.js';
import { newRecord } from '../../support/key-record.js';

const COUNT = 100_000;
const hashOf = (i: number) => i.toString(16).padStart(64, '0');
const manyRecords = () => Array.from({ length: COUNT }, (_, i) => newRecord({ id: `key_${i}`, hash: hashOf(i) }));

it('a key file of 100,000 keys can be read, searched and changed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  const path = join(folder, 'keys.json');
  const store = new FileKeyStore(
    { path, pollMs: 50 },
    { clock: systemClock, logger: keptLogger(), resolvePath: (file) => file },
  );
  try {
    await writeFile(path, formatKeyFile(manyRecords()));
    await store.open();
    await store.update('key_99999', { limit_per_minute: 7 });
    expect(store.lookup(hashOf(99_999))?.limit_per_minute).to.equal(7);
    expect((await store.list()).length).to.equal(COUNT);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
});

it('commands that change a file of 100,000 keys need at most 150 MB, also if the file has no audit yet', async function () {
  this.timeout(300_000);
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  const config = join(folder, 'metro-forecast.json');
  // `maxRSS` would also contain the memory of the parent process, so the test reads `VmHWM`.
  const printPeak =
    "process.on('exit', () => console.log(/VmHWM:\\s*(\\d+)/.exec(process.getBuiltinModule('fs').readFileSync('/proc/self/status', 'utf8'))[1]))";
  const peakMb = async (...args: string[]): Promise<number> => {
    const output = await runNode(
      ['--import', `data:text/javascript,${printPeak}`, ...commandArgs(['--config', config, 'keys', ...args])],
      {},
    );
    return Number(output.trim().split('\n').at(-1)) / 1024;
  };
  try {
    await writeFile(join(folder, 'keys.json'), formatKeyFile(manyRecords()));
    const sample = { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } };
    const keys = { use: 'file', options: { path: 'keys.json' } };
    await writeFile(config, JSON.stringify({ adapter: sample, plugins: ['markets'], auth: { keys } }));
    expect(await peakMb('limit', 'key_50000', '70')).to.be.below(150);
    expect(await peakMb('revoke', 'key_50000')).to.be.below(150);
    expect(await peakMb('create', '--name', 'new')).to.be.below(150);
  } finally {
    await rm(folder, { recursive: true });
  }
});
