/** Header pairs that do not depend on the answer. */
import { type Decision, WINDOW_MS } from '../contracts/limiter.js';

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
const SECURITY = [
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
  'X-Content-Type-Options',
  'nosniff',
];

export interface CorsOptions {
  readonly origin: string | readonly string[];
  readonly maxAgeSeconds: number;
}

export interface CommonHeaders {
  /** On every response. */
  always(origin: string | undefined): readonly string[];
  /** On a 405. */
  allow(methods: readonly string[]): Readonly<Record<string, string>>;
  /** On the answer to OPTIONS. */
  options(methods: readonly string[]): readonly string[];
}

/** @param cors null: pages of other origins may not read */
export const commonHeaders = (cors: CorsOptions | null): CommonHeaders => {
  const allow = (methods: readonly string[]) => ({ Allow: allowOf(methods) });
  if (!cors) {
    const closed = [...SECURITY, 'Cross-Origin-Resource-Policy', 'same-origin'];
    return { always: () => closed, allow, options: (methods) => ['Allow', allowOf(methods)] };
  }
  const options = (methods: readonly string[]) => [
    'Allow',
    allowOf(methods),
    'Access-Control-Allow-Methods',
    allowOf(methods),
    'Access-Control-Allow-Headers',
    SENT,
    'Access-Control-Max-Age',
    String(cors.maxAgeSeconds),
  ];
  const shared = [
    ...SECURITY,
    'Cross-Origin-Resource-Policy',
    'cross-origin',
    'Access-Control-Expose-Headers',
    EXPOSED,
  ];
  if (cors.origin === '*') {
    const open = [...shared, 'Access-Control-Allow-Origin', '*'];
    return { always: () => open, allow, options };
  }
  const origins = new Set(typeof cors.origin === 'string' ? [cors.origin] : cors.origin);
  const denied = [...shared, 'Vary', 'Origin'];
  return {
    always: (origin) =>
      origin !== undefined && origins.has(origin) ? [...denied, 'Access-Control-Allow-Origin', origin] : denied,
    allow,
    options,
  };
};

const windowSeconds = WINDOW_MS / 1000;

/** `RateLimit-Policy` and `RateLimit`: structured fields (RFC 9651) of the IETF draft on rate limit headers. */
export const limitHead = ({ limit, remaining, resetMs }: Decision): string[] => [
  'RateLimit-Policy',
  `"default";q=${limit};w=${windowSeconds}`,
  'RateLimit',
  `"default";r=${remaining};t=${Math.ceil(resetMs / 1000)}`,
];
