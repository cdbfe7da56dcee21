import { countsUsage } from '../config/tiers.js';
import type { Collection } from '../contracts/dataset.js';
import type { KeyStore } from '../contracts/keys.js';
import type { DayUsage, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import type { AdapterModule, StorageAdapter } from '../contracts/storage.js';
import { LimiterUnavailable, OperatorError, StorageError } from '../errors.js';
import { redisProblem } from '../redis/problems.js';
import { createContainer, resolve } from './container.js';
import { permissionWarnings } from './file-permissions.js';
import { pathResolver } from './load-modules.js';
import type { Parts } from './part-types.js';

type Loaded = Pick<Parts, 'config' | 'modules'>;

export interface OpenedKeyStore {
  readonly store: KeyStore;
  readonly info: ServiceInfo;
  /**
   * Reads a caller's usage from Redis.
   * @throws OperatorError if usage is not counted or is not stored in Redis, or if Redis is unreachable
   */
  usage(caller: string): Promise<readonly DayUsage[]>;
  close(): Promise<void>;
}

const NOT_COUNTED = ['To count usage, set auth.tiers to an object, such as { "enterprise": {} }.'];
const NOT_SHARED = ['Without Redis, each service keeps its own count: call its GET /usage endpoint with the key.'];

export const openKeyStore = async (loaded: Loaded, logger: Logger): Promise<OpenedKeyStore> => {
  for (const sentence of await permissionWarnings(loaded.config, loaded.modules)) logger.warn(sentence);
  const container = createContainer(loaded, { logger });
  const store = resolve(container, 'keyStore');
  await store.open();
  const { auth, redis } = loaded.config.config;
  let limiter: Limiter | undefined;
  return {
    store,
    info: loaded.modules.registry.info,
    async usage(caller) {
      if (!countsUsage(auth)) throw new OperatorError('Usage counting is disabled in this configuration.', NOT_COUNTED);
      if (!redis) throw new OperatorError('Usage is not stored in Redis in this configuration.', NOT_SHARED);
      const connection = resolve(container, 'redis')!;
      await connection.opened;
      limiter ??= resolve(container, 'limiter');
      try {
        return (await limiter.usage?.(caller)) ?? [];
      } catch (error) {
        if (!(error instanceof LimiterUnavailable)) throw error;
        const cause = connection.causeOf(error.cause) as Error;
        const { reason, advice } = redisProblem(cause);
        throw new OperatorError(`${reason}: ${cause.message}`, [advice], { cause });
      }
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
  /** Undefined unless the adapter is `json`. */
  readonly directory: string | undefined;
  close(): Promise<void>;
}

export const openStorage = async (loaded: Loaded, logger: Logger): Promise<OpenedStorage> => {
  const { config, folder } = loaded.config;
  const { use, options } = config.adapter;
  const adapter = resolve(createContainer(loaded, { logger }), 'adapter');
  // An invalid dataset is ignored, because commands must be able to replace the dataset and read its audit log.
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
