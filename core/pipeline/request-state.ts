/**
 * What is known of one request: its ids, its endpoint, its caller. Middleware pass it on to each other as `ctx.state`,
 * and the log gets a line of it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Config } from '../config/schema.js';
import type { Decision } from '../contracts/limiter.js';
import type { TraceParent } from '../contracts/observer.js';
import type { CallerAccount, KeyHolder, ServiceRequest } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import type { CallerAddress } from '../edge/caller-address.js';
import type { Caller } from '../keys/authenticator.js';
import { holdsKey } from '../keys/key.js';
import { threeDecimals } from '../response/headers.js';
import type { Format } from '../response/representation.js';
import type { Match } from '../routes/route-table.js';
import { memoize } from '../util/lru-map.js';

export class RequestState {
  /** Milliseconds since the process began. */
  readonly startedAt = performance.now();
  /** From `startedAt` to the response being written, for observers. */
  durationMs = 0;
  /**
   * The endpoint and input of the URL; undefined if middleware around the service have responded before `findEndpoint`.
   */
  match: Match | undefined;
  caller: Caller | undefined;
  /** Credentials were sent and are not valid. */
  invalidKey = false;
  decision: Decision | undefined;
  /** The format of the representation. */
  format: Format | undefined;
  /** Whether the representation was cached. */
  cacheHit = false;
  snapshotVersion: string | undefined;

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

const SECRET = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** For middleware: whose key the request of a Koa context has; null without a valid one, or before it is looked up. */
export const callerOf = ({ state }: { readonly state: Partial<RequestState> }): KeyHolder | null => {
  const key = state.caller?.key;
  return key ? { id: key.id, tier: key.tier } : null;
};

const accountOf = ({ state }: { readonly state: Partial<RequestState> }): CallerAccount | null => {
  const { subject, limit, tier } = state.caller ?? {};
  if (subject === undefined || limit === undefined || !tier?.quotas) return null;
  return { subject, limit, tier: tier.name, quotas: tier.quotas };
};

export const serviceRequest = (ctx: {
  readonly state: Partial<RequestState>;
  readonly req: { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };
}): ServiceRequest => ({
  caller: callerOf(ctx),
  account: accountOf(ctx),
  get headers() {
    const given = Object.entries(ctx.req.headers).filter(([name]) => !SECRET.has(name));
    return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  },
});

/** Version, trace id, parent id, flags; later versions may have more after another dash. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const SAMPLED = 1;

/**
 * The trace by the header `traceparent` of W3C Trace Context (level 1, section 3.2).
 * Undefined where the header is absent or not valid, which is then ignored.
 */
export const traceParent = (header: string | string[] | undefined): TraceParent | undefined => {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(header) ?? [];
  // Version 00 has nothing more.
  if (traceId === undefined || parentId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags!, 16) & SAMPLED) === SAMPLED };
};

/** The trace id, 32 hex digits. */
export const traceId = (header: string | string[] | undefined): string | undefined => traceParent(header)?.traceId;

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

// A random part for each process and a counter for each request, so that no request waits for randomness.
const processId = randomBytes(8).toString('hex');
let count = 0;

export const newRequestId = (): string => `${processId}-${(++count).toString(36)}`;

/** The `X-Request-Id` that was sent, if it is harmless; otherwise a new one. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  // A key, or the secret part of one, that was sent in this header by mistake must not get into the log.
  const harmless = typeof given === 'string' && HARMLESS.test(given) && !holdsKey(given);
  return harmless ? given : newRequestId();
};

/** JSON strings of names, memoized since few names occur. */
const quoted = memoize((name) => JSON.stringify(name));

const text = (name: string | null | undefined): string => (name === undefined || name === null ? 'null' : quoted(name));

/**
 * The members of a request's log line, written as JSON text directly: in a sixth of the time that serializing an object
 * takes.
 */
const members = ({ req, res, state }: ServiceContext): string => {
  const { id, match, caller, snapshotVersion, cacheHit, durationMs } = state;
  const trace = traceId(req.headers['traceparent']);
  // Ids need no escaping: see `requestId`.
  return `"requestId":"${id}","method":${text(req.method)},"route":${text(match?.endpoint?.pattern)},"status":${res.statusCode},"ms":${threeDecimals(durationMs)},"key":${caller?.loggedKey ?? 'null'},"snapshot":${text(snapshotVersion)},"cached":${cacheHit},"trace":${trace === undefined ? 'null' : `"${trace}"`}`;
};

/** `203.0.113.7` is of the network `203.0.113.0/24`, `2001:db8:0:1::/64` of `2001:db8:0::/48`. */
const networkOf = (address: string): string => {
  if (!address.includes(':')) return address.replace(/\.\d+$/, '.0/24');
  return `${address.split(':').slice(0, 3).join(':')}::/48`;
};

/**
 * Writes one log line for each request, with the key's id, the route without its query, and as much of the caller's
 * address as the configuration allows.
 * @param addressOf as it counts against limits: an IPv4 address whole, an IPv6 one as its /64 network
 */
export const requestLog = (
  logger: Logger,
  addresses: Config['log']['addresses'] = 'none',
  addressOf: CallerAddress = () => 'unknown',
): ((ctx: ServiceContext) => void) => {
  const info =
    logger.infoJson?.bind(logger) ??
    ((json: string, message: string): void => logger.info(JSON.parse(`{${json}}`) as object, message));
  if (addresses === 'none') return (ctx) => info(members(ctx), 'request');
  const shown = addresses === 'full' ? (address: string) => address : networkOf;
  // Addresses are of harmless characters: see `caller-address.ts`.
  return (ctx) => info(`${members(ctx)},"address":"${shown(addressOf(ctx.req))}"`, 'request');
};
