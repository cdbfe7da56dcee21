/** Header pairs that do not depend on the answer. */
import { type Decision, WINDOW_MS } from '../contracts/limiter.js';

export const ALLOW = 'GET, HEAD, OPTIONS';

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
  /** On the answer to OPTIONS. */
  readonly options: readonly string[];
}

/** @param cors null: pages of other origins may not read */
export const commonHeaders = (cors: CorsOptions | null): CommonHeaders => {
  const allowed = ['Allow', ALLOW];
  if (!cors) {
    const closed = [...SECURITY, 'Cross-Origin-Resource-Policy', 'same-origin'];
    return { always: () => closed, options: allowed };
  }
  const options = [
    ...allowed,
    'Access-Control-Allow-Methods',
    ALLOW,
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
    return { always: () => open, options };
  }
  const origins = new Set(typeof cors.origin === 'string' ? [cors.origin] : cors.origin);
  const denied = [...shared, 'Vary', 'Origin'];
  return {
    always: (origin) =>
      origin !== undefined && origins.has(origin) ? [...denied, 'Access-Control-Allow-Origin', origin] : denied,
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
