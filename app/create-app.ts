/** An application from a configuration: resolves its services, opens them, listens, and closes them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Response as InjectedResponse, InjectOptions } from 'light-my-request';
import type { DependencyContainer } from 'tsyringe';
import type { LoadedConfig } from '../core/config/load.js';
import type { MountContext, Plugin } from '../core/contracts/plugin.js';
import { originOf } from '../core/http/listen.js';
import { openApiPlugin } from '../core/openapi/plugin.js';
import frontPage from '../plugins/front-page.js';
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
  /** The Koa application. `use` adds middleware around the whole service, until it has answered a request. */
  readonly koa: Koa;
  /** For any Node HTTP server. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** The routes, and their answers without keys and limits: for whatever runs in the same process. */
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
 * @param overrides services that replace those which the config would make
 * @throws OperatorError with every fault of the configuration and its modules
 */
export const createApp = async (config: LoadedConfig | string, overrides: AppOverrides = {}): Promise<App> => {
  const loaded = typeof config === 'string' ? await loadConfig({ path: config, env: process.env }) : config;
  const { basePath } = loaded.config.server;
  const { plugins = [], ...replaced } = overrides;
  const modules = await loadModules(loaded, [
    { plugin: openApiPlugin(basePath, () => modules.registry), options: {}, at: 'the framework' },
    { plugin: frontPage, options: {}, at: 'the framework' },
    ...plugins.map(({ plugin, options = {} }, index) => ({ plugin, options, at: `overrides.plugins[${index}]` })),
  ]);
  const container = createContainer({ config: loaded, modules }, replaced);
  try {
    return await openApp(container, basePath);
  } catch (error) {
    await close(container).catch(() => undefined);
    throw error;
  }
};

const openApp = async (container: DependencyContainer, basePath: string): Promise<App> => {
  const koa = resolve(container, 'koa') as unknown as Koa;
  const local = resolve(container, 'local');
  const server = resolve(container, 'server');
  const handle = resolve(container, 'handle');
  const state = resolve(container, 'state');
  const metrics = resolve(container, 'metrics');
  await open(container);
  return {
    container,
    koa,
    handle,
    local,
    inject: async (request) => {
      const { inject } = await import('light-my-request');
      return inject(handle as Parameters<typeof inject>[0], request as InjectOptions);
    },
    listen: async () => {
      const metricsUrl = metrics ? await metrics.listen() : null;
      const { host, port } = await server.listen();
      return { host, port, url: `${originOf(host, port)}${basePath}`, metricsUrl };
    },
    drain() {
      state.drain();
      server.drain();
    },
    close() {
      state.drain();
      return close(container);
    },
  };
};
