/** The rules for the optional methods of key stores. */
import assert from 'node:assert/strict';
import { codeOf, type KeyStoreRule, recordOf, sorted } from './key-store-rule.js';

export const optionalRules: readonly KeyStoreRule[] = [
  {
    title: 'noteUse() keeps the later time of each key, and calls no listener',
    needs: ['noteUse'],
    async run({ store }) {
      const ids = ['a', 'b', 'c', ...Array.from({ length: 10 }, (_, i) => `key_${i}`)];
      const records = [...ids, 'unused'].map((id) => recordOf({ id }));
      for (const record of records) await store.insert(record);
      let calls = 0;
      store.onChange(() => calls++);
      await store.noteUse!(new Map(Object.entries({ a: 100, b: 200, c: 300 })));
      await store.noteUse!(new Map(Object.entries({ a: 50, b: 1_767_225_600_123 })));
      await Promise.all(ids.slice(3).map((id, i) => store.noteUse!(new Map([[id, i + 1]]))));
      const others = Object.fromEntries(ids.slice(3).map((id, i) => [id, i + 1]));
      const expected = { a: 100, b: 1_767_225_600_123, c: 300, ...others };
      assert.deepEqual(Object.fromEntries(await store.lastUsed!()), expected);
      assert.deepEqual(sorted(await store.list()), sorted(records));
      assert.equal(calls, 0);
    },
  },
  {
    title: 'audit() lists each change once, oldest first, without the hash of the key',
    needs: ['audit'],
    async run({ store }) {
      const record = recordOf();
      await store.insert(record);
      await store.update(record.id, { name: 'changed' });
      await codeOf(store.update('key_none', { name: 'x' }));
      await codeOf(store.insert(record));
      const entries = await store.audit!();
      assert.deepEqual(
        entries.map(({ action, key }) => [action, key]),
        [
          ['create', record.id],
          ['change', record.id],
        ],
      );
      assert.ok(!JSON.stringify(entries).includes(record.hash), 'The audit contains the hash of the key.');
    },
  },
  {
    title: 'audit() names the action, with the old and new values',
    needs: ['audit'],
    async run({ store }) {
      const { id, ...others } = recordOf();
      await store.insert({ id, ...others });
      const updates = [
        ['limit', { limit_per_minute: 7 }],
        ['tier', { tier: 'free' }],
        ['expire', { expires_at: '2027-01-01T00:00:00.000Z' }],
        ['revoke', { revoked_at: '2026-02-01T00:00:00.000Z' }],
        ['change', { name: 'changed' }],
      ] as const;
      for (const [, change] of updates) await store.update(id, change);
      const from = (name: string) => others[name as keyof typeof others] ?? null;
      assert.deepEqual(
        (await store.audit!()).slice(1).map(({ action, changes }) => [action, changes]),
        updates.map(([action, change]) => [
          action,
          Object.fromEntries(Object.entries(change).map(([name, to]) => [name, { from: from(name), to }])),
        ]),
      );
    },
  },
  {
    title: 'verifyAudit() reports no errors in an unmodified audit, and reports a missing entry',
    needs: ['verifyAudit'],
    async run({ store }) {
      await store.insert(recordOf());
      const { head, faults } = await store.verifyAudit!();
      assert.deepEqual(faults, []);
      assert.deepEqual((await store.verifyAudit!(head!)).faults, []);
      assert.notEqual((await store.verifyAudit!('0'.repeat(64))).faults.length, 0, 'A missing entry is not reported.');
    },
  },
  {
    title: 'audit() and lastUsed() of a store that is opened later return everything',
    needs: ['durable'],
    async run({ store, open }) {
      const record = recordOf();
      await store.insert(record);
      await store.noteUse?.(new Map([[record.id, 100]]));
      const entries = await store.audit?.();
      await store.close();
      const later = await open();
      assert.deepEqual(await later.audit?.(), entries);
      if (store.lastUsed) assert.deepEqual(Object.fromEntries(await later.lastUsed!()), { [record.id]: 100 });
    },
  },
  {
    title: 'replaceAll() replaces keys, audit and times of use with the result of exportAll()',
    needs: ['exportAll', 'replaceAll'],
    async run({ store }) {
      const [record, removed] = [recordOf(), recordOf()];
      await store.insert(record);
      const revoked = await store.update(record.id, { revoked_at: '2026-02-01T00:00:00.000Z' });
      const backup = await store.exportAll!();
      assert.deepEqual(backup.records, [revoked]);
      await store.update(record.id, { revoked_at: null });
      await store.insert(removed);
      await store.noteUse?.(new Map([[record.id, 100]]));
      let calls = 0;
      store.onChange(() => calls++);
      await store.replaceAll!(backup);
      assert.ok(calls > 0, 'The listener was not called.');
      assert.deepEqual([store.lookup(record.hash), store.lookup(removed.hash)], [revoked, undefined]);
      assert.deepEqual(await store.list(), [revoked]);
      const actions = (await store.audit?.())?.map(({ action }) => action) ?? ['create', 'revoke'];
      assert.deepEqual(actions, ['create', 'revoke']);
      assert.deepEqual([...((await store.lastUsed?.()) ?? [])], []);
    },
  },
];
