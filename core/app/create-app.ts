import type { IncomingMessage, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Response as InjectedResponse, InjectOptions } from 'light-my-request';
import type { DependencyContainer } from 'tsyringe';
import { type ConfigNames, configLoader, type LoadedConfig, type LoadOptions } from '../config/load.js';
import type { GivenConfig } from '../config/schema.js';
import type { Plugin } from '../contracts/plugin.js';
import { originOf } from '../edge/connections.js';
import { OperatorError } from '../errors.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';
import type { LocalContext } from '../routes/handle-mount.js';
import { close, createContainer, type Overrides, open, resolve } from './container.js';
import { type EmbeddedMiddleware, embedded } from './embed.js';
import { type BuiltinModules, loadModules, type Modules, moduleErrors } from './load-modules.js';
import type { PartName, Parts } from './part-types.js';

export interface Product extends BuiltinModules {
  readonly configuration: ConfigNames;
}

export interface AppOverrides extends Overrides {
  /** Registered after the plugins in the configuration. */
  readonly plugins?: readonly { readonly plugin: Plugin; readonly options?: unknown }[];
}

export interface App {
  /** The Koa application. To add middleware around the whole service, call `koa.use` before the first request. */
  readonly koa: Koa;
  /** A request listener for `http.createServer` and other Node HTTP servers. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Returns middleware for Koa, Express and other frameworks with Connect's signature. The middleware calls `next` for
   * paths that belong neither to the API nor to its pages.
   * @param options.prefix path at which the service is mounted, such as `/data`; omit it if the framework strips the
   * mount path from the URL
   */
  middleware(options?: { readonly prefix?: string }): EmbeddedMiddleware;
  /** Lists the routes and calls them in process, without a key or rate limits. */
  readonly local: LocalContext;
  /** Sends a request to the service without opening a socket. */
  inject(request: InjectOptions | string): Promise<InjectedResponse>;
  /**
   * Opens the API port and the metrics port. Rejects if a port is in use.
   * @param options.metrics set to false if another process serves the metrics of all workers. Default: true
   */
  listen(options?: {
    readonly metrics?: boolean;
  }): Promise<{ host: string; port: number; url: string; metricsUrl: string | null }>;
  /**
   * Applies the settings that can change at runtime. Logs the changed settings, and which of them need a restart.
   * @returns the paths of the changed settings that need a restart
   */
  reload(config: LoadedConfig): readonly string[];
  /**
   * Makes `/ready` and `/health` fail, and closes each connection after its next response.
   * @param options.idleMs set if other processes have taken over the port: `/ready` and `/health` then keep succeeding,
   * and `close` keeps idle connections open for this many milliseconds
   */
  drain(options?: { readonly idleMs: number }): void;
  /** Waits for running requests to complete, then closes the stores. Can be called more than once. */
  close(): Promise<void>;
}

type ConfigInput = GivenConfig | LoadedConfig | string;

export const createFramework = (product: Product) => {
  const load = configLoader(product.configuration);

  /**
   * @param extra plugins passed by the embedding program
   * @throws OperatorError that lists all errors in the configuration and its modules
   */
  const loadConfig = (
    options: Omit<LoadOptions, 'moduleErrors'>,
    extra: readonly LoadedPlugin[] = [],
  ): Promise<LoadedConfig> =>
    load({
      ...options,
      moduleErrors: (draft, folder, overrides) => moduleErrors(product, { draft, folder, overrides }, extra),
    });

  const toLoaded = async (config: ConfigInput, extra: readonly LoadedPlugin[]): Promise<LoadedConfig> => {
    if (typeof config === 'string') return loadConfig({ path: config }, extra);
    return isLoaded(config) ? config : loadConfig({ given: config, env: {} }, extra);
  };

  return {
    loadConfig,

    loadModules: (loaded: LoadedConfig, extra?: readonly LoadedPlugin[]) => loadModules(product, loaded, extra),

    /**
     * Creates and opens a service. If MongoDB or Redis is unreachable, the service still starts, and reconnects
     * automatically.
     * @param config a configuration object, a loaded configuration, or the path of a configuration file. Environment
     * variables override values only if a path is passed. Relative paths in an object are relative to the working
     * directory
     * @param overrides replacements for configured parts, and additional plugins
     * @throws OperatorError that lists all errors in the configuration, its modules and the overrides
     */
    createApp: async (config: ConfigInput, { plugins = [], ...overrides }: AppOverrides = {}): Promise<App> => {
      const extra = plugins.map(({ plugin, options = {} }, index) => {
        return { plugin, options, at: `overrides.plugins[${index}]` };
      });
      const loaded = await toLoaded(config, extra);
      return startApp(loaded, await loadModules(product, loaded, extra), overrides);
    },
  };
};

const isLoaded = (config: GivenConfig | LoadedConfig): config is LoadedConfig =>
  'config' in config && 'folder' in config;

const containers = new WeakMap<App, DependencyContainer>();

/** Returns a part of a running application. Only for this package's commands and tests. */
export const partOf = <Name extends PartName>(app: App, name: Name): Parts[Name] => resolve(containers.get(app)!, name);

export const startApp = async (config: LoadedConfig, modules: Modules, overrides: Overrides): Promise<App> => {
  const container = createContainer({ config, modules }, overrides);
  try {
    const app = makeApp(container, config.config.server.basePath);
    await open(container);
    containers.set(app, container);
    return app;
  } catch (error) {
    await close(container).catch(() => undefined);
    throw error;
  }
};

const makeApp = (container: DependencyContainer, basePath: string): App => {
  const koa = resolve(container, 'koa') as unknown as Koa;
  resolve(container, 'runningPlugins');
  const local = resolve(container, 'local');
  const server = resolve(container, 'server');
  const handle = resolve(container, 'handle');
  const state = resolve(container, 'state');
  const metrics = resolve(container, 'metrics');
  const settings = resolve(container, 'settings');
  const { mounts } = local;
  const middleware: App['middleware'] = ({ prefix } = {}) => embedded({ handle, basePath, mounts }, prefix);
  // `koa-mount` reads this property, so other Koa applications can mount this one.
  koa.middleware = [middleware()];
  let isClosing = false;
  let isReplaced = false;
  return {
    koa,
    handle,
    middleware,
    local,
    inject: async (request) => {
      const { inject } = await import('light-my-request');
      return inject(handle as Parameters<typeof inject>[0], request as InjectOptions);
    },
    listen: async (options = {}) => {
      if (isClosing) throw new OperatorError('The application is closed. Create another one to listen again.');
      const metricsUrl = metrics && options.metrics !== false ? await metrics.listen() : null;
      const { host, port } = await server.listen();
      return { host, port, url: `${originOf(host, port)}${basePath}`, metricsUrl };
    },
    reload: (config) => settings.apply(config),
    drain(options) {
      isReplaced = options !== undefined;
      if (!isReplaced) state.drain();
      server.drain(options?.idleMs);
    },
    close() {
      isClosing = true;
      if (!isReplaced) state.drain();
      return close(container);
    },
  };
};
