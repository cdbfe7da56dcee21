/** The rules that every key store must follow. */
import assert from 'node:assert/strict';
import { eventually } from './expect.js';
import { codeOf, type KeyStoreRule, recordOf, sorted } from './key-store-rule.js';

/** Maximum time until other stores see a change, in milliseconds. */
const VISIBLE_MS = 5000;

export const basicRules: readonly KeyStoreRule[] = [
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
        recordOf({ name: ' e\u0301t\u00e9 "1" ', created_at: '2025-01-01T00:00:00.123Z' }),
        recordOf({ name: 'long '.repeat(100), created_at: '2025-01-01T00:00:00Z', limit_per_minute: 3_000_000_000 }),
        recordOf({ expires_at: '2025-12-31T00:00:00Z', revoked_at: '2025-12-30T00:00:00Z' }),
        recordOf({ pepper: 2, shares_limit_of: 'key_0', limit_per_minute: 5, expires_at: '2027-01-01T00:00:00.000Z' }),
      ];
      for (const record of records) {
        await store.insert(record);
        assert.deepEqual(store.lookup(record.hash), record);
      }
      assert.deepEqual(sorted(await store.list()), sorted(records));
    },
  },
  {
    title: 'update() changes the given fields only, resolves with the record, and has taken effect by then',
    async run({ store }) {
      const record = recordOf({ pepper: 2, shares_limit_of: 'key_0' });
      const other = recordOf();
      await store.insert(record);
      await store.insert(other);
      const change = { revoked_at: '2026-02-01T00:00:00.000Z', limit_per_minute: 7 };
      assert.deepEqual(await store.update(record.id, change), { ...record, ...change });
      assert.deepEqual(store.lookup(record.hash), { ...record, ...change });
      assert.deepEqual(store.lookup(other.hash), other);
      assert.deepEqual(sorted(await store.list()), sorted([{ ...record, ...change }, other]));
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
      const found = store.lookup(record.hash);
      const [listed] = await store.list();
      const updated = await store.update(record.id, { name: 'changed' });
      await store.update(record.id, { name: 'changed again' });
      assert.deepEqual([found, listed, updated], [record, record, { ...record, name: 'changed' }]);
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
      assert.equal((await store.list()).length, records.length, 'list() does not return all keys.');
    },
  },
  {
    title: 'a store that is opened later has the keys and their changes',
    needs: ['durable'],
    async run({ store, open }) {
      const record = recordOf({ pepper: 2, shares_limit_of: 'key_0' });
      await store.insert(record);
      const updated = await store.update(record.id, { revoked_at: '2026-02-01T00:00:00.000Z' });
      await store.close();
      const later = await open();
      assert.deepEqual(later.lookup(record.hash), updated);
      assert.deepEqual(await later.list(), [updated]);
    },
  },
  {
    title: 'an open store sees the changes of another one within 5 seconds, and calls its listeners',
    needs: ['durable'],
    async run({ store, open }) {
      const other = await open();
      let calls = 0;
      other.onChange(() => calls++);
      const record = recordOf();
      await store.insert(record);
      await eventually('the other store has the key', () => other.lookup(record.hash) !== undefined, VISIBLE_MS);
      await store.update(record.id, { revoked_at: '2026-02-01T00:00:00.000Z' });
      await eventually('the key is revoked', () => other.lookup(record.hash)?.revoked_at != null, VISIBLE_MS);
      await eventually('the listener is called for each change', () => calls >= 2, VISIBLE_MS);
    },
  },
  {
    title: 'lookup() compares whole hashes',
    async run({ store }) {
      const record = recordOf();
      const { hash } = record;
      await store.insert(record);
      const other = (digit: string | undefined) => (digit === '0' ? '1' : '0');
      assert.equal(store.lookup(hash.slice(0, -1) + other(hash.at(-1))), undefined);
      assert.equal(store.lookup(other(hash[0]) + hash.slice(1)), undefined);
      assert.equal(store.lookup(hash.slice(0, -1)), undefined);
    },
  },
  {
    title: 'update() can clear a field and change a revoked key',
    async run({ store }) {
      const record = recordOf({ limit_per_minute: 5, expires_at: '2027-01-01T00:00:00.000Z' });
      await store.insert(record);
      await store.update(record.id, { revoked_at: '2026-02-01T00:00:00.000Z' });
      const change = { limit_per_minute: null, expires_at: null, revoked_at: null };
      await store.update(record.id, change);
      assert.deepEqual(store.lookup(record.hash), { ...record, ...change });
    },
  },
  {
    title:
      'of several insert() calls with the same id at the same time, one resolves and the others reject with conflict',
    async run({ store }) {
      const { id } = recordOf();
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => codeOf(store.insert(recordOf({ id })))));
      assert.deepEqual(outcomes.sort(), ['conflict', 'conflict', 'conflict', 'no error']);
      assert.equal((await store.list()).length, 1);
    },
  },
  {
    title: 'a rejected change does not affect health()',
    async run({ store }) {
      const record = recordOf();
      await store.insert(record);
      await codeOf(store.insert(record));
      await codeOf(store.update('key_none', { name: 'x' }));
      assert.deepEqual(store.health(), { ok: true, message: null });
    },
  },
  {
    title: 'onChange() also accepts listeners before open()',
    async run({ create }) {
      const store = create();
      let calls = 0;
      store.onChange(() => calls++);
      await store.open();
      const before = calls;
      await store.insert(recordOf());
      assert.ok(calls > before, 'The listener was not called.');
    },
  },
  {
    title: 'insert() rejects a key that another store has just added',
    needs: ['durable'],
    async run({ store, open }) {
      const [other, record] = [await open(), recordOf()];
      await store.insert(record);
      assert.equal(await codeOf(other.insert(recordOf({ id: record.id }))), 'conflict');
      assert.equal(await codeOf(other.insert(recordOf({ hash: record.hash }))), 'conflict');
      assert.deepEqual(await store.list(), [record]);
    },
  },
  {
    title: 'changes of several stores to the same keys are all kept',
    needs: ['durable'],
    async run({ store, open }) {
      const [other, record, second] = [await open(), recordOf(), recordOf()];
      await store.insert(record);
      await other.insert(second);
      await store.update(second.id, { name: 'changed' });
      await other.update(second.id, { limit_per_minute: 7 });
      const updated = { ...second, name: 'changed', limit_per_minute: 7 };
      assert.deepEqual(sorted(await (await open()).list()), sorted([record, updated]));
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
