/** Endpoints outside the data API. */
import type { Context } from 'koa';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';

/**
 * The second argument of a mount's handler. It is a function, so that a Koa middleware can be the handler: `next()` then
 * leaves the request without a response, which is a 404.
 */
export interface MountContext {
  (): Promise<void>;
  /** Every route of the service, for pages and tools that list or call them. */
  readonly routes: readonly Route[];
  /** Every mount of the service, for pages that link to each other. */
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  /** The prefix of all routes, without a slash at the end: `/api/v1`. */
  readonly basePath: string;
  /** What precedes `basePath` and the paths of mounts in links: empty, or a path such as `/lib` behind a proxy. */
  readonly publicPath: string;
  /** Whether the service compresses responses. */
  readonly compression: boolean;
  /**
   * Makes a GET request to this service for the same caller. It runs all middleware and does not count against a limit.
   * @param target relative to the base path, with the query: `/movers?limit=5`
   */
  request(target: string): Promise<{ readonly status: number; readonly body: string }>;
}

/** An endpoint outside the data API: pages, or another protocol. */
export interface Mount {
  /**
   * From the origin: `/docs`. A mount also owns the paths below it. A mount of `/` owns this path alone and replaces the
   * front page.
   */
  readonly path: string;
  /** For the log and the start-up messages. */
  readonly summary: string;
  /** Default: GET and HEAD. OPTIONS is always added. */
  readonly methods?: readonly string[];
  /** Whether a request needs an API key. Default false. */
  readonly key?: boolean;
  /**
   * Request headers that web pages of other origins may send, in addition to the request headers of the API.
   * `Content-Type` is always allowed if one of `methods` has a body.
   */
  readonly requestHeaders?: readonly string[];
  /** Response headers that web pages of other origins may read, in addition to the response headers of the API. */
  readonly exposedHeaders?: readonly string[];
  /** Default: the policy of the API, under which a page can load nothing. */
  readonly contentSecurityPolicy?: string;
  /** Responds through Koa's context, like any Koa middleware, or writes to `ctx.res`. */
  handler(ctx: Context, mount: MountContext): unknown;
}
