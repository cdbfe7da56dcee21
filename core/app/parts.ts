import type Koa from 'koa';
import { MemoryCache } from '../cache/memory-cache.js';
import { RedisCache } from '../cache/redis-cache.js';
import type { Config } from '../config/schema.js';
import { countsUsage, tierNames } from '../config/tiers.js';
import type { SharedCache } from '../contracts/cache.js';
import type { KeyStore } from '../contracts/keys.js';
import type { Limiter } from '../contracts/limiter.js';
import type { RunningContext } from '../contracts/plugin.js';
import { type Logger, systemClock } from '../contracts/runtime.js';
import type { StorageAdapter } from '../contracts/storage.js';
import type { Handle } from '../edge/accept.js';
import { Admission, admitting } from '../edge/admission.js';
import { callerAddress, trustedProxies } from '../edge/caller-address.js';
import { publicPathOf, publicUrlOf } from '../edge/public-url.js';
import { HttpServer } from '../edge/server.js';
import { createAuthenticator } from '../keys/authenticator.js';
import { openIdentities } from '../keys/identity-chain.js';
import { MemoryLimiter } from '../limiter/memory-limiter.js';
import { RedisLimiter } from '../limiter/redis-limiter.js';
import { createLogger } from '../observe/logger.js';
import { createMetrics } from '../observe/metrics.js';
import { openObservers } from '../observe/request-observers.js';
import { createKoa } from '../pipeline/app.js';
import { realmOf } from '../pipeline/authorize.js';
import { requestLog, withoutProbes } from '../pipeline/observe.js';
import { connectRedis, type RedisConnection } from '../redis/connection.js';
import { declaredHeaders } from '../registry/route-defaults.js';
import { commonHeaders } from '../response/headers.js';
import { checkedRoute } from '../routes/checked-route.js';
import { CurrentSnapshot } from '../routes/current-snapshot.js';
import { handleMount, localContext } from '../routes/handle-mount.js';
import { handleRoute } from '../routes/handle-route.js';
import { RouteTable } from '../routes/route-table.js';
import { createVintages } from '../routes/vintages.js';
import { WorkQueues } from '../routes/work-queue.js';
import { pathResolver } from './load-modules.js';
import { type Definition, type PartName, type Parts, part, StorageEvents } from './part-types.js';
import { RunningPlugins } from './running-plugins.js';
import { RunningSettings } from './running-settings.js';
import { RunningState } from './running-state.js';

const given = (): never => {
  throw new Error('every container is created with "config" and "modules"');
};

const responseSettings = ({ server, http }: Config) => ({
  publicUrlOf: publicUrlOf(server),
  compression: http.compression,
});

type MountParts = Pick<Parts, 'config' | 'modules' | 'settings' | 'state'>;

const mountDependencies = ({ config, modules, ...others }: MountParts) => ({
  ...others,
  routes: modules.registry.routes.map(({ route }) => route),
  mounts: modules.registry.mounts.map(({ mount }) => mount),
  info: modules.registry.info,
  basePath: config.config.server.basePath,
  ...responseSettings(config.config),
});

const runningContext =
  ({ config, modules, clock, logger }: Pick<Parts, 'config' | 'modules' | 'clock' | 'logger'>) =>
  (plugin: string): RunningContext => ({
    info: modules.registry.info,
    logger: logger.child({ part: plugin }),
    clock,
    resolvePath: pathResolver(config.folder),
  });

export const parts: { readonly [Name in PartName]: Definition<Parts[Name]> } = {
  config: part([], given),
  modules: part([], given),
  clock: part([], () => systemClock),
  logger: part(['config'], ({ config }): Logger => createLogger(config.config.log)),
  settings: part(['config', 'logger'], ({ config, logger }) => new RunningSettings(config, logger)),
  storageEvents: part([], () => new StorageEvents()),
  adapter: part(
    ['config', 'modules', 'logger', 'clock', 'storageEvents'],
    ({ config: { config, folder }, modules: { adapter, registry }, logger, clock, storageEvents }): StorageAdapter =>
      adapter.create(config.adapter.options, {
        collections: registry.collections,
        logger: logger.child({ part: 'storage' }),
        clock,
        resolvePath: pathResolver(folder),
        changed: () => storageEvents.emit('changed'),
        problem: (sentence) => storageEvents.emit('problem', sentence),
        timed: (ms) => storageEvents.emit('timed', ms),
      }),
    { open: (adapter) => adapter.open(), close: (adapter) => adapter.close() },
  ),
  keyStore: part(
    ['config', 'modules', 'logger', 'clock'],
    ({ config: { config, folder }, modules, logger, clock }): KeyStore =>
      modules.keyStore.create(config.auth.keys.options, {
        logger: logger.child({ part: 'keys' }),
        clock,
        resolvePath: pathResolver(folder),
      }),
    { open: (keyStore) => keyStore.open(), close: (keyStore) => keyStore.close() },
  ),
  redis: part(
    ['config', 'logger'],
    ({ config: { config }, logger }): RedisConnection | null =>
      config.redis && connectRedis(config.redis, logger.child({ part: 'redis' })),
    { open: (redis) => redis.opened, close: (redis) => redis.close() },
  ),
  limiter: part(
    ['config', 'redis', 'clock', 'logger'],
    ({ config: { config }, redis, clock, logger }): Limiter =>
      redis
        ? new RedisLimiter({
            redis,
            clock,
            replicas: config.limits.replicas,
            outagePolicy: config.limits.whenRedisIsAway,
            countsUsage: countsUsage(config.auth),
            logger: logger.child({ part: 'limiter' }),
          })
        : new MemoryLimiter({ clock }),
    { open: async (limiter) => limiter.check?.().catch(() => undefined), close: (limiter) => limiter.close() },
  ),
  cache: part(
    ['redis', 'clock', 'logger'],
    ({ redis, clock, logger }): SharedCache =>
      redis ? new RedisCache({ redis, clock, logger: logger.child({ part: 'cache' }) }) : new MemoryCache({ clock }),
    { close: (cache) => cache.close() },
  ),
  snapshots: part(
    ['config', 'modules', 'adapter', 'clock', 'logger', 'storageEvents'],
    ({ config: { config }, modules: { registry }, adapter, clock, logger, storageEvents }) => {
      const { cacheBytes, answerMs } = config.http;
      const { collections } = registry;
      const snapshots = new CurrentSnapshot({ adapter, collections, cacheBytes, answerMs, clock, logger });
      storageEvents.on('changed', () => void snapshots.refresh());
      return snapshots;
    },
    { open: (snapshots) => snapshots.refresh(), close: (snapshots) => snapshots.close() },
  ),
  vintages: part(['config', 'modules', 'adapter'], ({ config: { config }, modules: { registry }, adapter }) => {
    const { cacheBytes, answerMs } = config.http;
    return createVintages({ adapter, collections: registry.collections, cacheBytes, answerMs });
  }),
  authenticator: part(
    ['config', 'modules', 'keyStore', 'clock', 'logger'],
    ({ config: { config }, modules, keyStore, clock, logger }) =>
      createAuthenticator({
        auth: config.auth,
        keyStore,
        clock,
        logger: logger.child({ part: 'keys' }),
        hasIdentities: modules.registry.plugins.some(({ plugin }) => plugin.identity),
      }),
    { open: (authenticator) => authenticator.open(), close: (authenticator) => authenticator.close() },
  ),
  identities: part(['config', 'modules', 'clock', 'logger'], ({ config, modules, clock, logger }) =>
    openIdentities(modules.registry.plugins, runningContext({ config, modules, clock, logger }), {
      clock,
      logger: logger.child({ part: 'keys' }),
      tiers: tierNames(config.config.auth),
    }),
  ),
  state: part(
    ['config', 'clock', 'modules', 'storageEvents', 'adapter', 'snapshots', 'keyStore', 'limiter', 'cache'],
    (dependencies) => new RunningState(dependencies),
  ),
  admission: part(
    ['config', 'clock', 'logger', 'work'],
    ({ config: { config }, ...dependencies }) =>
      config.server.overload && new Admission({ ...config.server.overload, ...dependencies }),
  ),
  metrics: part(
    ['config', 'state', 'snapshots', 'admission', 'work', 'redis', 'storageEvents'],
    ({ config: { config }, state, snapshots, admission, work, redis, storageEvents }) => {
      const responses = () => snapshots.served?.responses;
      const metrics = createMetrics(config.metrics, { state: state.read, responses, admission, work });
      if (metrics && redis) redis.durations = metrics.storeCalls('redis');
      if (metrics) storageEvents.on('timed', (ms) => metrics.storeCalls(config.adapter.use).observe(ms / 1000));
      return metrics;
    },
    { close: (metrics) => metrics.close() },
  ),
  observers: part(
    ['modules', 'logger', 'clock'],
    ({ modules: { registry }, logger, clock }) =>
      openObservers(registry.plugins, { logger, clock, info: registry.info }),
    { close: (observers) => observers.close() },
  ),
  headers: part(['config', 'modules'], ({ config: { config }, modules }) =>
    commonHeaders({
      cors: config.http.cors,
      keepAliveTimeoutMs: config.server.keepAliveTimeoutMs,
      declared: [
        ...modules.registry.routes.flatMap(({ route }) => Object.keys(declaredHeaders(route))),
        ...modules.registry.mounts.flatMap(({ mount }) => mount.exposedHeaders ?? []),
      ],
    }),
  ),
  work: part(
    ['config', 'logger'],
    ({ config: { config }, logger }) => new WorkQueues({ maxWaiting: config.server.overload?.maxInFlight, logger }),
  ),
  routes: part(
    ['config', 'modules', 'settings', 'state', 'snapshots', 'vintages', 'cache', 'clock', 'work', 'logger'],
    (dependencies) => {
      const { config, modules, logger } = dependencies;
      const { server, http } = config.config;
      const ofMounts = mountDependencies(dependencies);
      const checks = logger.child({ part: 'responses' });
      const routes = modules.registry.routes.map((registered) => ({
        ...registered,
        route: checkedRoute(registered.route, http.responseCheck, checks),
      }));
      return new RouteTable(routes, modules.registry.mounts, {
        basePath: server.basePath,
        unknownParameters: http.unknownParameters,
        maxUrlBytes: server.maxUrlBytes,
        formats: modules.registry.formats,
        handleRoute: handleRoute({ ...dependencies, ...responseSettings(config.config) }),
        handleMount: (mount) => handleMount(mount, ofMounts, dependencies.work),
      });
    },
  ),
  koa: part(
    [
      'config',
      'modules',
      'logger',
      'settings',
      'headers',
      'metrics',
      'observers',
      'routes',
      'authenticator',
      'identities',
      'limiter',
    ],
    ({ config: { config }, modules, authenticator, metrics, observers, ...others }) => {
      const { trustProxy } = config.server;
      const addressOf = callerAddress(trustProxy);
      const { publicUrlOf: urlOf, compression } = responseSettings(config);
      const unlessProbe = config.log.probes ? <T>(report: T): T => report : withoutProbes;
      return createKoa({
        ...others,
        measure: metrics?.observeRequest,
        observers: [
          config.log.requests === 'none' ? null : unlessProbe(requestLog(others.logger, config.log, addressOf)),
          observers && unlessProbe(observers.observe),
        ].filter((each) => each != null),
        serviceMiddleware: modules.registry.serviceMiddleware,
        keys: authenticator.authenticator,
        addressOf,
        proxies: trustedProxies(trustProxy),
        realm: config.auth.realm ?? realmOf(modules.registry.info),
        basePath: config.server.basePath,
        info: modules.registry.info,
        mounts: modules.registry.mounts.map(({ mount }) => mount),
        publicPathFor: (request) => publicPathOf(urlOf(request)),
        compression,
      });
    },
  ),
  runningPlugins: part(
    ['config', 'modules', 'clock', 'logger', 'koa', 'snapshots', 'keyStore'],
    ({ koa, ...others }) => {
      const application = koa as unknown as Koa;
      const contextOf = runningContext(others);
      return new RunningPlugins(
        others.modules.registry.plugins,
        (plugin) => ({ ...contextOf(plugin), koa: application }),
        application,
      );
    },
    { open: (plugins) => plugins.open(), close: (plugins) => plugins.close() },
  ),
  handle: part(['koa', 'admission', 'routes', 'headers'], ({ koa, admission, routes, headers }): Handle => {
    const handle = koa.callback() as Handle;
    if (!admission) return handle;
    const unlimited = routes.routes.filter(({ limited }) => !limited).map(({ pattern }) => pattern);
    return admitting(admission, new Set(unlimited), headers, handle);
  }),
  server: part(
    ['config', 'modules', 'headers', 'handle', 'metrics'],
    ({ config: { config }, modules, headers, handle, metrics }) => {
      const hasUpgrades = modules.registry.mounts.some(({ mount }) => mount.upgrade);
      return new HttpServer(config.server, headers, handle, (event) => metrics?.observeEdge(event), hasUpgrades);
    },
    { close: (server) => server.close() },
  ),
  local: part(['config', 'modules', 'settings', 'state', 'koa'], ({ koa, ...dependencies }) =>
    localContext(koa, mountDependencies(dependencies)),
  ),
};
