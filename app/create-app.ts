/** Puts a service together: stores, snapshot, pipeline and HTTP server, from a configuration. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response as InjectedResponse, InjectOptions } from 'light-my-request';
import type { DependencyContainer } from 'tsyringe';
import type { LoadedConfig } from '../core/config/load.js';
import type { MountContext, Plugin, ServiceState } from '../core/contracts/plugin.js';
import type { Health } from '../core/contracts/runtime.js';
import { Admission, admitting } from '../core/http/admission.js';
import { answerer } from '../core/http/answers.js';
import { callerAddress } from '../core/http/caller-address.js';
import type { Exchange } from '../core/http/exchange.js';
import { commonHeaders } from '../core/http/headers.js';
import { originOf } from '../core/http/listen.js';
import { mountContext } from '../core/http/mount-context.js';
import { pipeline } from '../core/http/pipeline.js';
import { requestLog } from '../core/http/request-log.js';
import { openObservers } from '../core/http/request-observers.js';
import { RouteTable } from '../core/http/route-table.js';
import { CurrentSnapshot } from '../core/http/served-snapshot.js';
import { HttpServer } from '../core/http/server.js';
import { Vintages } from '../core/http/vintages.js';
import { openApiPlugin } from '../core/openapi/plugin.js';
import { createContainer, type Overrides, resolve } from './container.js';
import { documentInfo } from './document-info.js';
import { createKeyRing } from './key-ring.js';
import { loadConfig } from './load-config.js';
import { loadModules } from './load-modules.js';
import { createMetrics } from './metrics.js';

export interface AppOverrides extends Overrides {
  /** Plugins of the embedding program, registered after those of the config. */
  readonly plugins?: readonly { readonly plugin: Plugin; readonly options?: unknown }[];
}

export interface App {
  readonly container: DependencyContainer;
  /** For any Node HTTP server. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** The routes, and their answers without keys and limits: for whoever runs in the same process. */
  readonly local: MountContext;
  /** Calls the service without a socket. */
  inject(request: InjectOptions | string): Promise<InjectedResponse>;
  /** Listens as the config says, for metrics too if it wants them; rejects when a port is taken. */
  listen(): Promise<{ host: string; port: number; url: string; metricsUrl: string | null }>;
  /** From now on `/health` fails and connections close after their response. */
  drain(): void;
  /** Ends running requests, then the stores. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens a service. Stores that can come back by themselves may be away.
 * @param config a loaded configuration, or the path of a file; the environment has its say over a file only
 * @param overrides parts that replace those which the config would make
 * @throws OperatorError with every fault of the configuration and its modules
 */
export const createApp = async (config: LoadedConfig | string, overrides: AppOverrides = {}): Promise<App> => {
  const loaded = typeof config === 'string' ? await loadConfig({ path: config, env: process.env }) : config;
  const { server, http, auth, limits } = loaded.config;
  const { plugins = [], ...parts } = overrides;
  const modules = await loadModules(loaded, [
    { plugin: openApiPlugin(documentInfo, server.basePath, () => modules.registry), options: {}, at: 'the framework' },
    ...plugins.map(({ plugin, options = {} }, index) => ({ plugin, options, at: `overrides.plugins[${index}]` })),
  ]);
  const container = createContainer({ config: loaded, modules }, parts);
  const logger = resolve(container, 'logger');
  const clock = resolve(container, 'clock');
  const adapter = resolve(container, 'adapter');
  const keyStore = resolve(container, 'keyStore');
  const limiter = resolve(container, 'limiter');
  const cache = resolve(container, 'cache');
  const events = resolve(container, 'storageEvents');

  const { cacheBytes, answerMs, compression } = http;
  const stored = { adapter, collections: modules.registry.collections, cacheBytes, answerMs };
  const snapshots = new CurrentSnapshot({ ...stored, clock, logger });
  const vintages = new Vintages(stored);
  let storage: Health = { ok: true, message: null };
  events.on('changed', () => void snapshots.refresh());
  events.on('problem', (sentence) => {
    storage = { ok: sentence === undefined, message: sentence ?? null };
  });

  const startedAt = new Date(clock.now());
  let draining = false;
  const serviceState = (): ServiceState => ({
    now: new Date(clock.now()),
    startedAt,
    draining,
    health: { storage, limiter: limiter.health(), cache: cache.health(), keys: keyStore.health() },
    snapshot: snapshots.get()?.reader,
    pingStorage: () => adapter.ping(),
  });

  const admission = server.overload && new Admission({ ...server.overload, clock, logger });
  const metrics = createMetrics(loaded.config.metrics, {
    state: serviceState,
    responses: () => snapshots.get()?.responses,
    admission,
  });

  const keys = createKeyRing({ auth, keyStore, clock, logger: logger.child({ part: 'keys' }) });
  const headers = commonHeaders({ cors: http.cors, keepAliveTimeoutMs: server.keepAliveTimeoutMs });
  const routes = new RouteTable(modules.registry.routes, modules.registry.mounts, {
    basePath: server.basePath,
    unknownParameters: http.unknownParameters,
    maxUrlBytes: server.maxUrlBytes,
    csvFormulaGuard: http.csvFormulaGuard,
  });
  const answerParts = { snapshots, vintages, cache, clock, serviceState };
  const local = mountContext(routes, answerer(answerParts), { basePath: server.basePath, compression }, logger);
  const observers = openObservers(modules.registry.observers, { logger, clock });
  const answer = pipeline({
    ...answerParts,
    routes,
    keys: keys.ring,
    limiter,
    logger,
    headers,
    addressOf: callerAddress(server.trustProxy),
    mountContext: local,
    observe: inTurn(requestLog(logger), metrics?.observeRequest, observers?.observe),
    requestsPerMinute: limits.requestsPerMinute,
    realm: auth.realm,
    compression,
  });
  const unlimited = routes.routes.filter(({ limited }) => !limited).map(({ pattern }) => pattern);
  const handle = admission ? admitting(admission, new Set(unlimited), headers, answer) : answer;
  const listener = new HttpServer(server, headers, handle, (event) => metrics?.observeEdge(event));

  const closeStores = async (): Promise<void> => {
    snapshots.close();
    await Promise.all([metrics?.close(), keys.close()]);
    await Promise.all([observers?.close(), adapter.close(), keyStore.close(), limiter.close(), cache.close()]);
    await resolve(container, 'redis')?.close();
  };

  try {
    await Promise.all([adapter.open(), keyStore.open(), resolve(container, 'redis')?.opened]);
  } catch (error) {
    await closeStores().catch(() => undefined);
    throw error;
  }
  await snapshots.refresh();

  let closing: Promise<void> | undefined;
  return {
    container,
    handle,
    local,
    inject: async (request) => {
      const { inject } = await import('light-my-request');
      return inject(handle as Parameters<typeof inject>[0], request as InjectOptions);
    },
    listen: async () => {
      const metricsUrl = metrics ? await metrics.listen() : null;
      const { host, port } = await listener.listen();
      const url = `${originOf(host, port)}${server.basePath}`;
      return { host, port, url, metricsUrl };
    },
    drain() {
      draining = true;
      listener.drain();
    },
    close() {
      draining = true;
      closing ??= listener.close(server.drainMs).then(closeStores);
      return closing;
    },
  };
};

type Observe = (exchange: Exchange, status: number) => void;

/** Those that there are, as one call: what is not wanted costs a request nothing. */
const inTurn = (first: Observe, ...others: readonly (Observe | undefined)[]): Observe =>
  others.reduce<Observe>(
    (before, next) =>
      next
        ? (exchange, status) => {
            before(exchange, status);
            next(exchange, status);
          }
        : before,
    first,
  );
