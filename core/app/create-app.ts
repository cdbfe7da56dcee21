/** An application from a configuration: resolves its services, opens them, listens, and closes them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Response as InjectedResponse, InjectOptions } from 'light-my-request';
import type { DependencyContainer } from 'tsyringe';
import type { LoadedConfig } from '../config/load.js';
import type { GivenConfig } from '../config/schema.js';
import type { MountContext, Plugin } from '../contracts/plugin.js';
import { originOf } from '../edge/listen.js';
import { OperatorError } from '../errors.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';
import { close, createContainer, type Overrides, open, resolve } from './container.js';
import { loadConfig } from './load-config.js';
import { loadModules } from './load-modules.js';

export interface AppOverrides extends Overrides {
  /** Plugins of the embedding program, registered after those of the config. */
  readonly plugins?: readonly { readonly plugin: Plugin; readonly options?: unknown }[];
}

export interface App {
  /** Every service by its name: `resolve(app.container, 'adapter')`. */
  readonly container: DependencyContainer;
  /** The Koa application. Call `use` before the first request to add middleware around the whole service. */
  readonly koa: Koa;
  /** The request listener, for any HTTP server of Node's. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Lists the routes, and lets code of this process call them without a key and without limits. */
  readonly local: MountContext;
  /** Calls the service without a socket. */
  inject(request: InjectOptions | string): Promise<InjectedResponse>;
  /**
   * Listens as the config says, for metrics too if it wants them; rejects when a port is taken.
   * @param options.metrics false: another process serves the metrics of all workers
   */
  listen(options?: {
    readonly metrics?: boolean;
  }): Promise<{ host: string; port: number; url: string; metricsUrl: string | null }>;
  /**
   * Applies what a running service can change of a configuration; the log names what changed, and what needs a restart.
   */
  reload(config: LoadedConfig): void;
  /** From now on `/ready` and `/health` fail and connections close after their response. */
  drain(): void;
  /** Ends running requests, then the stores. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Makes and opens a service, also while MongoDB or Redis cannot be reached, since it reconnects to them.
 * @param config a configuration as a file would have it, a loaded one, or the path of a file. Environment variables
 *   override values of a file only; relative paths of a configuration in code start at the working directory
 * @param overrides services that replace those which the config would make
 * @throws OperatorError with every fault of the configuration and its modules
 */
export const createApp = async (
  config: GivenConfig | LoadedConfig | string,
  overrides: AppOverrides = {},
): Promise<App> => {
  const { plugins = [], ...replaced } = overrides;
  const extra = plugins.map(({ plugin, options = {} }, index) => ({
    plugin,
    options,
    at: `overrides.plugins[${index}]`,
  }));
  const loaded = await load(config, extra);
  const modules = await loadModules(loaded, extra);
  const container = createContainer({ config: loaded, modules }, replaced);
  try {
    return await openApp(container, loaded.config.server.basePath);
  } catch (error) {
    await close(container).catch(() => undefined);
    throw error;
  }
};

const load = async (
  config: GivenConfig | LoadedConfig | string,
  extra: readonly LoadedPlugin[],
): Promise<LoadedConfig> => {
  if (typeof config === 'string') return loadConfig({ path: config }, extra);
  return isLoaded(config) ? config : loadConfig({ given: config, env: {} }, extra);
};

/** Tells a loaded configuration from a given one by two keys that no given one has. */
const isLoaded = (config: GivenConfig | LoadedConfig): config is LoadedConfig =>
  'config' in config && 'folder' in config;

const openApp = async (container: DependencyContainer, basePath: string): Promise<App> => {
  const koa = resolve(container, 'koa') as unknown as Koa;
  const local = resolve(container, 'local');
  const server = resolve(container, 'server');
  const handle = resolve(container, 'handle');
  const state = resolve(container, 'state');
  const metrics = resolve(container, 'metrics');
  const settings = resolve(container, 'settings');
  await open(container);
  let closing = false;
  return {
    container,
    koa,
    handle,
    local,
    inject: async (request) => {
      const { inject } = await import('light-my-request');
      return inject(handle as Parameters<typeof inject>[0], request as InjectOptions);
    },
    listen: async (options = {}) => {
      if (closing) throw new OperatorError('The application has been closed. Make another one to listen again.');
      const metricsUrl = metrics && options.metrics !== false ? await metrics.listen() : null;
      const { host, port } = await server.listen();
      return { host, port, url: `${originOf(host, port)}${basePath}`, metricsUrl };
    },
    reload: (config) => settings.apply(config),
    drain() {
      state.drain();
      server.drain();
    },
    close() {
      closing = true;
      state.drain();
      return close(container);
    },
  };
};
