/**
 * The middleware of every request, in order; read from top to bottom.
 *
 * Each step either passes on or throws an `ApiError`. Nothing is written before `deliver` writes all of it, so
 * an error keeps the headers that the earlier steps have earned it.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { SharedCache } from '../contracts/cache.js';
import type { Limiter } from '../contracts/limiter.js';
import type { ServiceState } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors, StorageError } from '../errors.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { CallerAddress } from './caller-address.js';
import { errorReply } from './error-reply.js';
import { Exchange, type Reply } from './exchange.js';
import { ALLOW, type CommonHeaders, limitHead } from './headers.js';
import { chooseEncoding, type Encoding } from './negotiation.js';
import { JSON_TYPE, jsonRepresentation, Representation } from './representation.js';
import { requestId } from './request-id.js';
import type { RouteTable, ServedRoute } from './route-table.js';
import type { CurrentSnapshot } from './served-snapshot.js';

export interface PipelineParts {
  readonly routes: RouteTable;
  readonly snapshots: CurrentSnapshot;
  readonly keys: KeyRing;
  readonly limiter: Limiter;
  readonly cache: SharedCache;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly headers: CommonHeaders;
  readonly addressOf: CallerAddress;
  readonly serviceState: () => ServiceState;
  /** Told of every finished exchange, for metrics. */
  readonly observe: (exchange: Exchange, status: number) => void;
  readonly requestsPerMinute: number;
  readonly realm: string;
  readonly compression: boolean;
}

export const pipeline = (parts: PipelineParts): Middleware =>
  compose([deliver(parts), identify(parts), limit(parts), authorize(parts), checkRequest(parts), answer(parts)]);

/** Resolves the URL, lets the other steps decide, then writes the response and the log line. */
const deliver = ({ routes, headers, logger, observe }: PipelineParts): Middleware => {
  return async (ctx, next) => {
    ctx.respond = false;
    const exchange = new Exchange(requestId(ctx.req), ctx.req, ctx.res, routes.resolve(ctx.req.url ?? '/'));
    ctx.exchange = exchange;
    let reply: Reply;
    try {
      await next();
      reply = exchange.reply ?? koaReply(ctx.status, ctx.body);
    } catch (error) {
      reply = errorReply(error, logger, exchange.id);
    }
    write(exchange, reply, headers);
    observe(exchange, reply.status);
  };
};

/** Whose request it is: its key's where a valid one was sent, else its address's. */
const identify = ({ keys, addressOf, requestsPerMinute }: PipelineParts): Middleware => {
  return (ctx, next) => {
    const { exchange } = ctx;
    const identity = keys.identify(credentialsOf(exchange.request));
    if (identity.kind === 'key') {
      const key = identity.record;
      exchange.caller = { subject: `key:${key.id}`, limit: key.limit_per_minute ?? requestsPerMinute, key };
    } else {
      exchange.invalidKey = identity.kind === 'invalid';
      exchange.caller = { subject: `ip:${addressOf(exchange.request)}`, limit: requestsPerMinute, key: undefined };
    }
    return next();
  };
};

/** Node keeps the first of two such headers; which of them a proxy before it believed, nobody knows. */
const credentialsOf = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') count++;
  }
  return count > 1 ? 'more than one' : headers.authorization;
};

/** Counts the request, and refuses it past the caller's limit. */
const limit = ({ limiter }: PipelineParts): Middleware => {
  return (ctx, next) => {
    const { exchange } = ctx;
    if (exchange.match.route?.limited === false) return next();
    const { subject, limit } = exchange.caller!;
    const decision = limiter.take(subject, limit);
    if (!(decision instanceof Promise)) return admit(exchange, decision, next);
    return decision.then((decided) => admit(exchange, decided, next));
  };
};

const admit = (exchange: Exchange, decision: NonNullable<Exchange['decision']>, next: () => Promise<void>) => {
  exchange.decision = decision;
  if (!decision.allowed) {
    const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
    throw new ApiError(errors.rate_limited, undefined, { headers: { 'Retry-After': String(seconds) } });
  }
  return next();
};

/** Refuses requests without a valid key where the route needs one. OPTIONS asks about methods, not data. */
const authorize = ({ realm }: PipelineParts): Middleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, invalidKey, match, request } = ctx.exchange;
    if (match.route?.needsKey && !caller?.key && isRead(request.method)) {
      throw invalidKey
        ? new ApiError(errors.invalid_api_key, undefined, invalid)
        : new ApiError(errors.missing_api_key, undefined, missing);
    }
    return next();
  };
};

/** Methods, addresses, parameters and `Accept`: what can be refused without asking anybody. */
const checkRequest = ({ headers }: PipelineParts): Middleware => {
  return (ctx, next) => {
    const { exchange } = ctx;
    const { match, request } = exchange;
    if (hasBody(request)) {
      exchange.response.shouldKeepAlive = false;
      if (isRead(request.method)) throw new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
    }
    if (match.route && request.method === 'OPTIONS') {
      exchange.reply = { status: 204, head: headers.options };
      return;
    }
    if (match.route && !isRead(request.method)) {
      throw new ApiError(errors.method_not_allowed, undefined, { headers: { Allow: ALLOW } });
    }
    if (match.fault) throw match.fault;
    if (!match.route.chooseMediaType(request.headers.accept)) throw new ApiError(errors.not_acceptable);
    return next();
  };
};

const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

const isRead = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD';

/** Runs the group's own middleware, if it has any, around the route's answer. */
const answer = (parts: PipelineParts): Middleware => {
  const respond: Middleware = (ctx) => {
    const { exchange } = ctx;
    const { match } = exchange;
    if (match.fault) throw match.fault;
    if (match.route.shared) return answerShared(parts, exchange, match.route, match.input);
    if (match.route.route.kind === 'service') return answerService(parts, exchange, match.route, match.input);

    const served = parts.snapshots.get();
    if (!served) throw new StorageError('unavailable', 'No snapshot has been published yet');
    exchange.snapshotVersion = served.version;
    const representation = served.answer({ shape: match.shape, route: match.route.route, input: match.input });
    if (representation instanceof Promise) {
      return representation.then((computed) => negotiate(parts, exchange, computed));
    }
    exchange.cacheHit = true;
    return negotiate(parts, exchange, representation);
  };
  const groups = new Map(
    parts.routes.routes
      .filter(({ middleware }) => middleware.length > 0)
      .map((route) => [route, compose([...route.middleware, respond])]),
  );
  return (ctx, next) => {
    const { route } = ctx.exchange.match;
    const group = route && groups.get(route);
    return (group ?? respond)(ctx, next);
  };
};

/** Settles on 304 or 200, and on an encoding. */
const negotiate = (
  { compression }: PipelineParts,
  exchange: Exchange,
  representation: Representation,
): void | Promise<void> => {
  const { headers } = exchange.request;
  const encoding: Encoding = compression
    ? chooseEncoding(headers['accept-encoding'] as string | undefined)
    : 'identity';
  const settle = (encoded: Representation['identity']) => {
    exchange.reply = representation.isFresh(headers['if-none-match'], headers['if-modified-since'])
      ? { status: 304, head: encoded.notModifiedHead }
      : { status: 200, head: encoded.head, body: encoded.body };
  };
  const encoded = representation.encoding(encoding);
  return encoded instanceof Promise ? encoded.then(settle) : settle(encoded);
};

/** Representations of objects that handlers answer with again and again, such as a document built once. */
const kept = new WeakMap<object, Representation>();

/** Asks the service itself. */
const answerService = async (
  parts: PipelineParts,
  exchange: Exchange,
  { route }: ServedRoute,
  input: object,
): Promise<void> => {
  if (route.kind !== 'service') return;
  const service = parts.serviceState();
  const data = (await route.handler(input as never, { service })) as object;
  let representation = kept.get(data);
  if (!representation) {
    representation = jsonRepresentation(data, {
      lastModified: service.startedAt,
      headers: ['Cache-Control', 'private, no-cache'],
    });
    kept.set(data, representation);
  }
  await negotiate(parts, exchange, representation);
};

/** One answer for all replicas and for shared caches, for as long as the route says. */
const answerShared = async (
  parts: PipelineParts,
  exchange: Exchange,
  { route, pattern }: ServedRoute,
  input: object,
): Promise<void> => {
  if (route.kind !== 'service' || route.sharedSeconds === undefined) return;
  const { value, ageSeconds } = await parts.cache.getOrBuild(
    `${pattern} ${JSON.stringify(input)}`,
    route.sharedSeconds,
    async () => JSON.stringify(await route.handler(input as never, { service: parts.serviceState() })),
  );
  const age = Math.floor(ageSeconds);
  const left = Math.max(0, route.sharedSeconds - age);
  const built = new Date(parts.clock.now() - age * 1000);
  const representation = new Representation(Buffer.from(value), JSON_TYPE, {
    lastModified: built,
    headers: ['Cache-Control', `public, max-age=${left}`, 'Age', String(age)],
  });
  await negotiate(parts, exchange, representation);
};

/** What a plugin's own middleware left in Koa's context, where it answered instead of the route. */
const koaReply = (status: number, body: unknown): Reply => {
  if (body === undefined || body === null) throw new ApiError(errors.internal_error);
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, head: ['Content-Length', String(bytes.length)], body: bytes };
};

const write = ({ id, match, decision, request, response }: Exchange, reply: Reply, headers: CommonHeaders): void => {
  if (response.headersSent || response.destroyed) return;
  const limits = decision && !match.route?.shared ? limitHead(decision) : [];
  response.writeHead(reply.status, [
    ...reply.head,
    ...limits,
    'X-Request-Id',
    id,
    ...headers.always(request.headers.origin),
  ]);
  response.end(request.method === 'HEAD' ? undefined : reply.body);
};
