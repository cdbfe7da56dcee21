import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type KeyRecord, type KeyStore, type KeyStoreContext, KeyStoreError, newKey } from 'metro-forecast-api/adapter';
import { pino } from 'pino';
import { eventually } from './expect.js';

export interface KeyStoreUnderTest {
  readonly name: string;
  /**
   * Creates a store. Stores with the same context share their keys. Each test has a new context, whose `resolvePath`
   * resolves paths relative to an empty folder.
   */
  create(context: KeyStoreContext): KeyStore;
  /** True if another store with the same context sees the keys. Default: true. */
  readonly durable?: boolean;
}

/** Other stores must see a change within this time, in milliseconds. */
const VISIBLE_MS = 5000;
const NOW = Date.parse('2026-01-01T00:00:00Z');

const recordOf = (change: Partial<KeyRecord> = {}): KeyRecord => ({
  ...newKey({ name: 'test', tier: 'enterprise' }, NOW).record,
  ...change,
});

interface Run {
  readonly store: KeyStore;
  open(): Promise<KeyStore>;
}

interface Rule {
  readonly title: string;
  readonly needs?: 'durable' | 'noteUse' | 'audit';
  run(given: Run): Promise<void>;
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof KeyStoreError ? error.code : error),
  );

export const keyStoreRules: readonly Rule[] = [
  {
    title: 'a new store is healthy and has no keys',
    async run({ store }) {
      assert.deepEqual(await store.list(), []);
      assert.equal(store.lookup(recordOf().hash), undefined);
      assert.deepEqual(store.health(), { ok: true, message: null });
    },
  },
  {
    title: 'insert() stores every field unchanged, and lookup() finds the key when it has resolved',
    async run({ store }) {
      const records = [
        recordOf({ name: 'été "1"' }),
        recordOf({ pepper: 2, shares_limit_of: 'key_0', limit_per_minute: 5, expires_at: '2027-01-01T00:00:00.000Z' }),
      ];
      for (const record of records) {
        await store.insert(record);
        assert.deepEqual(store.lookup(record.hash), record);
      }
      const byId = (a: KeyRecord, b: KeyRecord) => (a.id < b.id ? -1 : 1);
      assert.deepEqual([...(await store.list())].sort(byId), [...records].sort(byId));
    },
  },
  {
    title: 'update() changes the given fields only, resolves with the record, and has taken effect by then',
    async run({ store }) {
      const [record, other] = [recordOf(), recordOf()];
      await store.insert(record);
      await store.insert(other);
      const change = { revoked_at: '2026-02-01T00:00:00.000Z', limit_per_minute: 7 };
      assert.deepEqual(await store.update(record.id, change), { ...record, ...change });
      assert.deepEqual(store.lookup(record.hash), { ...record, ...change });
      assert.deepEqual(store.lookup(other.hash), other);
    },
  },
  {
    title: 'insert() rejects an existing id or hash with conflict, and changes nothing',
    async run({ store }) {
      const record = recordOf();
      await store.insert(record);
      assert.equal(await codeOf(store.insert(recordOf({ id: record.id }))), 'conflict');
      assert.equal(await codeOf(store.insert(recordOf({ hash: record.hash }))), 'conflict');
      assert.deepEqual(await store.list(), [record]);
    },
  },
  {
    title: 'update() rejects an unknown id with unknown_key',
    async run({ store }) {
      assert.equal(await codeOf(store.update('key_none', { name: 'x' })), 'unknown_key');
      assert.deepEqual(await store.list(), []);
    },
  },
  {
    title: 'onChange() calls every listener after each change, when lookup() already finds it',
    async run({ store }) {
      const record = recordOf();
      const seen: unknown[] = [];
      store.onChange(() => seen.push(store.lookup(record.hash)?.name));
      let others = 0;
      store.onChange(() => others++);
      await store.insert(record);
      assert.equal(seen.at(-1), 'test');
      await store.update(record.id, { name: 'changed' });
      assert.equal(seen.at(-1), 'changed');
      assert.ok(others >= 2, 'The second listener was not called for each change.');
    },
  },
  {
    title: 'records that were returned earlier do not change',
    async run({ store }) {
      const record = recordOf();
      await store.insert(record);
      const before = store.lookup(record.hash);
      await store.update(record.id, { name: 'changed' });
      assert.deepEqual(before, record);
    },
  },
  {
    title: 'no change is lost when many are made at the same time',
    async run({ store }) {
      const records = Array.from({ length: 30 }, () => recordOf());
      await Promise.all(records.map((record) => store.insert(record)));
      await Promise.all(records.map(({ id }, i) => store.update(id, { limit_per_minute: i + 1 })));
      assert.deepEqual(
        records.map(({ hash }) => store.lookup(hash)?.limit_per_minute),
        records.map((_, i) => i + 1),
      );
    },
  },
  {
    title: 'a store that is opened later has the keys',
    needs: 'durable',
    async run({ store, open }) {
      const record = recordOf();
      await store.insert(record);
      await store.close();
      assert.deepEqual((await open()).lookup(record.hash), record);
    },
  },
  {
    title: 'an open store sees the changes of another one within 5 seconds, and calls its listeners',
    needs: 'durable',
    async run({ store, open }) {
      const other = await open();
      let calls = 0;
      other.onChange(() => calls++);
      const record = recordOf();
      await store.insert(record);
      await eventually('the other store has the key', () => other.lookup(record.hash) !== undefined, VISIBLE_MS);
      await store.update(record.id, { revoked_at: '2026-02-01T00:00:00.000Z' });
      await eventually('the key is revoked', () => other.lookup(record.hash)?.revoked_at != null, VISIBLE_MS);
      assert.ok(calls >= 2, 'The listener was not called for each change.');
    },
  },
  {
    title: 'noteUse() keeps the later time of each key, and calls no listener',
    needs: 'noteUse',
    async run({ store }) {
      let calls = 0;
      store.onChange(() => calls++);
      await store.noteUse!(new Map(Object.entries({ a: 100, b: 200 })));
      await store.noteUse!(new Map(Object.entries({ a: 50, b: 300 })));
      assert.deepEqual(Object.fromEntries(await store.lastUsed!()), { a: 100, b: 300 });
      assert.equal(calls, 0);
    },
  },
  {
    title: 'audit() lists each change once, oldest first, without the hash of the key',
    needs: 'audit',
    async run({ store }) {
      const record = recordOf();
      await store.insert(record);
      await store.update(record.id, { name: 'changed' });
      await codeOf(store.update('key_none', { name: 'x' }));
      const entries = await store.audit!();
      assert.deepEqual(
        entries.map(({ action, key }) => [action, key]),
        [
          ['create', record.id],
          ['change', record.id],
        ],
      );
      assert.ok(!JSON.stringify(entries).includes(record.hash), 'The audit contains the hash of the key.');
      assert.deepEqual((await store.verifyAudit?.())?.faults ?? [], []);
    },
  },
  {
    title: 'close() can be called more than once',
    async run({ store }) {
      await store.close();
      await store.close();
    },
  },
];

/** Runs a rule with stores in a new folder. @returns the reason if the rule was skipped, otherwise undefined */
export const runRule = async (target: KeyStoreUnderTest, { needs, run }: Rule): Promise<string | undefined> => {
  if (needs === 'durable' && target.durable === false) return 'the store is not durable';
  const folder = await mkdtemp(join(tmpdir(), 'key-store-'));
  const stores: KeyStore[] = [];
  const open = async (): Promise<KeyStore> => {
    const store = target.create({
      logger: pino({ level: 'silent' }),
      clock: { now: Date.now, monotonic: () => performance.now() },
      resolvePath: (path) => resolve(folder, path),
    });
    stores.push(store);
    await store.open();
    return store;
  };
  try {
    const store = await open();
    if ((needs === 'noteUse' || needs === 'audit') && !store[needs]) return `the store has no ${needs}()`;
    await run({ store, open });
    return undefined;
  } finally {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  }
};

/** Defines mocha tests for all rules of the key store contract. Call it at the top level of a test file. */
export const describeKeyStore = (target: KeyStoreUnderTest): void => {
  describe(`the key store ${target.name}`, function () {
    this.timeout(20_000);
    for (const rule of keyStoreRules) {
      it(rule.title, async function () {
        const reason = await runRule(target, rule);
        if (reason === undefined) return;
        this.test!.title += ` (skipped, because ${reason})`;
        this.skip();
      });
    }
  });
};
