import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { KeyStore, KeyStoreContext } from 'metro-forecast-api/adapter';
import { pino } from 'pino';
import { basicRules } from './key-store-basics.js';
import { optionalRules } from './key-store-optional.js';
import type { KeyStoreRule } from './key-store-rule.js';
import { skip } from './obstacles.js';

export interface KeyStoreUnderTest {
  readonly name: string;
  /**
   * Creates a key store. Key stores that are created with the same context share their keys. Each test uses a new
   * context and an empty folder for relative paths.
   */
  create(context: KeyStoreContext): KeyStore;
  /** True if another key store with the same context sees the keys. Default: true. */
  readonly durable?: boolean;
}

export const keyStoreRules: readonly KeyStoreRule[] = [...basicRules, ...optionalRules];

/** @returns the reason if the rule was skipped, otherwise undefined */
export const runRule = async (
  target: KeyStoreUnderTest,
  { needs = [], run }: KeyStoreRule,
): Promise<string | undefined> => {
  if (needs.includes('durable') && target.durable === false) return 'the store is not durable';
  const folder = await mkdtemp(join(tmpdir(), 'key-store-'));
  const stores: KeyStore[] = [];
  const context: KeyStoreContext = {
    logger: pino({ level: 'silent' }),
    clock: { now: Date.now, monotonic: () => performance.now() },
    resolvePath: (path) => resolve(folder, path),
  };
  const create = (): KeyStore => {
    const store = target.create(context);
    stores.push(store);
    return store;
  };
  const open = async (): Promise<KeyStore> => {
    const store = create();
    await store.open();
    return store;
  };
  try {
    const store = await open();
    const missing = needs.find((need) => need !== 'durable' && !store[need]);
    if (missing !== undefined) return `the store has no ${missing}()`;
    await run({ store, create, open });
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
        if (reason !== undefined) skip(this, reason);
      });
    }
  });
};
