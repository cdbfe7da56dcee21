/**
 * The middleware of every request, in order; read from top to bottom.
 *
 * Each step either passes on, settles on a reply, or throws an `ApiError`. Nothing is written before `deliver`
 * writes all of it, so that an error keeps the headers that the earlier steps have earned it. A request whose answer
 * is kept goes through the same steps as any other: its URL has been resolved and its input checked before
 * (`route-table.ts`), its key hashed before (`key-ring.ts`), its body serialised and compressed before
 * (`served-snapshot.ts`, `representation.ts`), so that what is left are look-ups, one decision of the limiter, and
 * the writing of bytes.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { KeyRecord } from '../contracts/keys.js';
import type { Decision, Limiter } from '../contracts/limiter.js';
import type { MountContext } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import type { KeyRing } from '../keys/key-ring.js';
import { type Answer, type AnswerParts, answerer } from './answers.js';
import type { CallerAddress } from './caller-address.js';
import { errorReply } from './error-reply.js';
import { type Caller, Exchange, type Reply } from './exchange.js';
import { allowOf, type CommonHeaders, limitHead } from './headers.js';
import { chooseEncoding, type Encoding } from './negotiation.js';
import type { Representation } from './representation.js';
import { requestId } from './request-id.js';
import type { RouteTable } from './route-table.js';

export interface PipelineParts extends AnswerParts {
  readonly routes: RouteTable;
  readonly keys: KeyRing;
  readonly limiter: Limiter;
  readonly logger: Logger;
  readonly headers: CommonHeaders;
  readonly addressOf: CallerAddress;
  /** For mounts: see `MountContext`. */
  readonly mountContext: MountContext;
  /** Told of every finished exchange, for log and metrics. */
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
  const callers = new WeakMap<KeyRecord, Caller>();
  const callerOf = (key: KeyRecord): Caller => {
    let caller = callers.get(key);
    if (!caller) {
      caller = {
        subject: `key:${key.shares_limit_of ?? key.id}`,
        limit: key.limit_per_minute ?? requestsPerMinute,
        key,
      };
      callers.set(key, caller);
    }
    return caller;
  };
  return (ctx, next) => {
    const { exchange } = ctx;
    const identity = keys.identify(credentialsOf(exchange.request));
    if (identity.kind === 'key') exchange.caller = callerOf(identity.record);
    else {
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
const limit = ({ limiter, logger }: PipelineParts): Middleware => {
  const settle = (exchange: Exchange, decision: Decision, next: () => Promise<void>): Promise<void> | undefined => {
    exchange.decision = decision;
    if (decision.allowed) return next();
    // Not thrown: a refused request must not cost more than an admitted one, and a stack trace does.
    const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
    const { status, head, body } = rateLimited;
    exchange.reply = { status, head: [...head, 'Retry-After', String(seconds)], body };
    return undefined;
  };
  const rateLimited = errorReply(new ApiError(errors.rate_limited), logger, '');
  return (ctx, next) => {
    const { exchange } = ctx;
    if (exchange.match.address?.limited === false) return next();
    const { subject, limit } = exchange.caller!;
    const decision = limiter.take(subject, limit);
    if (!(decision instanceof Promise)) return settle(exchange, decision, next);
    return decision.then((decided) => settle(exchange, decided, next));
  };
};

/** Refuses requests without a valid key where one is needed. OPTIONS asks about methods, not data. */
const authorize = ({ realm }: PipelineParts): Middleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, invalidKey, match, request } = ctx.exchange;
    if (match.address?.needsKey && !caller?.key && match.address.methods.includes(request.method ?? '')) {
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
    const { request, response } = exchange;
    const { address, fault, form } = exchange.match;
    const method = request.method ?? '';
    const body = hasBody(request);
    // A body that nobody reads would be taken for the next request.
    if (body && !address?.mount) response.shouldKeepAlive = false;
    if (address && method === 'OPTIONS') {
      exchange.reply = { status: 204, head: headers.options(address.methods) };
      return undefined;
    }
    if (address && !address.methods.includes(method)) {
      response.shouldKeepAlive = !body;
      const sentence = address.mount && `This address takes ${allowOf(address.methods)}.`;
      throw new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(address.methods) });
    }
    if (body && (!address || READS.has(method))) {
      throw new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
    }
    if (fault) throw fault;
    if (!address.mount) {
      exchange.form = form ?? address.chooseForm(request.headers.accept);
      if (!exchange.form) throw new ApiError(errors.not_acceptable);
    }
    return next();
  };
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** Runs the group's own middleware, if it has any, around the route's answer; or the mount's handler. */
const answer = (parts: PipelineParts): Middleware => {
  const answerRoute = answerer(parts);
  const respond: Middleware = (ctx) => {
    const { exchange } = ctx;
    const { match, form } = exchange;
    if (match.input === undefined || !form) return undefined;
    const answered = answerRoute(match, form);
    return answered instanceof Promise ? answered.then((found) => settle(exchange, found)) : settle(exchange, answered);
  };
  const settle = (exchange: Exchange, { representation, snapshotVersion }: Answer): void | Promise<void> => {
    exchange.snapshotVersion = snapshotVersion;
    if (representation instanceof Promise) {
      return representation.then((computed) => negotiate(parts, exchange, computed));
    }
    exchange.cacheHit = true;
    return negotiate(parts, exchange, representation);
  };
  const groups = new Map<unknown, Middleware>(
    parts.routes.routes
      .filter(({ middleware }) => middleware.length > 0)
      .map((route) => [route, compose([...route.middleware, respond])]),
  );
  return (ctx, next) => {
    const { exchange } = ctx;
    const { address } = exchange.match;
    if (!address?.mount) return (groups.get(address) ?? respond)(ctx, next);
    ctx.status = 404;
    // Its handler may write by itself: what every response carries has to be there before.
    for (const [name, value] of commonPairs(exchange, parts.headers)) ctx.append(name, value);
    const { contentSecurityPolicy } = address.mount;
    if (contentSecurityPolicy) ctx.set('Content-Security-Policy', contentSecurityPolicy);
    // The server leaves it to whoever takes the body.
    if (exchange.request.headers.expect?.toLowerCase() === '100-continue') exchange.response.writeContinue();
    return address.mount.handler(ctx, parts.mountContext);
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
      : { status: 200, head: encoded.head, body: encoded.payload };
  };
  const encoded = representation.encoding(encoding);
  return encoded instanceof Promise ? encoded.then(settle) : settle(encoded);
};

/** What a mount, or a plugin's own middleware that answered instead of the route, left in Koa's context. */
const koaReply = (status: number, body: unknown): Reply => {
  const bytes =
    body === undefined || body === null
      ? undefined
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, head: ['Content-Length', String(bytes?.length ?? 0)], body: bytes };
};

const commonHead = ({ id, match, decision, request }: Exchange, headers: CommonHeaders): string[] => [
  ...(decision && !match.address?.shared ? limitHead(decision) : []),
  'X-Request-Id',
  id,
  ...headers.always(request.headers.origin),
];

function* commonPairs(exchange: Exchange, headers: CommonHeaders): Generator<readonly [string, string]> {
  const head = commonHead(exchange, headers);
  for (let i = 0; i < head.length; i += 2) yield [head[i]!, head[i + 1]!];
}

const write = (exchange: Exchange, reply: Reply, headers: CommonHeaders): void => {
  const { match, request, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const written = match.address?.mount && response.hasHeader('X-Request-Id');
  response.writeHead(reply.status, written ? [...reply.head] : [...reply.head, ...commonHead(exchange, headers)]);
  if (request.method === 'HEAD' || reply.body === undefined) response.end();
  else response.end(reply.body, 'latin1');
};
