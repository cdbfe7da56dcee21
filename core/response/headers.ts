/** Header lines as text, each with its CRLF, and the headers that are part of every response. */
import { randomBytes } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Config } from '../config/schema.js';
import { exposedHeaders } from '../header-table.js';

const LAST_THREE = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));

/**
 * Formats a whole number. This avoids V8's cache of number strings, whose entries would account for half the time of
 * each young-generation garbage collection.
 */
export const digits = (count: number): string =>
  // The condition is false for NaN, Infinity and fractions, which cannot be split into their last three digits.
  count >= 1000 && Number.isInteger(count) ? `${Math.floor(count / 1000)}${LAST_THREE[count % 1000]}` : String(count);

/** Formats a number with three decimals. If it is not negative, this takes a quarter of V8's time for a fraction. */
export const threeDecimals = (value: number): string => {
  if (!(value >= 0 && value < Number.MAX_SAFE_INTEGER / 1000)) return value.toFixed(3);
  const thousandths = Math.round(value * 1000);
  return `${digits(Math.floor(thousandths / 1000))}.${LAST_THREE[thousandths % 1000]}`;
};

/**
 * Formats header lines that many responses share. They are checked only once.
 * @throws TypeError for an invalid name or value
 */
export const linesOf = (fields: Readonly<Record<string, string>>): string => {
  let lines = '';
  for (const [name, value] of Object.entries(fields)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
};

// An id is a random part for the process and a counter for the request, so no request waits for random bytes.
const processId = randomBytes(8).toString('hex');
let count = 0;

/** Returns a new value for `X-Request-Id`. */
export const newRequestId = (): string => `${processId}-${(++count).toString(36)}`;

/** The value of `Allow` for an endpoint that supports these methods. */
export const allowOf = (methods: readonly string[]): string => [...methods, 'OPTIONS'].join(', ');

/** Request headers that pages of other origins may send to any endpoint. */
const ACCEPTED: readonly string[] = [
  'Authorization',
  'Accept',
  'If-None-Match',
  'If-Modified-Since',
  'Traceparent',
  'X-Request-Id',
];

/** The methods of routes, and the default methods of mounts. Requests with these methods have no body. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD'];

/**
 * Sent with every response: no browser may render JSON, frame it, or guess its type. A mount can set its own policy.
 */
const FIXED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Headers that do not depend on the representation. Methods that return a string return complete header lines. */
export interface CommonHeaders {
  /**
   * The headers of every response.
   * @param id the request id, without characters that need escaping (see `requestId`)
   */
  always(id: string, origin: string | undefined): string;
  /** `Date` and `Connection` for responses by the fast writer. Node adds them to all other responses. */
  connectionLines(isKept: boolean): string;
  /** The headers of a response to OPTIONS. @param requestHeaders request headers that only this endpoint reads */
  options(methods: readonly string[], requestHeaders?: readonly string[]): string;
}

interface CommonHeadersOptions {
  /** The names of the response headers that routes and mounts declare. */
  readonly declared?: readonly string[];
  /** Null if pages of other origins must not read responses. */
  readonly cors: Config['http']['cors'];
  readonly keepAliveTimeoutMs: number;
}

export const commonHeaders = ({ cors, keepAliveTimeoutMs, declared = [] }: CommonHeadersOptions): CommonHeaders => ({
  always: always(readableBy(cors, declared)),
  connectionLines: connectionLines(keepAliveTimeoutMs),
  options: (methods, requestHeaders = []) =>
    linesOf({
      Allow: allowOf(methods),
      ...(cors && {
        'Access-Control-Allow-Methods': allowOf(methods),
        'Access-Control-Allow-Headers': [
          ...ACCEPTED,
          ...(methods.every((method) => READ_METHODS.includes(method)) ? [] : ['Content-Type']),
          ...requestHeaders,
        ].join(', '),
        'Access-Control-Max-Age': String(cors.maxAgeSeconds),
      }),
    }),
});

const always =
  (linesFor: (origin: string | undefined) => string): CommonHeaders['always'] =>
  (id, origin) =>
    `X-Request-Id: ${id}\r\n${linesFor(origin)}`;

/** The CORS and security headers for a request from this origin. */
const readableBy = (
  cors: Config['http']['cors'],
  declared: readonly string[],
): ((origin: string | undefined) => string) => {
  if (!cors) {
    const closed = linesOf({ ...FIXED, 'Cross-Origin-Resource-Policy': 'same-origin' });
    return () => closed;
  }
  const shared = {
    ...FIXED,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Access-Control-Expose-Headers': [...new Set([...exposedHeaders, ...declared])].sort().join(', '),
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

/** `Date` has a resolution of one second, so a timer formats it once a second. Requests do not read the clock. */
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
