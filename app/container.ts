/** The one module of tsyringe tokens and registrations: what a service is made of, each part replaceable. */
import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { container, type DependencyContainer, type FactoryFunction, instanceCachingFactory } from 'tsyringe';
import { MemoryCache } from '../core/cache/memory-cache.js';
import { RedisCache } from '../core/cache/redis-cache.js';
import type { LoadedConfig } from '../core/config/load.js';
import type { SharedCache } from '../core/contracts/cache.js';
import type { KeyStore } from '../core/contracts/keys.js';
import type { Limiter } from '../core/contracts/limiter.js';
import { type Clock, type Logger, systemClock } from '../core/contracts/runtime.js';
import type { StorageAdapter } from '../core/contracts/storage.js';
import { MemoryLimiter } from '../core/limiter/memory-limiter.js';
import { RedisLimiter } from '../core/limiter/redis-limiter.js';
import { connectRedis, type RedisConnection } from '../core/redis.js';
import { type Modules, pathResolver } from './load-modules.js';
import { createLogger } from './logger.js';

/** What the adapter tells the service. */
export class StorageEvents extends EventEmitter<{ changed: []; problem: [sentence: string | undefined] }> {}

/** Every replaceable part, by the name of its token. */
export interface Services {
  readonly config: LoadedConfig;
  readonly modules: Modules;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storageEvents: StorageEvents;
  readonly adapter: StorageAdapter;
  readonly keyStore: KeyStore;
  /** Null where the config names none. */
  readonly redis: RedisConnection | null;
  readonly limiter: Limiter;
  readonly cache: SharedCache;
}

export type ServiceName = keyof Services;

export const tokens: { readonly [Name in ServiceName]: symbol } = {
  config: Symbol('config'),
  modules: Symbol('modules'),
  clock: Symbol('clock'),
  logger: Symbol('logger'),
  storageEvents: Symbol('storageEvents'),
  adapter: Symbol('adapter'),
  keyStore: Symbol('keyStore'),
  redis: Symbol('redis'),
  limiter: Symbol('limiter'),
  cache: Symbol('cache'),
};

/** Resolves a part by its name, typed. */
export const resolve = <Name extends ServiceName>(from: DependencyContainer, name: Name): Services[Name] =>
  from.resolve<Services[Name]>(tokens[name] as never);

/** How each part is made from the others, unless it is replaced. */
const factories: { readonly [Name in ServiceName]?: FactoryFunction<Services[Name]> } = {
  clock: () => systemClock,
  logger: (from) => createLogger(resolve(from, 'config').config.log),
  storageEvents: () => new StorageEvents(),
  adapter: (from) => {
    const { config, folder } = resolve(from, 'config');
    const { adapter, registry } = resolve(from, 'modules');
    const events = resolve(from, 'storageEvents');
    return adapter.create(config.adapter.options, {
      collections: registry.collections,
      logger: resolve(from, 'logger').child({ part: 'storage' }),
      clock: resolve(from, 'clock'),
      resolvePath: pathResolver(folder),
      changed: () => events.emit('changed'),
      problem: (sentence) => events.emit('problem', sentence),
    });
  },
  keyStore: (from) => {
    const { config, folder } = resolve(from, 'config');
    return resolve(from, 'modules').keyStore.create(config.auth.keys.options, {
      logger: resolve(from, 'logger').child({ part: 'keys' }),
      clock: resolve(from, 'clock'),
      resolvePath: pathResolver(folder),
    });
  },
  redis: (from) => {
    const { redis } = resolve(from, 'config').config;
    return redis && connectRedis(redis, resolve(from, 'logger').child({ part: 'redis' }));
  },
  limiter: (from) => {
    const redis = resolve(from, 'redis');
    const clock = resolve(from, 'clock');
    const { limits } = resolve(from, 'config').config;
    return redis
      ? new RedisLimiter({
          redis,
          clock,
          replicas: limits.replicas,
          whenAway: limits.whenRedisIsAway,
          logger: resolve(from, 'logger').child({ part: 'limiter' }),
        })
      : new MemoryLimiter({ clock });
  },
  cache: (from) => {
    const redis = resolve(from, 'redis');
    const clock = resolve(from, 'clock');
    return redis
      ? new RedisCache({ redis, clock, logger: resolve(from, 'logger').child({ part: 'cache' }) })
      : new MemoryCache({ clock });
  },
};

/** Parts given here are used as they are instead of being made. */
export type Overrides = Partial<Omit<Services, 'config' | 'modules' | 'storageEvents'>>;

/** A container of its own for each service: two in one process share nothing. */
export const createContainer = (
  given: Pick<Services, 'config' | 'modules'>,
  overrides: Overrides = {},
): DependencyContainer => {
  const own = container.createChildContainer();
  const values: Partial<Services> = { ...given, ...overrides };
  for (const name of Object.keys(tokens) as ServiceName[]) {
    const value = values[name];
    const factory = factories[name] as FactoryFunction<unknown> | undefined;
    if (value !== undefined) own.register(tokens[name], { useValue: value });
    // Without the wrapper, tsyringe calls a factory anew at each resolve: each would open a connection.
    else if (factory) own.register(tokens[name], { useFactory: instanceCachingFactory(factory) });
  }
  return own;
};
