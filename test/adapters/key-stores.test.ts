import { expect } from 'chai';
import { describeKeyStore, type KeyStoreUnderTest } from '../../adapters/conformance/index.js';
import { keyStoreRules, runRule } from '../../adapters/conformance/key-store.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import type { KeyChange, KeyRecord, KeyStore } from '../../core/contracts/keys.js';
import { fileKeyStore } from '../../core/keys/file-key-store.js';
import { MemoryKeyStore, memoryKeyStore } from '../../core/keys/memory-key-store.js';

describeKeyStore({ name: 'memory', durable: false, create: (context) => memoryKeyStore.create({}, context) });
describeKeyStore({
  name: 'file',
  create: (context) => fileKeyStore.create({ path: 'keys.json', pollMs: 50 }, context),
});
describeKeyStore({
  name: 'sqlite',
  create: (context) => sqliteKeyStore.create({ path: 'keys.db', pollMs: 50 }, context),
});

/** Stores with one bug each. The title of the test that must fail starts with `rule`. */
const BROKEN: readonly (readonly [what: string, rule: string, Store: new () => KeyStore])[] = [
  [
    'drops unknown fields',
    'insert() stores every field',
    class extends MemoryKeyStore {
      override insert({ shares_limit_of: _, ...record }: KeyRecord) {
        return super.insert(record);
      }
    },
  ],
  [
    'resolves insert() too early',
    'insert() stores every field',
    class extends MemoryKeyStore {
      override async insert(record: KeyRecord) {
        setTimeout(() => void super.insert(record).catch(() => undefined), 5);
      }
    },
  ],
  [
    'replaces the record at an update',
    'update() changes the given fields',
    class extends MemoryKeyStore {
      override async update(id: string, change: KeyChange) {
        return { ...(await super.update(id, change)), limit_per_minute: null };
      }
    },
  ],
  [
    'accepts a hash twice',
    'insert() rejects an existing id',
    class extends MemoryKeyStore {
      override insert(record: KeyRecord) {
        return super.insert(record).catch(() => undefined);
      }
    },
  ],
  [
    'ignores unknown ids',
    'update() rejects an unknown id',
    class extends MemoryKeyStore {
      override update(id: string, change: KeyChange) {
        return super.update(id, change).catch(() => ({}) as KeyRecord);
      }
    },
  ],
  [
    'keeps only the last listener',
    'onChange() calls every listener',
    class extends MemoryKeyStore {
      #last: () => void = () => undefined;
      constructor() {
        super();
        super.onChange(() => this.#last());
      }
      override onChange(listener: () => void) {
        this.#last = listener;
      }
    },
  ],
  [
    'reports a problem',
    'a new store is healthy',
    class extends MemoryKeyStore {
      override health() {
        return { ok: false, message: 'starting' };
      }
    },
  ],
  ['claims to be durable', 'a store that is opened later', class extends MemoryKeyStore {}],
];

describe('the rules of key stores', () => {
  for (const [what, rule, Store] of BROKEN) {
    it(`find a store that ${what}: "${rule} ..."`, async () => {
      const target: KeyStoreUnderTest = { name: what, create: () => new Store() };
      const found = keyStoreRules.find(({ title }) => title.startsWith(rule))!;
      const outcome = await runRule(target, found).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(Error);
    });
  }
});
