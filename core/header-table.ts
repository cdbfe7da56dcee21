/** Response headers that the framework sets. The OpenAPI document lists them, and routes cannot declare them. */

const header = (description: string, schema: object, example: unknown) => ({ description, schema, example });
const string = { type: 'string' };

export const responseHeaders = {
  ETag: header(
    'A strong validator: it changes if and only if the body changes.',
    string,
    '"3Qm8yPT0uVdc1oGZ0a1b2c3d4e5"',
  ),
  'Last-Modified': header('When the snapshot was published.', string, 'Thu, 15 Oct 2026 00:00:00 GMT'),
  'Cache-Control': header('Whether, and for how long, caches may store the response.', string, 'private, no-cache'),
  Vary: header('The request headers that determine the response.', string, 'Accept, Accept-Encoding'),
  Age: header('The age of the cached response in seconds.', { type: 'integer', minimum: 0 }, 12),
  Allow: header('The methods that the endpoint supports.', string, 'GET, HEAD, OPTIONS'),
  'Snapshot-Version': header('The dataset version that the response was built from.', string, '2026Q3-sample'),
  'X-Request-Id': header(
    'The id of this request in the log. Clients can set it by sending the same header.',
    string,
    'my-request-1',
  ),
  'RateLimit-Policy': header(
    'The number of requests (q) allowed per window of w seconds.',
    string,
    '"default";q=600;w=60',
  ),
  RateLimit: header(
    'The remaining requests (r), and the seconds (t) until another one becomes available.',
    string,
    '"default";r=599;t=60',
  ),
  'Retry-After': header('Seconds to wait before the next attempt.', { type: 'integer', minimum: 1 }, 7),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', string, 'Bearer realm="Example API"'),
} as const;

export type HeaderName = keyof typeof responseHeaders;

export const commonNames: readonly HeaderName[] = ['X-Request-Id'];

export const limitNames: readonly HeaderName[] = ['RateLimit-Policy', 'RateLimit'];

const UNEXPOSED: readonly string[] = ['Allow', 'Cache-Control', 'Vary'] satisfies HeaderName[];

export const exposedHeaders: readonly string[] = Object.keys(responseHeaders).filter(
  (name) => !UNEXPOSED.includes(name),
);

const NAMES: ReadonlySet<string> = new Set(Object.keys(responseHeaders).map((name) => name.toLowerCase()));

/**
 * Matches response headers that depend on the connection, the body or the caller. Routes cannot declare such headers.
 */
const OTHERS =
  /^(access-control-.*|connection|content-.*|cross-origin-.*|date|keep-alive|ratelimit.*|referrer-policy|set-cookie|trailer|transfer-encoding|upgrade|x-content-type-options)$/i;

export const isFrameworkHeader = (name: string): boolean => NAMES.has(name.toLowerCase()) || OTHERS.test(name);
