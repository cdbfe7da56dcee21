import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Koa, { type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { Format } from '../contracts/format.js';
import type { Decision } from '../contracts/limiter.js';
import type { Mount } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import type { Caller, InvalidIdentity } from '../keys/authenticator.js';
import { holdsKey } from '../keys/key.js';
import { type CommonHeaders, newRequestId } from '../response/headers.js';
import { acceptPrepared } from '../response/respond.js';
import { failResponse } from './catch-errors.js';

/**
 * The state that the service keeps for a request. It is not in `ctx.state`, so plugins can use `ctx.state` without
 * conflicts.
 */
export class RequestState {
  /** When the request arrived, in milliseconds since the process started. */
  readonly startedAt = performance.now();
  /** The connection of the outer request. Set only for inner requests. */
  connection: Socket | undefined;
  /** True if admission control counts the request as in flight. */
  isAdmitted = false;

  // `routes.find` sets `match`, and `negotiate` sets the other two. Undefined if plugin middleware has responded.
  match: Match | undefined;
  /** Undefined for a mount, or if the client accepts none of the available formats. */
  format: Format | undefined;
  /** An error in the request, such as an unknown parameter. `checkRequest` throws it. */
  error: unknown;

  // Set by `identify`. An inner request has the same caller as the outer request.
  caller: Caller | undefined;
  /** Set if the credentials are invalid. */
  invalidIdentity: InvalidIdentity | undefined;
  identityError: unknown;

  // Set by `limit`. Undefined for inner requests, and for endpoints without a limit.
  decision: Decision | undefined;

  // `handleRoute` sets the next two properties. Requests to mounts keep the initial values.
  cacheHit = false;
  snapshotVersion: string | undefined;

  /** True if the response is an error because the reads exceeded the timeout. Set by `catchErrors`. */
  isReadTimeout = false;

  // Set by `observe`.
  /** Time in milliseconds from `startedAt` until the response was written. */
  durationMs = 0;
  /** True if the connection closed before the body was complete. */
  isAborted = false;

  /** @param isInner true if a mount or this process made the request, which is then neither counted nor observed */
  constructor(
    readonly id: string,
    readonly isInner: boolean,
  ) {}
}

export type ApiContext = ParameterizedContext<NoState, HasRequestState>;

export type ApiMiddleware = Middleware<NoState, HasRequestState>;

export type NoState = Record<never, never>;

export interface HasRequestState {
  requestState: RequestState;
}

export interface Endpoint {
  readonly pattern: string;
  /** The name of the plugin and the declared path of the endpoint. A tier can use either to include the endpoint. */
  readonly names: readonly string[];
  /** Does not include OPTIONS, which every endpoint supports. */
  readonly methods: readonly string[];
  readonly needsKey: boolean;
  readonly limited: boolean;
  /** True if shared caches may store the response, which therefore must not depend on the caller. */
  readonly shared: boolean;
  readonly mount?: Mount | undefined;
  readonly chooseFormat?: ((accept: string | undefined) => Format | undefined) | undefined;
  readonly handle: ApiMiddleware;
}

export interface Match {
  readonly endpoint: Endpoint | undefined;
  readonly format?: Format | undefined;
  readonly error?: unknown;
}

type Proxies =
  | number
  | {
      readonly isProxy: (socket: Socket) => boolean;
      readonly forwarded: (request: IncomingMessage) => string | undefined;
    };

export interface ApiKoaOptions {
  readonly logger: Logger;
  readonly headers: CommonHeaders;
  readonly proxies: Proxies;
}

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

export class ApiKoa extends Koa<NoState, HasRequestState> {
  readonly #logger: Logger;
  readonly #order: (added: readonly Middleware[]) => readonly ApiMiddleware[];
  readonly #added: Middleware[] = [];
  readonly #networks: Exclude<Proxies, number> | undefined;
  #run: ((ctx: ApiContext) => Promise<void>) | undefined;

  constructor(
    { logger, headers, proxies }: ApiKoaOptions,
    order: (added: readonly Middleware[]) => readonly ApiMiddleware[],
  ) {
    super();
    this.#logger = logger;
    this.#order = order;
    acceptPrepared(this.response);
    // If writing a body fails, Koa calls `onerror`, which would send plain text by default.
    this.context.onerror = function (this: ApiContext, error: unknown): void {
      if (error !== null && error !== undefined) failResponse(this, error, logger, headers);
    };
    // Without a listener, emitting `error` would throw. `catchErrors` has already logged the error.
    this.on('error', () => undefined);
    // Makes `ctx.ip` trust the same proxies as the rate limits do.
    this.proxy = proxies !== 0;
    if (typeof proxies === 'number') this.maxIpsCount = proxies;
    else this.#networks = proxies;
  }

  /**
   * Adds middleware to a private list. `this.middleware` must not change, because other Koa applications use it to
   * mount this one.
   * @throws Error after the first request, because the middleware has already been composed
   */
  override use<State, Context>(
    middleware: Middleware<NoState & State, HasRequestState & Context>,
  ): Koa<NoState & State, HasRequestState & Context> {
    if (typeof middleware !== 'function') throw new TypeError('Middleware must be a function.');
    if (this.#run) throw new Error('Call koa.use() before the first request: the service has already handled one.');
    this.#added.push(middleware as unknown as Middleware);
    return this as unknown as Koa<NoState & State, HasRequestState & Context>;
  }

  override createContext<State = NoState>(
    request: IncomingMessage,
    response: ServerResponse,
  ): ParameterizedContext<State, HasRequestState> {
    const ctx = super.createContext(request, response);
    if (this.#networks) {
      // Koa cannot restrict trusted proxies to certain networks. It would accept `X-Forwarded-*` headers from any
      // client.
      if (!this.#networks.isProxy(request.socket)) for (const name of FORWARDED) delete request.headers[name];
      ctx.request.ip = this.#networks.forwarded(request) ?? request.socket.remoteAddress ?? '';
    }
    const requestState = new RequestState(requestId(request), false);
    return Object.assign(ctx as unknown as ParameterizedContext<State, HasRequestState>, { requestState });
  }

  override callback() {
    return ((request: IncomingMessage, response: ServerResponse, ended?: () => void): Promise<void> =>
      this.handle(this.createContext(request, response), ended)) as ReturnType<Koa['callback']>;
  }

  /**
   * The promise never rejects.
   * @param ended set only by admission control, when it has counted the request as in flight
   */
  handle(ctx: ApiContext, ended?: () => void): Promise<void> {
    this.#run ??= compose([...this.#order(this.#added)]) as (ctx: ApiContext) => Promise<void>;
    ctx.res.statusCode = 404;
    ctx.requestState.isAdmitted = ended !== undefined;
    return this.#run(ctx).then(ended, (error: unknown) => {
      this.#logger.error({ err: error, requestId: ctx.requestState.id }, 'a response could not be written');
      ctx.res.destroy();
      ended?.();
    });
  }
}

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

/** Returns the `X-Request-Id` header if it is safe to log, otherwise a new id. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const sent = headers['x-request-id'];
  // A client might send an API key in `X-Request-Id` by mistake. Keys must not appear in the log.
  const harmless = typeof sent === 'string' && HARMLESS.test(sent) && !holdsKey(sent);
  return harmless ? sent : newRequestId();
};
