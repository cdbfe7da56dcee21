/** Opens the storage or the key store that a config names, for tools that do not serve. */

import type { LoadedConfig } from '../config/load.js';
import { countsUsage } from '../config/tiers.js';
import type { Collection } from '../contracts/dataset.js';
import type { KeyStore } from '../contracts/keys.js';
import type { DayUsage, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import type { AdapterModule, StorageAdapter } from '../contracts/storage.js';
import { OperatorError, StorageError } from '../errors.js';
import { createContainer, resolve } from './container.js';
import { loadModules, pathResolver } from './load-modules.js';
import { looseFiles } from './loose-files.js';

export interface OpenedKeyStore {
  /** The caller closes it. */
  readonly store: KeyStore;
  readonly service: ServiceInfo;
  /** What a caller has used, as Redis has it. @throws OperatorError where services do not share it */
  usage(subject: string): Promise<readonly DayUsage[]>;
  close(): Promise<void>;
}

const NOT_COUNTED = ['Usage is counted where auth.tiers says what each tier may send: { "enterprise": {} } is enough.'];
const NOT_SHARED = ['Without Redis each service has it in memory: ask GET /usage of it, with the key.'];

export const openKeyStore = async (loaded: LoadedConfig, logger: Logger): Promise<OpenedKeyStore> => {
  const modules = await loadModules(loaded);
  for (const sentence of await looseFiles(loaded, modules)) logger.warn(sentence);
  const container = createContainer({ config: loaded, modules }, { logger });
  const store = resolve(container, 'keyStore');
  await store.open();
  const { auth, redis } = loaded.config;
  let limiter: Limiter | undefined;
  return {
    store,
    service: modules.registry.service,
    async usage(subject) {
      if (!countsUsage(auth)) throw new OperatorError('This configuration counts no usage.', NOT_COUNTED);
      if (!redis) throw new OperatorError('The usage of this configuration is not at hand.', NOT_SHARED);
      await resolve(container, 'redis')?.opened;
      limiter ??= resolve(container, 'limiter');
      return (await limiter.usage?.(subject)) ?? [];
    },
    async close() {
      await store.close();
      if (!limiter) return;
      await limiter.close();
      await resolve(container, 'redis')?.close();
    },
  };
};

export interface OpenedStorage {
  readonly adapter: StorageAdapter;
  readonly module: AdapterModule;
  readonly collections: ReadonlyMap<string, Collection>;
  /** The dataset directory that the built-in adapter `json` serves; undefined with any other one. */
  readonly directory: string | undefined;
  close(): Promise<void>;
}

export const openStorage = async (loaded: LoadedConfig, logger: Logger): Promise<OpenedStorage> => {
  const { use, options } = loaded.config.adapter;
  const modules = await loadModules(loaded);
  const adapter = resolve(createContainer({ config: loaded, modules }, { logger }), 'adapter');
  // A dataset that cannot be served can be replaced, and its audit read.
  try {
    await adapter.open();
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'invalid_dataset')) throw error;
  }
  return {
    adapter,
    module: modules.adapter,
    collections: modules.registry.collections,
    directory: use === 'json' ? pathResolver(loaded.folder)(String((options as { path: unknown }).path)) : undefined,
    close: () => adapter.close(),
  };
};
