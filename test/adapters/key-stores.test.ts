import { expect } from 'chai';
import { describeKeyStore, type KeyStoreUnderTest } from '../../adapters/conformance/index.js';
import { keyStoreRules, runRule } from '../../adapters/conformance/key-store.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
import type { KeyStoreContext } from '../../core/contracts/keys.js';
import { fileKeyStore } from '../../core/keys/file-key-store.js';
import { memoryKeyStore } from '../../core/keys/memory-key-store.js';
import { brokenKeyStores } from './conformance/broken-key-stores.js';
import { SharedKeyStore } from './conformance/shared-key-store.js';

describeKeyStore({ name: 'memory', durable: false, create: (context) => memoryKeyStore.create({}, context) });
describeKeyStore({
  name: 'file',
  create: (context) => fileKeyStore.create({ path: 'keys.json', pollMs: 50 }, context),
});
describeKeyStore({
  name: 'sqlite',
  create: (context) => sqliteKeyStore.create({ path: 'keys.db', pollMs: 50 }, context),
});
describeKeyStore({ name: 'of the tests', create: (context) => new SharedKeyStore(context) });

/** Calls listeners 50 ms late if another store made the change. */
class LateKeyStore extends SharedKeyStore {
  #isSaving = false;
  override onChange(listener: () => void) {
    super.onChange(() => (this.#isSaving ? listener() : setTimeout(listener, 50)));
  }
  override save(...given: Parameters<SharedKeyStore['save']>) {
    this.#isSaving = true;
    super.save(...given);
    this.#isSaving = false;
  }
}

/** Ignores unknown ids in `noteUse()`, like a backend that stores the time of last use in the key record. */
class KnownKeyStore extends SharedKeyStore {
  override noteUse(times: ReadonlyMap<string, number>) {
    const isKnown = (id: string) => this.backend.records.some((record) => record.id === id);
    return super.noteUse(new Map([...times].filter(([id]) => isKnown(id))));
  }
}

const folders = new WeakMap<KeyStoreContext, string>();
/** Two of these stores share their keys if they get the same context object. Paths do not matter. */
class ContextKeyStore extends SharedKeyStore {
  constructor(context: KeyStoreContext) {
    const folder = folders.get(context) ?? crypto.randomUUID();
    folders.set(context, folder);
    super({ ...context, resolvePath: () => folder });
  }
}

const run = (rule: string, create: KeyStoreUnderTest['create']) =>
  runRule({ name: 'one store', create }, keyStoreRules.find(({ title }) => title.startsWith(rule))!);

describe('the rules of key stores', () => {
  for (const [what, rule, Store] of [
    ['calls listeners late for the changes of other stores', 'an open store sees the changes', LateKeyStore],
    ['ignores times of use of unknown keys', 'noteUse() keeps the later time', KnownKeyStore],
    ['ignores times of use of unknown keys', 'audit() and lastUsed() of a store', KnownKeyStore],
    ['is identified by its context', 'changes of several stores', ContextKeyStore],
  ] as const) {
    it(`pass a store that ${what}: "${rule} ..."`, async () => {
      expect(await run(rule, (context) => new Store(context))).to.equal(undefined);
    });
  }

  for (const [what, rule, Store] of brokenKeyStores) {
    it(`find a store that ${what}: "${rule} ..."`, async () => {
      const outcome = await run(rule, (context) => new Store(context)).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(Error);
    });
  }
});
