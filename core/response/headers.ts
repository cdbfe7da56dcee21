import { randomBytes } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Config } from '../config/schema.js';
import { exposedHeaders } from '../header-table.js';

const LAST_THREE = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));

/**
 * Formats a number like `String`, but bypasses V8's cache of number strings for whole numbers. That cache would take
 * half of the time of each young-generation garbage collection.
 */
export const digits = (count: number): string =>
  count >= 1000 && Number.isInteger(count) ? `${Math.floor(count / 1000)}${LAST_THREE[count % 1000]}` : String(count);

/** Formats a number like `toFixed(3)`, but four times as fast. */
export const threeDecimals = (value: number): string => {
  if (!(value >= 0 && value < Number.MAX_SAFE_INTEGER / 1000)) return value.toFixed(3);
  const thousandths = Math.round(value * 1000);
  return `${digits(Math.floor(thousandths / 1000))}.${LAST_THREE[thousandths % 1000]}`;
};

/** @throws TypeError for an invalid name or value */
export const linesOf = (fields: Readonly<Record<string, string>>): string => {
  let lines = '';
  for (const [name, value] of Object.entries(fields)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
};

/** Header names are not case-sensitive. The headers in `given` replace the defaults. */
export const mergedHeaders = (
  defaults: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>> = {},
): Record<string, string> => {
  const replaced = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries(defaults).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...given };
};

// A request id consists of a random part per process and a counter, so no request waits for random bytes.
const processId = randomBytes(8).toString('hex');
let count = 0;

export const newRequestId = (): string => `${processId}-${(++count).toString(36)}`;

export const allowOf = (methods: readonly string[]): string => [...methods, 'OPTIONS'].join(', ');

const ACCEPTED: readonly string[] = [
  'Authorization',
  'Accept',
  'If-None-Match',
  'If-Modified-Since',
  'Traceparent',
  'X-Request-Id',
];

export const READ_METHODS: readonly string[] = ['GET', 'HEAD'];

/**
 * These security headers prevent browsers from rendering JSON as a page, showing it in a frame, or guessing its type.
 * Mounts can set a different policy.
 */
const FIXED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

export interface CommonHeaders {
  always(id: string, origin: string | undefined): string;
  /** The fast writer needs `Date` and `Connection` lines, because Node adds them only to its own responses. */
  connectionLines(isKept: boolean): string;
  options(methods: readonly string[], requestHeaders?: readonly string[]): string;
}

interface CommonHeadersOptions {
  readonly declared?: readonly string[];
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

/** `Date` has a resolution of one second, so the lines are reused until the second ends. */
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
