/** Koa with the service's error body, prepared bodies, and trusted proxies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Koa, { type Context, type DefaultContext, type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { Logger } from '../contracts/runtime.js';
import { setError } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { acceptPrepared, sendPrepared } from '../response/respond.js';
import { RequestState, requestId, type ServiceContext, type ServiceMiddleware } from './state.js';

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
