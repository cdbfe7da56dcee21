/** Koa with the service's `ctx.state`, error body, prepared bodies, and trusted proxies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Koa, { type Context, type DefaultContext, type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { Decision } from '../contracts/limiter.js';
import type { Mount } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import type { ApiError } from '../errors.js';
import type { Caller } from '../keys/authenticator.js';
import { holdsKey } from '../keys/key.js';
import { setError } from '../response/error-response.js';
import type { Format } from '../response/formats.js';
import { type CommonHeaders, newRequestId } from '../response/headers.js';
import { acceptPrepared, sendPrepared } from '../response/respond.js';

/** What the middleware know about one request: `ctx.state`. */
export class RequestState {
  /** Milliseconds since the process started. */
  readonly startedAt = performance.now();
  /** From `startedAt` to the response being written, for observers. */
  durationMs = 0;
  /** Undefined where middleware around the service respond before `findEndpoint`. */
  match: Match | undefined;
  caller: Caller | undefined;
  /** Whether credentials were sent that are not valid. */
  invalidKey = false;
  decision: Decision | undefined;
  /** The format of the representation. Undefined for a mount, and where the client accepts none. */
  format: Format | undefined;
  /** The error of the request, regardless of its caller. `checkRequest` throws it. */
  error: ApiError | undefined;
  /** Whether the representation was cached. */
  cacheHit = false;
  snapshotVersion: string | undefined;
  /** For an inner request: the connection of the request whose mount made it. */
  connection: Socket | undefined;

  /**
   * @param id as in `X-Request-Id`
   * @param isInner whether a mount or this process made the request, which is then neither counted nor observed
   */
  constructor(
    readonly id: string,
    readonly isInner: boolean,
  ) {}
}

export type ServiceContext = ParameterizedContext<RequestState>;

/** Koa middleware whose `ctx.state` is a `RequestState`. */
export type ServiceMiddleware = Middleware<RequestState>;

/** What middleware know about a route or a mount. */
export interface Endpoint {
  /** The full path template, for logs and metrics. */
  readonly pattern: string;
  /** The names that tiers use: its plugin, and its path as declared. */
  readonly names: readonly string[];
  /** Without OPTIONS, which every endpoint has. */
  readonly methods: readonly string[];
  readonly needsKey: boolean;
  readonly limited: boolean;
  /** Shared caches may store the response, so it carries nothing about the caller. */
  readonly shared: boolean;
  /** Undefined for a route. */
  readonly mount?: Mount | undefined;
  /** The format for an `Accept` header, the first one without preference. Undefined for a mount. */
  readonly chooseFormat?: ((accept: string | undefined) => Format | undefined) | undefined;
  /** The plugin's middleware around the route's or mount's handler. */
  readonly handle: ServiceMiddleware;
}

/** The endpoint of a URL, or the error that makes the URL invalid. */
export interface Match {
  readonly endpoint: Endpoint | undefined;
  /** The format that the query names. */
  readonly format?: Format | undefined;
  readonly error?: ApiError | undefined;
}

/** How many proxies are in front of the service, or which connections come from a proxy. */
export type Proxies =
  | number
  | {
      readonly isProxy: (socket: Socket) => boolean;
      /** The client's address by `X-Forwarded-For`; undefined without one. */
      readonly forwarded: (request: IncomingMessage) => string | undefined;
    };

export interface ServiceKoaOptions {
  readonly logger: Logger;
  readonly headers: CommonHeaders;
  readonly proxies: Proxies;
}

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

export class ServiceKoa extends Koa<RequestState> {
  readonly #logger: Logger;
  readonly #around: Middleware[] = [];
  readonly #networks: Exclude<Proxies, number> | undefined;
  #isComplete = false;
  #run: ((ctx: ServiceContext) => Promise<void>) | undefined;

  constructor({ logger, headers, proxies }: ServiceKoaOptions) {
    super();
    this.#logger = logger;
    acceptPrepared(this.response);
    // Koa's own handler would write a text. Koa calls this for errors while it writes a body, and when a connection ends.
    this.context.onerror = function (this: ServiceContext, error: unknown): void {
      if (error !== null && error !== undefined) fail(this, error, logger, headers);
    };
    // `catchErrors` has logged the error. Without a listener, Node would throw it.
    this.on('error', () => undefined);
    // Makes Koa's `ctx.ip` the caller's address, by the same proxies as the limits.
    this.proxy = proxies !== 0;
    if (typeof proxies === 'number') this.maxIpsCount = proxies;
    else this.#networks = proxies;
  }

  /**
   * Runs the middleware around the service: the given ones, then any that `use` adds after `complete`.
   * @param errors handles what they throw
   */
  around(errors: ServiceMiddleware, given: readonly Middleware[]): ServiceMiddleware {
    this.#around.push(...given);
    let run: compose.ComposedMiddleware<Context> | undefined;
    return (ctx, next) => {
      if (this.#around.length === 0) return next();
      run ??= compose([errors as unknown as Middleware, ...this.#around]);
      return run(ctx as unknown as Context, next);
    };
  }

  /** From now on `use` adds middleware around the service. */
  complete(): this {
    this.#isComplete = true;
    return this;
  }

  /** @throws Error after the first request, since middleware added then would never run */
  override use<State, Context>(
    middleware: Middleware<RequestState & State, DefaultContext & Context>,
  ): Koa<RequestState & State, DefaultContext & Context> {
    if (!this.#isComplete) return super.use(middleware);
    if (typeof middleware !== 'function') throw new TypeError('Middleware must be a function.');
    if (this.#run) throw new Error('Add middleware by koa.use() before the service listens: it has handled requests.');
    this.#around.push(middleware as unknown as Middleware);
    return this as unknown as Koa<RequestState & State, DefaultContext & Context>;
  }

  override createContext<State = RequestState>(
    request: IncomingMessage,
    response: ServerResponse,
  ): ParameterizedContext<State> {
    const ctx = super.createContext(request, response);
    if (this.#networks) {
      // Koa trusts `X-Forwarded-Host` and `X-Forwarded-Proto` of any client, since it knows no networks.
      if (!this.#networks.isProxy(request.socket)) for (const name of FORWARDED) delete request.headers[name];
      ctx.request.ip = this.#networks.forwarded(request) ?? request.socket.remoteAddress ?? '';
    }
    ctx.state = new RequestState(requestId(request), false);
    return ctx as ParameterizedContext<State>;
  }

  override callback() {
    return ((request: IncomingMessage, response: ServerResponse, ended?: () => void): Promise<void> =>
      this.handle(this.createContext<RequestState>(request, response), ended)) as ReturnType<Koa['callback']>;
  }

  /** Runs all middleware, then calls `ended`. Never rejects. */
  handle(ctx: ServiceContext, ended?: () => void): Promise<void> {
    this.#run ??= compose(this.middleware) as (ctx: ServiceContext) => Promise<void>;
    ctx.res.statusCode = 404;
    return this.#run(ctx).then(ended, (error: unknown) => {
      this.#logger.error({ err: error, requestId: ctx.state.id }, 'a response could not be written');
      ctx.res.destroy();
      ended?.();
    });
  }
}

const fail = (ctx: ServiceContext, error: unknown, logger: Logger, headers: CommonHeaders): void => {
  ctx.app.emit('error', error, ctx);
  if (ctx.headerSent || !ctx.writable) {
    logger.debug({ err: error, requestId: ctx.state.id }, 'a response ended early');
    ctx.res.destroy();
    return;
  }
  setError(ctx, error, logger);
  sendPrepared(ctx as unknown as Context, headers);
};

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

/** The `X-Request-Id` of the request if it is harmless, otherwise a new one. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const sent = headers['x-request-id'];
  // A client may send a key in this header by mistake, and the log must not contain it.
  const harmless = typeof sent === 'string' && HARMLESS.test(sent) && !holdsKey(sent);
  return harmless ? sent : newRequestId();
};
