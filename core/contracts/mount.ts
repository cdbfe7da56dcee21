import type { Socket } from 'node:net';
import type { Context } from 'koa';
import type { FrontPageContent, FrontPageContext } from './front-page.js';
import type { Quotas } from './limiter.js';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';
import type { ServiceState } from './state.js';

export interface InnerResponse {
  readonly status: number;
  /** Response headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | number | undefined>>;
  readonly body: string;
}

/**
 * The second argument of a mount's handler. If the handler is Koa middleware, it receives this function as `next`. The
 * function does nothing. Koa therefore responds with a 404 if the middleware does not respond.
 */
export interface MountContext {
  (): Promise<void>;
  readonly routes: readonly Route[];
  readonly mounts: readonly Mount[];
  readonly info: ServiceInfo;
  /** The prefix of all routes without a trailing slash, such as `/api/v1`. */
  readonly basePath: string;
  /**
   * The prefix for links to routes and mounts. Empty, or the path prefix that a proxy removes from requests, such as
   * `/lib`.
   */
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
   * Makes a GET request as a caller without a key, who can use only the endpoints in the tier `auth.anonymous`. Use
   * this method to build content that all callers share.
   */
  requestWithoutKey(target: string): Promise<InnerResponse>;
}

/** An endpoint outside the data API, such as a page or another protocol. */
export interface Mount {
  /**
   * An absolute path, such as `/docs`. The mount also handles all paths below it. The mount at `/` handles only that
   * path, and replaces the front page.
   */
  readonly path: string;
  /** A short description for the log and for messages at startup. */
  readonly summary: string;
  /** The HTTP methods that the mount supports. Default: GET and HEAD. OPTIONS is always supported. */
  readonly methods?: readonly string[];
  /** True if requests to the mount need an API key. Default: false. */
  readonly key?: boolean;
  /**
   * Request headers that pages from other origins can send (CORS), in addition to the defaults. `Content-Type` is
   * always allowed if one of the `methods` can have a body.
   */
  readonly requestHeaders?: readonly string[];
  /** Response headers that pages from other origins can read (CORS), in addition to the defaults. */
  readonly exposedHeaders?: readonly string[];
  /**
   * The `Content-Security-Policy` header of the mount. Default: the policy of API responses, which prevents pages from
   * loading any resource.
   */
  readonly contentSecurityPolicy?: string;
  /**
   * Set if the mount is a web page. `start` prints the addresses of pages. The navigation of each page lists the main
   * pages and, separately, the guides. It omits unlisted pages.
   */
  readonly page?: 'main' | 'guide' | 'unlisted';
  /** For guides: the Markdown document below `docs/`. Links to the document become links to this page. */
  readonly document?: string;
  /** Returns the content of this page for the front page. Called once per snapshot. */
  frontPage?(context: FrontPageContext): Promise<FrontPageContent>;
  /**
   * Takes over the connection of an upgrade request, such as a WebSocket handshake. Called after keys and limits have
   * been checked. Upgrade requests to mounts without this function go to `handler`.
   * @param head bytes that the client has already sent after the request
   */
  upgrade?(ctx: Context, socket: Socket, head: Buffer): unknown;
  /** Responds through Koa's context, or by writing directly to `ctx.res`. */
  handler(ctx: Context, mount: MountContext): unknown;
}
