/** Header fields that do not depend on the answer. */
import { type Decision, WINDOW_MS } from '../contracts/limiter.js';
import { digits } from './digits.js';
import { linesOf } from './head.js';

/** The value of `Allow` for an address with these methods. */
export const allowOf = (methods: readonly string[]): string => [...methods, 'OPTIONS'].join(', ');

const EXPOSED = [
  'Age',
  'ETag',
  'Last-Modified',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Snapshot-Version',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

const SENT = 'Authorization, Accept, If-None-Match, If-Modified-Since, Traceparent, X-Request-Id';

/** A JSON API is to be read: not rendered, not framed, not guessed at. */
const SECURITY = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

export interface CorsOptions {
  readonly origin: string | readonly string[];
  readonly maxAgeSeconds: number;
}

/** What does not depend on the answer; where a text is given, its lines (see `head.ts`). */
export interface CommonHeaders {
  /** On every response. @param id the request's, of harmless characters (see `request-id.ts`) */
  always(id: string, origin: string | undefined): string;
  /** On one that Node does not write, as Node has them: the date, and whether the connection stays open. */
  connectionLines(isKept: boolean): string;
  /** On a 405. */
  allow(methods: readonly string[]): Readonly<Record<string, string>>;
  /** On the answer to OPTIONS. */
  options(methods: readonly string[]): string;
}

export interface CommonHeadersOptions {
  /** null: pages of other origins may not read. */
  readonly cors: CorsOptions | null;
  readonly keepAliveTimeoutMs: number;
}

export const commonHeaders = ({ cors, keepAliveTimeoutMs }: CommonHeadersOptions): CommonHeaders => ({
  always: always(readableBy(cors)),
  connectionLines: connectionLines(keepAliveTimeoutMs),
  allow: (methods) => ({ Allow: allowOf(methods) }),
  options: (methods) =>
    linesOf({
      Allow: allowOf(methods),
      ...(cors && {
        'Access-Control-Allow-Methods': allowOf(methods),
        'Access-Control-Allow-Headers': SENT,
        'Access-Control-Max-Age': String(cors.maxAgeSeconds),
      }),
    }),
});

const always =
  (linesFor: (origin: string | undefined) => string): CommonHeaders['always'] =>
  (id, origin) =>
    `X-Request-Id: ${id}\r\n${linesFor(origin)}`;

/** What browsers are told of who may read a response to a request from this origin, and of how. */
const readableBy = (cors: CorsOptions | null): ((origin: string | undefined) => string) => {
  if (!cors) {
    const closed = linesOf({ ...SECURITY, 'Cross-Origin-Resource-Policy': 'same-origin' });
    return () => closed;
  }
  const shared = {
    ...SECURITY,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Access-Control-Expose-Headers': EXPOSED,
  };
  if (cors.origin === '*') {
    const open = linesOf({ ...shared, 'Access-Control-Allow-Origin': '*' });
    return () => open;
  }
  const denied = linesOf({ ...shared, Vary: 'Origin' });
  const origins = typeof cors.origin === 'string' ? [cors.origin] : cors.origin;
  const allowed = new Map(
    origins.map((origin) => [origin, denied + linesOf({ 'Access-Control-Allow-Origin': origin })]),
  );
  return (origin) => (origin === undefined ? undefined : allowed.get(origin)) ?? denied;
};

/** `Date` has a resolution of one second: it is formatted once a second, and reading the clock is left to a timer. */
const connectionLines = (keepAliveTimeoutMs: number): CommonHeaders['connectionLines'] => {
  const kept = linesOf({
    Connection: 'keep-alive',
    'Keep-Alive': `timeout=${Math.floor(keepAliveTimeoutMs / 1000)}`,
  });
  const closing = linesOf({ Connection: 'close' });
  let lines: { readonly kept: string; readonly closing: string } | undefined;
  const forget = () => {
    lines = undefined;
  };
  return (isKept) => {
    if (lines === undefined) {
      const now = new Date();
      const date = linesOf({ Date: now.toUTCString() });
      lines = { kept: date + kept, closing: date + closing };
      setTimeout(forget, 1000 - now.getMilliseconds()).unref();
    }
    return isKept ? lines.kept : lines.closing;
  };
};

const windowSeconds = WINDOW_MS / 1000;

/** `RateLimit-Policy` and `RateLimit`: structured fields (RFC 9651) of the IETF draft on rate limit headers. */
export const limitLines = ({ limit, remaining, resetMs }: Decision): string =>
  `RateLimit-Policy: "default";q=${limit};w=${windowSeconds}\r\nRateLimit: "default";r=${digits(remaining)};t=${Math.ceil(resetMs / 1000)}\r\n`;
