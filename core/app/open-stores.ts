/** Opens the storage or the key store of a configuration for commands that do not start the service. */
import { countsUsage } from '../config/tiers.js';
import type { Collection } from '../contracts/dataset.js';
import type { KeyStore } from '../contracts/keys.js';
import type { DayUsage, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import type { AdapterModule, StorageAdapter } from '../contracts/storage.js';
import { OperatorError, StorageError } from '../errors.js';
import { createContainer, resolve } from './container.js';
import { pathResolver } from './load-modules.js';
import { looseFiles } from './loose-files.js';
import type { Parts } from './part-types.js';

type Loaded = Pick<Parts, 'config' | 'modules'>;

export interface OpenedKeyStore {
  /** The opened key store. The caller must close it. */
  readonly store: KeyStore;
  readonly service: ServiceInfo;
  /** Reads the usage of a caller from Redis. @throws OperatorError if usage is not counted or not stored in Redis */
  usage(caller: string): Promise<readonly DayUsage[]>;
  close(): Promise<void>;
}

const NOT_COUNTED = ['To count usage, set auth.tiers to an object; { "enterprise": {} } is enough.'];
const NOT_SHARED = ['Without Redis each service counts on its own: call GET /usage of the service with the key.'];

export const openKeyStore = async (loaded: Loaded, logger: Logger): Promise<OpenedKeyStore> => {
  for (const sentence of await looseFiles(loaded.config, loaded.modules)) logger.warn(sentence);
  const container = createContainer(loaded, { logger });
  const store = resolve(container, 'keyStore');
  await store.open();
  const { auth, redis } = loaded.config.config;
  let limiter: Limiter | undefined;
  return {
    store,
    service: loaded.modules.registry.service,
    async usage(caller) {
      if (!countsUsage(auth)) throw new OperatorError('This configuration counts no usage.', NOT_COUNTED);
      if (!redis) throw new OperatorError('This configuration stores no usage in Redis.', NOT_SHARED);
      await resolve(container, 'redis')?.opened;
      limiter ??= resolve(container, 'limiter');
      return (await limiter.usage?.(caller)) ?? [];
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
  /** The dataset directory of the built-in adapter `json`. Undefined for other adapters. */
  readonly directory: string | undefined;
  close(): Promise<void>;
}

export const openStorage = async (loaded: Loaded, logger: Logger): Promise<OpenedStorage> => {
  const { config, folder } = loaded.config;
  const { use, options } = config.adapter;
  const adapter = resolve(createContainer(loaded, { logger }), 'adapter');
  // If the dataset cannot be served, it can still be replaced, and its audit can still be read.
  try {
    await adapter.open();
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'invalid_dataset')) throw error;
  }
  return {
    adapter,
    module: loaded.modules.adapter,
    collections: loaded.modules.registry.collections,
    directory: use === 'json' ? pathResolver(folder)(String((options as { path: unknown }).path)) : undefined,
    close: () => adapter.close(),
  };
};
