/**
 * The public types of `createApp`. This file must not import the implementation of an application. Otherwise, every
 * program that uses this package would also load the types of ioredis.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Response as InjectedResponse, InjectOptions } from 'light-my-request';
import type { LoadedConfig } from '../config/load.js';
import type { SharedCache } from '../contracts/cache.js';
import type { KeyStore } from '../contracts/keys.js';
import type { Limiter } from '../contracts/limiter.js';
import type { Plugin } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { StorageAdapter } from '../contracts/storage.js';
import type { LocalContext } from '../routes/handle-mount.js';
import type { EmbeddedMiddleware } from './embed.js';

/**
 * The parts that an embedding program can replace. The application opens and closes replacements like its own parts.
 */
export interface Overrides {
  readonly adapter?: StorageAdapter;
  readonly keyStore?: KeyStore;
  readonly limiter?: Limiter;
  readonly cache?: SharedCache;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

export interface AppOverrides extends Overrides {
  /** Plugins to register after the plugins in the configuration. */
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
   * @param config the new configuration
   * @returns the paths of the changed settings that need a restart
   */
  reload(config: LoadedConfig): readonly string[];
  /**
   * Prepares for shutdown. `/ready` and `/health` respond with a 503, and each connection closes after its next
   * response.
   * @param options.idleMs how long `close` keeps idle connections open, in milliseconds. Set only if other processes
   *   have taken over the port. In this case, `/ready` and `/health` still succeed
   */
  drain(options?: { readonly idleMs: number }): void;
  /** Waits for running requests to complete, then closes the stores. Further calls have no effect. */
  close(): Promise<void>;
}
