import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../core/contracts/runtime.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { formatKeyFile } from '../../../core/keys/key-file.js';
import { keptLogger } from '../../support/kept-logger.js';
import { newRecord } from '../../support/key-record.js';

const COUNT = 100_000;
const hashOf = (i: number) => i.toString(16).padStart(64, '0');

it('a key file of 100,000 keys can be read, searched and changed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  const path = join(folder, 'keys.json');
  const store = new FileKeyStore(
    { path, pollMs: 50 },
    { clock: systemClock, logger: keptLogger(), resolvePath: (file) => file },
  );
  try {
    const records = Array.from({ length: COUNT }, (_, i) => newRecord({ id: `key_${i}`, hash: hashOf(i) }));
    await writeFile(path, formatKeyFile(records));
    await store.open();
    await store.update('key_99999', { limit_per_minute: 7 });
    expect(store.lookup(hashOf(99_999))?.limit_per_minute).to.equal(7);
    expect((await store.list()).length).to.equal(COUNT);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
});
