import type Koa from 'koa';
import type { InjectOptions } from 'light-my-request';
import type { DependencyContainer } from 'tsyringe';
import { type ConfigNames, configLoader, type LoadedConfig, type LoadOptions } from '../config/load.js';
import type { GivenConfig } from '../config/schema.js';
import { originOf } from '../edge/connections.js';
import { assertOpen } from '../edge/server.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';
import type { App, AppOverrides, Overrides } from './app-types.js';
import { close, createContainer, open, resolve } from './container.js';
import { embedded } from './embed.js';
import { type BuiltinModules, loadModules, type Modules, moduleErrors } from './load-modules.js';
import type { PartName, Parts } from './part-types.js';

export interface Product extends BuiltinModules {
  readonly configuration: ConfigNames;
}

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
    createApp: async (
      config: GivenConfig | LoadedConfig | string,
      { plugins = [], ...overrides }: AppOverrides = {},
    ): Promise<App> => {
      const extra = plugins.map(({ plugin, options = {} }, index) => {
        return { plugin, options, at: `overrides.plugins[${index}]` };
      });
      // The overrides can contain the adapter and the plugins, so the configuration can omit both.
      const defaults = { ...(overrides.adapter && { adapter: 'memory' }), ...(extra.length > 0 && { plugins: [] }) };
      const source = typeof config === 'string' ? { path: config } : { given: config as GivenConfig, env: {} };
      const loaded = isLoaded(config) ? config : await loadConfig({ ...source, defaults }, extra);
      return startApp(loaded, await loadModules(product, loaded, extra), overrides);
    },
  };
};

const isLoaded = (config: GivenConfig | LoadedConfig | string): config is LoadedConfig =>
  typeof config === 'object' && 'config' in config && 'folder' in config;

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
  // `koa-mount` calls the functions in this list when another Koa application mounts the service.
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
      assertOpen(isClosing);
      const metricsServer = metrics && options.metrics !== false ? await metrics.listen() : null;
      try {
        const { host, port } = await server.listen();
        return { host, port, url: `${originOf(host, port)}${basePath}`, metricsUrl: metricsServer?.url ?? null };
      } catch (error) {
        // The program can free the API port and call `listen` again.
        await metricsServer?.close();
        throw error;
      }
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
