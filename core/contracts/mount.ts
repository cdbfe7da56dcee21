/** Endpoints outside the data API. */
import type { Socket } from 'node:net';
import type { Context } from 'koa';
import type { FrontPageContent, FrontPageContext } from './front-page.js';
import type { Quotas } from './limiter.js';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';
import type { ServiceState } from './state.js';

export interface InnerResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | number | undefined>>;
  readonly body: string;
}

/**
 * The second argument of a mount's handler. It is also a function, so that a Koa middleware can be the handler and call
 * it as `next()`. That call does nothing, so a request that no handler answers gets a 404.
 */
export interface MountContext {
  (): Promise<void>;
  /** All routes of the service, for pages and tools that list or call them. */
  readonly routes: readonly Route[];
  /** All mounts of the service, for pages that link to each other. */
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  /** The prefix of all routes, without a trailing slash: `/api/v1`. */
  readonly basePath: string;
  /**
   * The prefix for `basePath` and the paths of mounts in links: empty, or a path that a proxy strips, such as `/lib`.
   */
  readonly publicPath: string;
  /** The setting `server.publicUrl`, without a trailing slash; otherwise `publicPath`. */
  readonly publicUrl: string;
  /** The limits of callers without a key. Undefined if every caller needs a key. */
  readonly anonymous: { readonly limit: number; readonly quotas: Quotas | undefined } | undefined;
  /** The state of the service when the request arrived. */
  readonly state: ServiceState;
  /** Whether the service compresses responses. */
  readonly compression: boolean;
  /**
   * Makes a GET request to this service on behalf of the same caller. It runs all middleware but does not count against
   * a limit.
   * @param target path and query relative to the base path: `/movers?limit=5`
   */
  request(target: string): Promise<InnerResponse>;
  /**
   * Like `request`, but as a caller without a key, who may use only the endpoints in the tier `auth.anonymous`. For
   * responses that all callers share.
   */
  requestWithoutKey(target: string): Promise<InnerResponse>;
}

/** An endpoint outside the data API: pages, or another protocol. */
export interface Mount {
  /**
   * The absolute path, such as `/docs`. A mount also owns all paths below its own. The exception is `/`: a mount there
   * owns only this path, and replaces the front page.
   */
  readonly path: string;
  /** A short description for the log and the start-up messages. */
  readonly summary: string;
  /** Default: GET and HEAD. OPTIONS is added automatically. */
  readonly methods?: readonly string[];
  /** Whether requests need an API key. Default: false. */
  readonly key?: boolean;
  /**
   * Request headers that web pages of other origins may send, in addition to the request headers of the API.
   * `Content-Type` is always allowed if requests with one of `methods` can have a body.
   */
  readonly requestHeaders?: readonly string[];
  /** Response headers that web pages of other origins may read, in addition to the response headers of the API. */
  readonly exposedHeaders?: readonly string[];
  /** Default: the policy of the API, which allows a page to load nothing. */
  readonly contentSecurityPolicy?: string;
  /** Returns what the page contributes to the front page. Called once per snapshot. */
  frontPage?(context: FrontPageContext): Promise<FrontPageContent>;
  /**
   * Takes over the connection of an upgrade request, such as one for WebSocket, after keys and limits have been checked.
   * `head` contains the bytes that followed the request. Without this function, `handler` responds.
   */
  upgrade?(ctx: Context, socket: Socket, head: Buffer): unknown;
  /** Responds through Koa's context, like any Koa middleware, or writes to `ctx.res` directly. */
  handler(ctx: Context, mount: MountContext): unknown;
}
