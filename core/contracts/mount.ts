import type { Socket } from 'node:net';
import type { Context } from 'koa';
import type { FrontPageContent, FrontPageContext } from './front-page.js';
import type { Quotas } from './limiter.js';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';
import type { ServiceState } from './state.js';

export interface InnerResponse {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | number | undefined>>;
  readonly body: string;
}

/**
 * The second argument of a mount's handler. It is also callable, so that Koa middleware can serve as a handler and
 * receive it as `next`. Calling it does nothing, so requests that the middleware passes on get a 404.
 */
export interface MountContext {
  (): Promise<void>;
  /** All routes of the service, for pages and tools that list or call them. */
  readonly routes: readonly Route[];
  /** All mounts of the service, for pages that link to one another. */
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  /** The prefix of all routes without a trailing slash, such as `/api/v1`. */
  readonly basePath: string;
  /** The prefix for links to `basePath` and mounts: empty, or a path that a proxy strips, such as `/lib`. */
  readonly publicPath: string;
  /** The setting `server.publicUrl` without a trailing slash, or else `publicPath`. */
  readonly publicUrl: string;
  /** The limits for callers without a key. Undefined if every caller needs a key. */
  readonly anonymous: { readonly limit: number; readonly quotas: Quotas | undefined } | undefined;
  /** The service state when the request arrived. */
  readonly state: ServiceState;
  readonly compression: boolean;
  /**
   * Makes a GET request to this service on behalf of the same caller. All middleware runs, but the request does not
   * count towards a limit.
   * @param target path and query relative to the base path, such as `/movers?limit=5`
   */
  request(target: string): Promise<InnerResponse>;
  /**
   * Like `request`, but as a caller without a key, who can access only the endpoints in the tier `auth.anonymous`. Use
   * it for responses that all callers share.
   */
  requestWithoutKey(target: string): Promise<InnerResponse>;
}

/** An endpoint outside the data API, such as a page or another protocol. */
export interface Mount {
  /**
   * The absolute path, such as `/docs`. A mount also owns all paths under its path. The exception is `/`: a mount there
   * owns only that path, and replaces the front page.
   */
  readonly path: string;
  /** A short description for the log and startup messages. */
  readonly summary: string;
  /** Default: GET and HEAD. OPTIONS is added automatically. */
  readonly methods?: readonly string[];
  /** Whether requests need an API key. Default: false. */
  readonly key?: boolean;
  /**
   * Request headers that pages from other origins may send, in addition to the API's request headers. `Content-Type` is
   * always allowed if any of `methods` can have a body.
   */
  readonly requestHeaders?: readonly string[];
  /** Response headers that pages from other origins may read, in addition to the API's response headers. */
  readonly exposedHeaders?: readonly string[];
  /** Default: the API's policy, under which pages cannot load anything. */
  readonly contentSecurityPolicy?: string;
  /** Returns this page's content for the front page. Called once per snapshot. */
  frontPage?(context: FrontPageContext): Promise<FrontPageContent>;
  /**
   * Takes over the connection of an upgrade request, such as a WebSocket handshake, after keys and limits are checked.
   * `head` contains any bytes received after the request. Without this function, `handler` responds.
   */
  upgrade?(ctx: Context, socket: Socket, head: Buffer): unknown;
  /** Responds through Koa's context, like any Koa middleware, or by writing directly to `ctx.res`. */
  handler(ctx: Context, mount: MountContext): unknown;
}
