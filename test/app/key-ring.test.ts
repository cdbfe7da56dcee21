/** What a service tells its key store of the keys that callers use. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../core/contracts/runtime.js';
import { FileKeyStore } from '../../core/keys/file-key-store.js';
import { keptLogger } from '../support/kept-logger.js';
import { newKey } from '../support/key-record.js';
import { startTestApp } from '../support/test-app.js';

describe('a service with keys in a file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-ring-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('leaves behind when each valid key was used last, and nothing of the others', async () => {
    const keyStore = new FileKeyStore(
      { path: join(folder, 'keys.json'), pollMs: 1000 },
      { logger: keptLogger(), clock: systemClock, resolvePath: (path) => path },
    );
    const used = newKey();
    const revoked = newKey({ revoked_at: '2026-01-02T00:00:00Z' });
    const unused = newKey();
    for (const { record } of [used, revoked, unused]) await keyStore.insert(record);
    const service = await startTestApp({ overrides: { keyStore } });
    const since = Date.now();
    try {
      for (const { key } of [used, used, revoked]) {
        await service.get('/markets', { headers: { Authorization: `Bearer ${key}` } });
      }
    } finally {
      await service.close();
    }
    const times = await keyStore.lastUsed();
    expect([...times.keys()]).to.deep.equal([used.record.id]);
    expect(times.get(used.record.id)).to.be.within(since, Date.now());
  });
});
