/**
 * The Koa application of a service: Koa with the service's error body, and with responses whose body may be prepared.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Context, type DefaultContext, type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { Logger } from '../contracts/runtime.js';
import { forwardedCaller, type TrustProxy, trustedSocket } from '../edge/caller-address.js';
import { setError } from '../response/error-response.js';
import { PreparedResponse, sendBody, setLines } from '../response/prepared-response.js';
import { Prepared, Representation } from '../response/representation.js';
import { RequestState, requestId, type ServiceContext, type ServiceMiddleware } from './request-state.js';

/** Handles a request, then calls `ended`; the promise never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse, ended?: () => void) => Promise<void>;

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

export class ServiceKoa extends Koa<RequestState> {
  readonly #logger: Logger;
  readonly #around: Middleware[] = [];
  /** Where proxies are trusted by their networks. */
  readonly #networks:
    | { caller: ReturnType<typeof forwardedCaller>; isProxy: ReturnType<typeof trustedSocket> }
    | undefined;
  #isComplete = false;
  #run: ((ctx: ServiceContext) => Promise<void>) | undefined;

  constructor({ logger, trustProxy }: { readonly logger: Logger; readonly trustProxy: TrustProxy }) {
    super();
    this.#logger = logger;
    acceptPrepared(this.response);
    // Koa's own handler would write a text. It is called for errors while Koa writes a body, and for connections that
    // end.
    this.context.onerror = function (this: ServiceContext, error: unknown): void {
      if (error !== null && error !== undefined) fail(this, error, logger);
    };
    // `catchErrors` has logged them already; without a listener, Node would throw an emitted error.
    this.on('error', () => undefined);
    // Makes Koa's `ctx.ip` the caller's address, by the same proxies as the limits use.
    this.proxy = trustProxy !== 0;
    if (typeof trustProxy === 'number') this.maxIpsCount = trustProxy;
    else this.#networks = { caller: forwardedCaller(trustProxy), isProxy: trustedSocket(trustProxy) };
  }

  /**
   * The middleware around the service: those given here, then those added by `use` after `complete`.
   * @param errors handles what they throw; does not run without such middleware
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
      // Koa believes `X-Forwarded-Host` and `X-Forwarded-Proto` of anybody, since it knows no networks.
      if (!this.#networks.isProxy(request.socket)) for (const name of FORWARDED) delete request.headers[name];
      ctx.request.ip = this.#networks.caller(request) ?? request.socket.remoteAddress ?? '';
    }
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

/** The properties added to Koa's response. */
export interface PreparedBody {
  /** The prepared body that was set; undefined for an ordinary body. */
  prepared?: Prepared | Representation | undefined;
  /** The ordinary body that middleware have read in its place. */
  shown?: unknown;
  /** The representation of which the present body is an encoding, when middleware have compressed it. */
  encoded?: Representation | undefined;
}

type Body = PropertyDescriptor & Required<Pick<PropertyDescriptor, 'get' | 'set'>>;

/**
 * Makes Koa's `ctx.body` accept a `Representation` or `Prepared` bytes. They are sent as they are unless middleware
 * read `ctx.body`, which then shows an ordinary body: an object for JSON, a text, or bytes.
 * @param prototype of the responses of one application
 */
const acceptPrepared = (prototype: Koa.BaseResponse): void => {
  const inherited = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(prototype), 'body') as Body;
  Object.defineProperty(prototype, 'body', {
    configurable: true,
    get(this: Koa.Response & PreparedBody): unknown {
      if (this.prepared === undefined) return inherited.get.call(this);
      this.shown ??= contentOf(this, identityOf(this.prepared));
      return this.shown;
    },
    set(this: Koa.Response & PreparedBody, body: unknown): void {
      if (body instanceof Prepared || body instanceof Representation) prepare(this, body);
      else {
        if (this.prepared !== undefined && !isSame(this.prepared, body)) replace(this, this.prepared, body);
        if (this.prepared === undefined) inherited.set.call(this, body);
      }
    },
  });
};

export const identityOf = (body: Prepared | Representation): Prepared =>
  body instanceof Representation ? body.identity : body;

const prepare = (response: Koa.Response & PreparedBody, body: Prepared | Representation): void => {
  const { res } = response;
  const { status, head } = identityOf(body);
  response.prepared = body;
  if (response.shown !== undefined) response.shown = undefined;
  if (response.encoded !== undefined) response.encoded = undefined;
  if (!res.headersSent) res.statusCode = status;
  setHead(res, head);
};

const setHead = (res: ServerResponse, head: string): void => {
  if (res instanceof PreparedResponse) res.setHead(head);
  else setLines(res, head);
};

/** Adds lines that every response carries. */
export const addLines = (res: ServerResponse, lines: string): void => {
  if (res instanceof PreparedResponse) res.addLines(lines);
  else setLines(res, lines);
};

const contentOf = ({ type }: Koa.Response, { payload }: Prepared): unknown => {
  if (payload === undefined) return undefined;
  if (type === 'application/json') return JSON.parse(String(payload));
  return type.startsWith('text/') ? String(payload) : payload;
};

/** Whether a body given as text or bytes is the prepared one. */
const isSame = (prepared: Prepared | Representation, body: unknown): boolean => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
  const { payload = '' } = identityOf(prepared);
  return Buffer.from(body).equals(Buffer.from(payload));
};

/** Removes the prepared body's validators, unless the new body is the same content in an encoding. */
const replace = (response: Koa.Response & PreparedBody, prepared: Prepared | Representation, body: unknown): void => {
  const isEncoding = response.res.hasHeader('Content-Encoding') && !wasChanged(response);
  response.prepared = undefined;
  setHead(response.res, '');
  // Koa keeps a status that was set explicitly, and uses 200 otherwise.
  response.status = response.res.statusCode;
  response.remove('Content-Length');
  if (!(prepared instanceof Representation) || body === null || body === undefined) return;
  if (response.get('ETag') !== prepared.identity.etag) return;
  if (isEncoding) {
    response.encoded = prepared;
    response.set('ETag', `W/${prepared.identity.etag}`);
  } else {
    response.remove('ETag');
    response.remove('Last-Modified');
  }
};

/** Whether middleware have changed the object that they read. */
export const wasChanged = ({ prepared, shown }: PreparedBody): boolean => {
  if (prepared === undefined || typeof shown !== 'object' || shown === null || Buffer.isBuffer(shown)) return false;
  return JSON.stringify(shown) !== String(identityOf(prepared).payload);
};
