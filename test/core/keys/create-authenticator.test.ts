import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../core/contracts/runtime.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { createKey, Peppers } from '../../../core/keys/key.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { keptLogger } from '../../support/kept-logger.js';
import { newKey, newRecord } from '../../support/key-record.js';
import { startTestApp } from '../../support/test-app.js';

describe('a service with keys in a file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-ring-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('logs at startup which keys lack their pepper, and accepts the other keys', async () => {
    const path = join(folder, 'peppered.json');
    const open = () =>
      new FileKeyStore(
        { path, pollMs: 1000 },
        { logger: keptLogger(), clock: systemClock, resolvePath: (each) => each },
      );
    const secrets = { '1': 'first '.repeat(6), '2': 'second '.repeat(6) };
    const made = [{}, { '1': secrets['1'] }, secrets].map((each) => {
      const { key, ...kept } = createKey(new Peppers(each));
      return { key, record: newRecord(kept) };
    });
    const store = open();
    for (const { record } of made) await store.insert(record);
    const logger = keptLogger();
    const service = await startTestApp({
      config: { auth: { peppers: { '2': secrets['2'] }, keys: 'memory' } },
      overrides: { keyStore: open(), logger },
    });
    try {
      const statuses = [];
      for (const { key } of made) {
        statuses.push((await service.get('/markets', { headers: { Authorization: `Bearer ${key}` } })).status);
      }
      expect(statuses).to.deep.equal([200, 401, 200]);
      const warnings = logger.lines.filter((line) => line.startsWith('warn'));
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.contain('auth.peppers has no version 1').and.to.contain(made[1]!.record.id);
    } finally {
      await service.close();
    }
  });

  it('warns at startup that there are no keys only if callers without a key have no tier', async () => {
    const warnings = async (auth: object) => {
      const logger = keptLogger();
      const config = { auth: { tiers: { free: {} }, keys: 'memory', ...auth } };
      const service = await startTestApp({ config, overrides: { keyStore: new MemoryKeyStore(), logger } });
      await service.close();
      return logger.lines.filter((line) => line.startsWith('warn: no key is active'));
    };
    expect(await warnings({})).to.have.length(1);
    expect(await warnings({ anonymous: 'free' })).to.deep.equal([]);
  });

  it('stores the last use of each valid key, and of no other keys', async () => {
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
