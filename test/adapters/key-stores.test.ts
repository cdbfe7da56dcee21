import { expect } from 'chai';
import { describeKeyStore, type KeyStoreUnderTest } from '../../adapters/conformance/index.js';
import { keyStoreRules, runRule } from '../../adapters/conformance/key-store.js';
import { sqliteKeyStore } from '../../adapters/sqlite/key-store.js';
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

describe('the rules of key stores', () => {
  for (const [what, rule, Store] of brokenKeyStores) {
    it(`find a store that ${what}: "${rule} ..."`, async () => {
      const target: KeyStoreUnderTest = { name: what, create: (context) => new Store(context) };
      const found = keyStoreRules.find(({ title }) => title.startsWith(rule))!;
      const outcome = await runRule(target, found).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(Error);
    });
  }
});
