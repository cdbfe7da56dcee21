import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { basename } from 'node:path';
import { MongoClient } from 'mongodb';
import { eventually } from '../../adapters/conformance/expect.js';
import { describeKeyStore } from '../../adapters/conformance/index.js';
import { mongoKeyStore } from '../../adapters/mongo/key-store.js';
import type { ConnectionOptions } from '../../adapters/mongo/options.js';
import type { KeyStore } from '../../core/contracts/keys.js';
import { systemClock } from '../../core/contracts/runtime.js';
import { KeyStoreError } from '../../core/errors.js';
import { type KeptLogger, keptLogger } from '../support/kept-logger.js';
import { newRecord } from '../support/key-record.js';
import { mongoForTests, type Server, startMongo, uniqueName } from '../support/services.js';

const NEVER = 3_600_000;
const IN_FORCE_MS = 5000;

const rejectsWith = async (
  code: KeyStoreError['code'],
  promise: Promise<unknown>,
  message: string | RegExp = /^[A-Z]/,
): Promise<void> => {
  await assert.rejects(promise, (error) => error instanceof KeyStoreError && error.code === code);
  await assert.rejects(promise, { message });
};

describe('MongoDB', () => {
  const databases = new Set<string>();
  let uri: string;
  before(async () => {
    ({ url: uri } = await mongoForTests());
  });
  after(async () => {
    const client = new MongoClient(uri);
    for (const name of databases) await client.db(name).dropDatabase();
    await client.close();
  });
  describeKeyStore({
    name: 'mongo',
    create(context) {
      const database = basename(context.resolvePath('.'));
      databases.add(database);
      // Simultaneous writes retry, which can take longer than the default timeouts on a busy machine.
      const timeouts = { operationMs: 20_000, waitQueueMs: 20_000, serverSelectionMs: 20_000, connectMs: 20_000 };
      return mongoKeyStore.create({ uri, database, pollMs: 50, ...timeouts }, context);
    },
  });
});

describe('the key store in MongoDB', () => {
  let uri: string;
  let database: string;
  let server: Server | undefined;
  let stores: KeyStore[];
  let logger: KeptLogger;

  beforeEach(async () => {
    stores = [];
    database = uniqueName('keys');
    ({ url: uri } = await mongoForTests());
  });
  afterEach(async () => {
    server?.resume();
    await Promise.all(stores.map((store) => store.close()));
    if (server) await server.stop();
    else await raw((db) => db.dropDatabase());
    server = undefined;
  });

  const raw = async <T>(work: (db: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> => {
    const client = new MongoClient(uri);
    try {
      return await work(client.db(database));
    } finally {
      await client.close();
    }
  };
  const edit = (id: string, update: object) =>
    raw((db) => db.collection<{ _id: string }>('api_keys').updateOne({ _id: id }, update));

  const useOwn = async (options: { readonly replicaSet?: boolean } = {}): Promise<Server> => {
    server = await startMongo(options);
    uri = server.url;
    return server;
  };
  const makeStore = (options: Partial<ConnectionOptions> = {}): KeyStore => {
    logger = keptLogger();
    const context = { logger, clock: systemClock, resolvePath: (path: string) => path };
    const store = mongoKeyStore.create({ uri, database, pollMs: 100, ...options }, context);
    stores.push(store);
    return store;
  };
  const newStore = async (options: Partial<ConnectionOptions> = {}): Promise<KeyStore> => {
    const store = makeStore(options);
    await store.open();
    return store;
  };

  it('insert() and update() take effect before they resolve, and list() returns the oldest key first', async () => {
    const store = await newStore();
    const [younger, older] = [newRecord(), newRecord({ created_at: '2025-01-01T00:00:00Z', name: '$name' })];
    for (const record of [younger, older]) {
      await store.insert(record);
      assert.deepEqual(store.lookup(record.hash), record);
    }
    const change = { limit_per_minute: 5, name: '$$NOW', revoked_at: '2026-02-01T00:00:00Z' };
    assert.deepEqual(await store.update(younger.id, change), { ...younger, ...change });
    assert.deepEqual(store.lookup(younger.hash), { ...younger, ...change });
    assert.deepEqual(await store.list(), [older, { ...younger, ...change }]);
    assert.equal(store.lookup(newRecord().hash), undefined);
  });

  it('lookup() throws unavailable before open()', () => {
    const store = makeStore();
    const message = 'The key store has not been opened.';
    assert.throws(() => store.lookup(newRecord().hash), { name: 'KeyStoreError', code: 'unavailable', message });
  });

  it('stores the version of the pepper with each key', async () => {
    const record = newRecord({ pepper: 2 });
    await (await newStore()).insert(record);
    assert.deepEqual(await (await newStore()).list(), [record]);
  });

  it('insert() rejects with conflict for an existing id or hash, and changes nothing', async () => {
    const store = await newStore();
    const record = newRecord();
    await store.insert(record);
    const conflict = (id: string) => `A key with the id ${id}, or with the same hash, already exists.`;
    await rejectsWith('conflict', store.insert(newRecord({ id: record.id })), conflict(record.id));
    const same = newRecord({ hash: record.hash });
    await rejectsWith('conflict', store.insert(same), conflict(same.id));
    assert.deepEqual(await store.list(), [record]);
  });

  it('update() rejects with unknown_key for an unknown id', async () => {
    const store = await newStore();
    await rejectsWith('unknown_key', store.update('key_none', { name: 'x' }), 'There is no key with the id key_none.');
    assert.deepEqual(await store.list(), []);
  });

  it('audit() lists each change once, oldest first, with the previous values, and no rejected change', async () => {
    const store = await newStore();
    const record = newRecord({ limit_per_minute: 600 });
    await store.insert(record);
    // The driver stores this value as a BSON date.
    await edit(record.id, { $set: { expires_at: new Date('2027-01-01T00:00:00Z') } });
    await store.update(record.id, { limit_per_minute: 1200 });
    await store.update(record.id, { limit_per_minute: 1200 });
    await store.update(record.id, { expires_at: null, name: '$hash' });
    await rejectsWith('conflict', store.insert(newRecord({ id: record.id })));
    await rejectsWith('conflict', store.insert(newRecord({ hash: record.hash })));
    await rejectsWith('unknown_key', store.update('key_none', { name: 'x' }));
    const entries = (await store.audit?.()) ?? [];
    assert.deepEqual(
      entries.map(({ action, key, by }) => [action, key, by]),
      ['create', 'limit', 'change'].map((action) => [action, record.id, userInfo().username]),
    );
    assert.deepEqual(entries[1]?.changes, { limit_per_minute: { from: 600, to: 1200 } });
    assert.deepEqual(entries[2]?.changes, {
      name: { from: 'test', to: '$hash' },
      expires_at: { from: '2027-01-01T00:00:00.000Z', to: null },
    });
    assert(!JSON.stringify(entries).includes(record.hash));
  });

  it('audit() has the correct previous values when a key is changed concurrently', async () => {
    const stores = [await newStore({ operationMs: 10_000 }), await newStore({ operationMs: 10_000 })];
    const record = newRecord({ limit_per_minute: 1 });
    await stores[0]!.insert(record);
    const limits = [2, 3, 4, 5, 6];
    await Promise.all(limits.map((limit, i) => stores[i % 2]!.update(record.id, { limit_per_minute: limit })));
    const changes = ((await stores[0]!.audit?.()) ?? []).slice(1).map(({ changes }) => changes['limit_per_minute']);
    assert.deepEqual(changes.map((change) => change?.to).sort(), limits);
    // Each change must have replaced a different value. Only the final value has not been replaced.
    const last = (await stores[0]!.list())[0]?.limit_per_minute;
    assert.deepEqual(
      changes.map((change) => change?.from).sort(),
      [1, ...limits].filter((limit) => limit !== last),
    );
  });

  it('noteUse() keeps the latest time of each key for all replicas, without making any replica read the key again', async () => {
    const [store, reader] = [await newStore(), await newStore({ pollMs: NEVER })];
    const record = newRecord();
    await store.insert(record);
    await eventually('the key is known', () => reader.lookup(record.hash) !== undefined, IN_FORCE_MS);
    const known = reader.lookup(record.hash);
    let changes = 0;
    for (const each of [store, reader]) each.onChange(() => changes++);
    const now = Date.now();
    await Promise.all([
      store.noteUse?.(new Map([[record.id, now]])),
      reader.noteUse?.(
        new Map([
          [record.id, now - 1],
          ['key_other', now - 1],
        ]),
      ),
    ]);
    assert.deepEqual(Object.fromEntries((await store.lastUsed?.()) ?? []), { [record.id]: now, key_other: now - 1 });
    // Changes arrive in order, so a reader that knows this key has seen all earlier changes.
    const other = newRecord();
    await store.insert(other);
    await eventually('the other key is known', () => reader.lookup(other.hash) !== undefined, IN_FORCE_MS);
    assert.equal(changes, 2);
    assert.equal(reader.lookup(record.hash), known);
  });

  it('noteUse() accepts thousands of keys', async () => {
    const store = await newStore({ operationMs: 10_000 });
    await store.noteUse?.(new Map(Array.from({ length: 2500 }, (_, i) => [`key_${i}`, i])));
    assert.equal((await store.lastUsed?.())?.size, 2500);
  });

  it('audit(), noteUse() and lastUsed() reject with unavailable while MongoDB is unreachable', async () => {
    const mongod = await useOwn();
    const store = await newStore();
    await mongod.kill();
    await rejectsWith('unavailable', store.audit!());
    await rejectsWith('unavailable', store.noteUse!(new Map([['key_1', 1]])));
    await rejectsWith('unavailable', store.lastUsed!());
  });

  for (const [how, replicaSet, pollMs] of [
    ['by change stream, without polling', true, NEVER],
    ['by polling, where there are no change streams', false, 100],
  ] as const) {
    it(`another replica notices new, changed and revoked keys ${how}, and notifies its listeners`, async () => {
      if (!replicaSet) await useOwn({ replicaSet });
      const [writer, reader] = [await newStore(), await newStore({ pollMs })];
      let changes = 0;
      reader.onChange(() => {
        changes++;
      });
      const record = newRecord();
      await writer.insert(record);
      await eventually('the key is known', () => reader.lookup(record.hash) !== undefined, IN_FORCE_MS);
      const before = changes;
      assert(before > 0);
      await writer.update(record.id, { limit_per_minute: 7 });
      await eventually('the limit is', () => reader.lookup(record.hash)?.limit_per_minute === 7, IN_FORCE_MS);
      assert(changes > before);
      await writer.update(record.id, { revoked_at: '2026-02-01T00:00:00Z' });
      await eventually('the revocation is', () => reader.lookup(record.hash)?.revoked_at !== null, IN_FORCE_MS);
    });
  }

  it('polling notifies no listener while nothing changes', async () => {
    await useOwn({ replicaSet: false });
    const store = await newStore({ pollMs: NEVER });
    const record = newRecord();
    await store.insert(record);
    let changes = 0;
    store.onChange(() => {
      changes++;
    });
    for (let looks = 0; looks < 5; looks++) await store.list();
    assert.equal(changes, 0);
    await store.update(record.id, { name: 'other' });
    assert.equal(changes, 1);
  });

  it('keys that were edited or deleted by hand take effect, even with invalid times', async () => {
    const [store, reader] = [await newStore(), await newStore({ pollMs: NEVER })];
    const record = newRecord();
    await store.insert(record);
    await eventually('the key is known', () => reader.lookup(record.hash) !== undefined, IN_FORCE_MS);
    const revoked = new Date('2026-03-01T00:00:00Z');
    await edit(record.id, { $set: { revoked_at: revoked }, $unset: { expires_at: 1 } });
    await eventually(
      'it is revoked',
      () => reader.lookup(record.hash)?.revoked_at === revoked.toISOString(),
      IN_FORCE_MS,
    );
    assert.equal(reader.lookup(record.hash)?.expires_at, null);
    const { hash } = newRecord();
    await edit(record.id, { $set: { hash } });
    await eventually('it is another key', () => reader.lookup(hash)?.id === record.id, IN_FORCE_MS);
    assert.equal(reader.lookup(record.hash), undefined);
    await edit(record.id, { $set: { hash: record.hash } });
    await eventually('the key is the first again', () => reader.lookup(record.hash)?.id === record.id, IN_FORCE_MS);
    await raw((db) => db.collection<{ _id: string }>('api_keys').deleteOne({ _id: record.id }));
    await eventually('the key is deleted', () => reader.lookup(record.hash) === undefined, IN_FORCE_MS);
    await raw((db) =>
      db
        .collection<object>('api_keys')
        .insertOne({ _id: 'by-hand', hash: record.hash, name: 'n', tier: 't' } as object),
    );
    await eventually('it is back', () => reader.lookup(record.hash)?.id === 'by-hand', IN_FORCE_MS);
    await raw((db) => db.dropCollection('api_keys'));
    await eventually('all keys are deleted', () => reader.lookup(record.hash) === undefined, IN_FORCE_MS);
  });

  it('lookup() throws unavailable until the keys have been read once MongoDB is reachable', async () => {
    const mongod = await useOwn();
    const record = newRecord();
    await (await newStore()).insert(record);
    await mongod.kill();
    const store = await newStore();
    assert.throws(
      () => store.lookup(record.hash),
      (error) => error instanceof KeyStoreError && error.code === 'unavailable',
    );
    assert.deepEqual(store.health(), {
      ok: false,
      message: 'The key store cannot be reached; no key can be checked yet.',
    });
    await rejectsWith('unavailable', store.list());
    await rejectsWith('unavailable', store.insert(newRecord()));
    await mongod.restart();
    await eventually('the store is healthy', () => store.health().ok, 10_000);
    assert.deepEqual(store.lookup(record.hash), record);
    assert.deepEqual(
      logger.lines.filter((line) => line.includes('the key store')),
      ['warn: the key store is unreachable; retrying', 'info: the key store is reachable again'],
    );
  });

  for (const [what, stop, restart] of [
    ['killed', (mongod: Server) => mongod.kill(), (mongod: Server) => mongod.restart()],
    ['frozen', async (mongod: Server) => mongod.freeze(), async (mongod: Server) => mongod.resume()],
  ] as const) {
    it(`while MongoDB is ${what}, lookup() uses memory and changes are rejected; later changes take effect`, async () => {
      const mongod = await useOwn();
      const [store, other] = [await newStore(), await newStore()];
      const record = newRecord();
      await store.insert(record);
      await eventually('the key is known', () => other.lookup(record.hash) !== undefined, IN_FORCE_MS);
      await stop(mongod);
      await eventually('it says so', () => !other.health().ok, 10_000);
      assert.equal(other.health().message, 'The key store cannot be reached; the keys that were read last stay valid.');
      assert.deepEqual(other.lookup(record.hash), record);
      await rejectsWith('unavailable', store.update(record.id, { name: 'lost' }));
      await restart(mongod);
      await eventually('the store is healthy', () => store.health().ok && other.health().ok, 10_000);
      await store.update(record.id, { revoked_at: '2026-02-01T00:00:00Z' });
      await eventually(
        'the revocation is in effect',
        () => other.lookup(record.hash)?.revoked_at !== null,
        IN_FORCE_MS,
      );
    });
  }
});
