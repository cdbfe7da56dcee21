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
 * The second argument of a mount's handler. It is also a function, so that Koa middleware can serve as a handler and
 * receive it as `next`. Calling it does nothing, so a request that the middleware does not handle gets a 404.
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
  /** The prefix for links to `basePath` and to mounts. Empty, or a path that a proxy removes, such as `/lib`. */
  readonly publicPath: string;
  /** The setting `server.publicUrl` without a trailing slash. Default: `publicPath`. */
  readonly publicUrl: string;
  /** The limits for callers without a key. Undefined if every caller needs a key. */
  readonly anonymous: { readonly limit: number; readonly quotas: Quotas | undefined } | undefined;
  /** The state of the service when the request arrived. */
  readonly state: ServiceState;
  readonly compression: boolean;
  /**
   * Makes a GET request to this service on behalf of the same caller. All middleware runs, but the request does not
   * count against a limit.
   * @param target path and query relative to the base path, such as `/movers?limit=5`
   */
  request(target: string): Promise<InnerResponse>;
  /**
   * Makes the request as a caller without a key, who can use only the endpoints in the tier `auth.anonymous`. For
   * responses that all callers share.
   */
  requestWithoutKey(target: string): Promise<InnerResponse>;
}

/** An endpoint outside the data API, such as a page or another protocol. */
export interface Mount {
  /**
   * The absolute path, such as `/docs`. A mount also handles all paths below its path. A mount at `/` is an exception:
   * it handles only this path, and replaces the front page.
   */
  readonly path: string;
  /** A short description for the log and for messages at startup. */
  readonly summary: string;
  /** Default: GET and HEAD. OPTIONS is always supported. */
  readonly methods?: readonly string[];
  /** True if requests need an API key. Default: false. */
  readonly key?: boolean;
  /**
   * With CORS, pages from other origins can send these request headers, in addition to the defaults. If one of the
   * `methods` can have a body, `Content-Type` is always allowed.
   */
  readonly requestHeaders?: readonly string[];
  /** With CORS, pages from other origins can read these response headers, in addition to the defaults. */
  readonly exposedHeaders?: readonly string[];
  /** Default: the policy of API responses, which prevents pages from loading any resource. */
  readonly contentSecurityPolicy?: string;
  /** Returns the content of this page for the front page. Called once per snapshot. */
  frontPage?(context: FrontPageContext): Promise<FrontPageContent>;
  /**
   * Takes over the connection of an upgrade request, such as a WebSocket handshake, after keys and limits have been
   * checked. `head` contains bytes that the client has already sent after the request. If this function is missing,
   * `handler` responds.
   */
  upgrade?(ctx: Context, socket: Socket, head: Buffer): unknown;
  /** Responds through Koa's context, or by writing directly to `ctx.res`. */
  handler(ctx: Context, mount: MountContext): unknown;
}
