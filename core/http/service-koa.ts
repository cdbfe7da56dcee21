/** The Koa application of a service: Koa's own, but for bodies that are prepared, and errors that have our body. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Context, type DefaultContext, type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { Logger } from '../contracts/runtime.js';
import { setError } from './error-response.js';
import { acceptPrepared, type PreparedBody } from './koa-response.js';
import type { Prepared } from './prepared.js';
import { sendBody } from './prepared-response.js';
import { requestId } from './request-id.js';
import { RequestState, type ServiceContext, type ServiceMiddleware } from './request-state.js';

/** Answers a request, then calls `ended`; the promise never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse, ended?: () => void) => Promise<void>;

export class ServiceKoa extends Koa<RequestState> {
  readonly #logger: Logger;
  readonly #around: Middleware[] = [];
  #isComplete = false;
  #run: ((ctx: ServiceContext) => Promise<void>) | undefined;

  constructor({ logger, trustProxy }: { readonly logger: Logger; readonly trustProxy: number }) {
    super();
    this.#logger = logger;
    acceptPrepared(this.response);
    // Koa's own would write a text. It is called for what fails while Koa writes a body, and for connections that end.
    this.context.onerror = function (this: ServiceContext, error: unknown): void {
      if (error !== null && error !== undefined) fail(this, error, logger);
    };
    // `errors` has logged them; without a listener, Node would throw those that are emitted for other listeners.
    this.on('error', () => undefined);
    // Koa's `ctx.ip` is then the caller's address, by the same count of proxies as the limits are.
    this.proxy = trustProxy > 0;
    this.maxIpsCount = trustProxy;
  }

  /**
   * The middleware around the service: those given here, then what `use` is given once the application is complete.
   * @param errors answers what they throw; without any of them, it is passed over too
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
    if (this.#run) throw new Error('Add middleware by koa.use() before the service listens: it has answered requests.');
    this.#around.push(middleware as unknown as Middleware);
    return this as unknown as Koa<RequestState & State, DefaultContext & Context>;
  }

  override createContext<State = RequestState>(
    request: IncomingMessage,
    response: ServerResponse,
  ): ParameterizedContext<State> {
    const ctx = super.createContext(request, response);
    ctx.state = new RequestState(requestId(request), false);
    return ctx as ParameterizedContext<State>;
  }

  override callback(): ReturnType<Koa['callback']> {
    const handle: Handle = (request, response, ended) =>
      this.handle(this.createContext<RequestState>(request, response), ended);
    return handle as ReturnType<Koa['callback']>;
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

const fail = (ctx: ServiceContext, error: unknown, logger: Logger): void => {
  ctx.app.emit('error', error, ctx);
  if (ctx.headerSent || !ctx.writable) {
    logger.debug({ err: error, requestId: ctx.state.id }, 'a response ended early');
    ctx.res.destroy();
    return;
  }
  setError(ctx, error, logger);
  sendBody(ctx.res, ((ctx.response as PreparedBody).prepared as Prepared).payload);
};
