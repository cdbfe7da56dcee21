/** The middleware that every request runs through, in the order in which `createKoa` adds them. */

import type { IncomingMessage } from 'node:http';
import Koa, { type Middleware } from 'koa';
import { includes, type Tier, type Tiers, USAGE_PATH } from '../config/tiers.js';
import type { Decision, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import type { CallerAddress, TrustProxy } from '../edge/caller-address.js';
import { ApiError, errors } from '../errors.js';
import type { Authenticator, Caller, KeyIdentity } from '../keys/authenticator.js';
import { familyOf } from '../keys/key.js';
import { errorResponse, setError, statusResponse } from '../response/error-response.js';
import { allowOf, type CommonHeaders, limitLines } from '../response/headers.js';
import { PreparedResponse, sendBody } from '../response/prepared-response.js';
import { chooseEncoding, type Encoded, Prepared, Representation } from '../response/representation.js';
import type { RouteTable } from '../routes/route-table.js';
import type { RequestState, ServiceContext, ServiceMiddleware } from './request-state.js';
import { addLines, identityOf, type PreparedBody, wasChanged } from './service-koa.js';

/** What the middleware are made with; `createKoa` gives each of them all of it. */
export interface KoaDependencies {
  readonly logger: Logger;
  /** The headers that every response has. */
  readonly headers: CommonHeaders;
  /** Log, metrics and plugins' observers. */
  readonly observers: readonly ((ctx: ServiceContext) => void)[];
  /** Of all plugins: runs for every request, unlike a plugin's `middleware`, which runs for its own endpoints. */
  readonly serviceMiddleware: readonly Middleware[];
  readonly routes: RouteTable;
  readonly keys: Authenticator;
  readonly addressOf: CallerAddress;
  /** How many proxies stand before the service, or the networks that they are in. */
  readonly trustProxy: TrustProxy;
  /** Limits and quotas of callers; each reload of the configuration replaces `tiers` by a new object. */
  readonly settings: { readonly tiers: Tiers };
  readonly limiter: Limiter;
  /** Named in the `WWW-Authenticate` header of a 401. */
  readonly realm: string;
  /** Whether responses are compressed. */
  readonly compression: boolean;
}

/**
 * Calls the observers (log, metrics, plugins) once a response has been handed to Node; inner requests are not observed.
 */
export const observe =
  ({ observers }: Pick<KoaDependencies, 'observers'>): ServiceMiddleware =>
  (ctx, next) =>
    next().then(() => {
      const { state } = ctx;
      if (state.isInner) return;
      state.durationMs = performance.now() - state.startedAt;
      for (const tell of observers) tell(ctx);
    });

type Response = ServiceContext['response'] & PreparedBody;

/** Writes the response, as a 304 or compressed if the request allows it. */
export const respond = ({
  compression,
  headers,
}: Pick<KoaDependencies, 'compression' | 'headers'>): ServiceMiddleware => {
  /**
   * Sends a prepared body with its prepared header lines or, if middleware have read or changed headers or the status,
   * with those that Node now has.
   */
  const send = ({ res }: ServiceContext, prepared: Prepared): void => {
    if (res instanceof PreparedResponse) res.sendPrepared(prepared, headers.connectionLines);
    else sendBody(res, prepared.payload);
  };

  const sendEncoded = (ctx: ServiceContext, representation: Representation, encoded: Encoded): void => {
    const { res } = ctx;
    const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = ctx.req.headers;
    const prepared = representation.isFresh(ifNoneMatch, ifModifiedSince) ? encoded.notModified : encoded;
    if (!(res instanceof PreparedResponse) || res.isOrdinary) describe(ctx, encoded, prepared);
    send(ctx, prepared);
  };

  const sendRepresentation = (ctx: ServiceContext, representation: Representation): void | Promise<void> => {
    if (!isNegotiable(ctx, representation)) return send(ctx, representation.identity);
    const accepted = ctx.req.headers['accept-encoding'] as string | undefined;
    const encoded = representation.encoding(compression ? chooseEncoding(accepted) : 'identity');
    return encoded instanceof Promise
      ? encoded.then((settled) => sendEncoded(ctx, representation, settled))
      : sendEncoded(ctx, representation, encoded);
  };

  const write = (ctx: ServiceContext): void | Promise<void> => {
    if (ctx.respond === false || ctx.res.writableEnded) return;
    const response: Response = ctx.response;
    if (response.shown !== undefined && wasChanged(response)) ctx.body = response.shown;
    const { prepared, encoded } = response;
    if (ctx.res.headersSent) {
      if (!prepared) return respondByKoa(ctx);
      return sendBody(ctx.res, identityOf(prepared).payload);
    }
    if (prepared instanceof Representation) return sendRepresentation(ctx, prepared);
    if (prepared) return send(ctx, prepared);
    if (encoded?.isFresh(ctx.req.headers['if-none-match'], undefined)) leaveUnmodified(ctx);
    return respondByKoa(ctx);
  };

  return (ctx, next) => next().then(() => write(ctx));
};

/**
 * Whether middleware have left the representation's status, ETag and encoding unchanged, so that an encoding or a 304
 * may still be chosen.
 */
const isNegotiable = ({ res }: ServiceContext, { identity }: Representation): boolean =>
  res.statusCode === identity.status &&
  ((res instanceof PreparedResponse && !res.isOrdinary) ||
    (res.getHeader('ETag') === identity.etag && !res.hasHeader('Content-Encoding')));

/** Changes the headers for the chosen encoding, or for a 304. */
const describe = ({ res }: ServiceContext, { etag, encoding, body }: Encoded, { status }: Prepared): void => {
  res.statusCode = status;
  res.setHeader('ETag', etag);
  if (status === 304) {
    res.removeHeader('Content-Type');
    res.removeHeader('Content-Length');
  } else if (encoding !== 'identity') {
    res.setHeader('Content-Encoding', encoding);
    res.setHeader('Content-Length', body.length);
  }
};

const leaveUnmodified = (ctx: ServiceContext): void => {
  ctx.status = 304;
  ctx.body = null;
  ctx.remove('Content-Encoding');
};

/** Lets Koa write an ordinary body: text, bytes, an object or a stream. */
const respondByKoa = (ctx: ServiceContext): Promise<void> => {
  const { statusCode } = ctx.res;
  // Koa's `respond` is private: `handleRequest` reaches it, with a middleware that restores the status, which
  // `handleRequest` sets to 404.
  const { handleRequest } = Koa.prototype as unknown as { handleRequest: HandleRequest };
  return handleRequest.call(ctx.app, ctx, async () => {
    ctx.res.statusCode = statusCode;
  });
};

type HandleRequest = (ctx: ServiceContext, run: () => Promise<void>) => Promise<void>;

/** Adds the headers that every response has: request id, security, CORS. */
export const addCommonHeaders =
  ({ headers }: Pick<KoaDependencies, 'headers'>): ServiceMiddleware =>
  (ctx, next) => {
    addLines(ctx.res, headers.always(ctx.state.id, ctx.req.headers.origin));
    return next();
  };

/**
 * Turns errors thrown by the middleware below, and an error status without a body, into the error body of the API.
 * Where an error was thrown, the headers that describe the replaced body are removed; all others stay.
 */
export const catchErrors =
  ({ logger }: Pick<KoaDependencies, 'logger'>): ServiceMiddleware =>
  async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx)) ctx.body = statusResponse(ctx.status, logger, ctx.state.id);
    } catch (error) {
      setError(ctx, error, logger);
      ctx.app.emit('error', error, ctx);
    }
  };

/** Whether an error status still lacks a body; so does Koa's 404, when no middleware has responded. */
const lacksErrorBody = ({ res, response, respond }: ServiceContext): boolean => {
  if (res.statusCode < 400 || (response as PreparedBody).prepared !== undefined) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};

/**
 * Finds the endpoint and parses the input. A fault in the URL is left to `checkRequest`, since the limit and the key
 * are checked first.
 */
export const findEndpoint =
  ({ routes }: Pick<KoaDependencies, 'routes'>): ServiceMiddleware =>
  (ctx, next) => {
    ctx.state.match = routes.resolve(ctx.req.url ?? '/');
    return next();
  };

/** Finds the caller: the owner of a valid key, otherwise the address that the request came from. */
export const identify = ({
  keys,
  addressOf,
  settings,
}: Pick<KoaDependencies, 'keys' | 'addressOf' | 'settings'>): ServiceMiddleware => {
  const callerOf = (identity: KeyIdentity): Caller => {
    const { tiers } = settings;
    if (identity.caller?.tiers === tiers) return identity.caller;
    const { record: key } = identity;
    const tier = tiers.of(key);
    const limit = key.limit_per_minute ?? tier?.limit ?? tiers.limit;
    const loggedKey = JSON.stringify(key.id);
    identity.caller = { subject: `key:${familyOf(key)}`, limit, tier, key, loggedKey, tiers };
    return identity.caller;
  };
  return (ctx, next) => {
    const { state } = ctx;
    // A request that a mount makes already has the caller of the request that the mount handles; one of this process
    // has none.
    if (state.isInner) return next();
    const identity = keys.identify(credentialsOf(ctx.req));
    if (identity.kind === 'key') state.caller = callerOf(identity);
    else {
      state.invalidKey = identity.kind === 'invalid';
      const { tiers } = settings;
      const tier = tiers.anonymous;
      const subject = `ip:${addressOf(ctx.req)}`;
      const limit = tier?.limit ?? tiers.limit;
      state.caller = { subject, limit, tier, key: undefined, loggedKey: 'null', tiers };
    }
    return next();
  };
};

/** A repeated Authorization header is refused: the proxy before us may have used either one; Node keeps the first. */
const credentialsOf = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') count++;
  }
  return count > 1 ? 'more than one' : headers.authorization;
};

/**
 * Whether a caller asks for its own usage: such requests have a window of their own, and neither use up a quota nor are
 * part of the usage, so that asking how much is left costs nothing and is bounded all the same.
 */
const asksForUsage = ({ caller, invalidKey, match }: RequestState, method: string): boolean => {
  if (!caller?.tier?.quotas || invalidKey || match?.fault !== undefined) return false;
  const endpoint = match?.endpoint;
  return endpoint?.names.includes(USAGE_PATH) === true && endpoint.methods.includes(method);
};

/** Counts the request, and refuses it past the caller's limit or a quota. */
export const limit = ({
  limiter,
  logger,
  headers,
}: Pick<KoaDependencies, 'limiter' | 'logger' | 'headers'>): ServiceMiddleware => {
  const refusal = errorResponse(new ApiError(errors.rate_limited), logger, '');
  const quotaRefusal = errorResponse(new ApiError(errors.quota_exceeded), logger, '');
  const settle = (
    ctx: ServiceContext,
    decision: Decision,
    next: () => Promise<unknown>,
  ): Promise<unknown> | undefined => {
    ctx.state.decision = decision;
    // Responses that shared caches may store carry nothing about a caller.
    if (!ctx.state.match?.endpoint?.shared) addLines(ctx.res, limitLines(decision));
    if (decision.allowed) return next();
    // Prepared and not thrown: a stack trace would make a refused request cost more than an admitted one.
    const usedUp = decision.quotas?.filter(({ remaining }) => remaining === 0) ?? [];
    const { status, head, payload } = usedUp.length > 0 ? quotaRefusal : refusal;
    const resetMs = usedUp.length > 0 ? Math.max(...usedUp.map((quota) => quota.resetMs)) : decision.resetMs;
    ctx.body = new Prepared(status, `${head}Retry-After: ${Math.max(1, Math.ceil(resetMs / 1000))}\r\n`, payload);
    return undefined;
  };
  return (ctx, next) => {
    const { caller, isInner, match } = ctx.state;
    // A faulty request counts also at an endpoint without a limit, since its error costs more than the endpoint's own
    // response.
    if (isInner || (match?.endpoint?.limited === false && !faultOf(ctx, headers))) return next();
    const { subject, limit, tier } = caller!;
    const decision = asksForUsage(ctx.state, ctx.method)
      ? limiter.take(`${subject}${USAGE_PATH}`, limit)
      : limiter.take(subject, limit, tier?.quotas);
    return decision instanceof Promise
      ? decision.then((decided) => settle(ctx, decided, next))
      : settle(ctx, decision, next);
  };
};

/**
 * For endpoints that need a key: 401 without a valid key, unless the tier of callers without a key includes the
 * endpoint; 403 if the key's tier does not include it. OPTIONS and methods that the endpoint lacks pass.
 */
export const authorize = ({ realm }: Pick<KoaDependencies, 'realm'>): ServiceMiddleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, invalidKey, isInner, match } = ctx.state;
    const endpoint = match?.endpoint;
    if (!endpoint?.needsKey || !endpoint.methods.includes(ctx.method)) return next();
    // An inner request needs no key: the mount that makes it decides who may call. Only the caller's tier may still
    // forbid it.
    const mayEnter = isInner || caller?.key !== undefined || (caller?.tier !== undefined && !invalidKey);
    const isIncluded = caller?.tier === undefined || includes(caller.tier, endpoint.names);
    if (mayEnter && isIncluded) return next();
    if (caller?.tier && (caller.key || isInner)) throw forbidden(caller.tier);
    throw invalidKey
      ? new ApiError(errors.invalid_api_key, undefined, invalid)
      : new ApiError(errors.missing_api_key, undefined, missing);
  };
};

const forbidden = ({ name, endpoints }: Tier): ApiError => {
  const included = [...(endpoints ?? [])].join(', ');
  return new ApiError(
    errors.not_in_tier,
    `The tier "${name}" does not include this endpoint. It includes ${included}.`,
  );
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

/**
 * Finds the fault of a request, regardless of its caller; without one, sets `state.format` to the format of the
 * response.
 */
const faultOf = ({ req, state }: ServiceContext, headers: CommonHeaders): ApiError | undefined => {
  const { endpoint, fault, format } = state.match!;
  const method = req.method ?? '';
  if (endpoint && method === 'OPTIONS') return undefined;
  if (endpoint && !endpoint.methods.includes(method)) {
    const sentence = endpoint.mount && `This endpoint takes ${allowOf(endpoint.methods)}.`;
    return new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(endpoint.methods) });
  }
  if (hasBody(req) && (!endpoint || READS.has(method))) {
    return new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
  }
  if (fault) return fault;
  if (endpoint.mount) return undefined;
  state.format = format ?? endpoint.chooseFormat(req.headers.accept);
  return state.format ? undefined : new ApiError(errors.not_acceptable);
};

/**
 * Refuses a request that `findEndpoint` found invalid, or whose method, body or `Accept` its endpoint does not support;
 * responds to OPTIONS. It reads no data.
 */
export const checkRequest =
  ({ headers }: Pick<KoaDependencies, 'headers'>): ServiceMiddleware =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { endpoint } = state.match!;
    const method = req.method ?? '';
    const isBodyRead = endpoint?.mount && endpoint.methods.includes(method) && !READS.has(method);
    // An unread body would be taken for the next request, so the connection closes.
    if (!isBodyRead && hasBody(req)) res.shouldKeepAlive = false;
    const fault = faultOf(ctx, headers);
    if (fault) throw fault;
    if (endpoint && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(endpoint.methods, endpoint.mount?.requestHeaders));
      return undefined;
    }
    return next();
  };

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
