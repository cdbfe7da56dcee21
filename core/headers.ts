/**
 * The response headers that the framework sets. The OpenAPI document describes them, routes cannot declare them, and
 * pages of other origins may read them.
 */

const header = (description: string, schema: object, example: unknown) => ({ description, schema, example });
const string = { type: 'string' };

export const responseHeaders = {
  ETag: header('A strong validator: it changes exactly when the body does.', string, '"3Qm8yPT0uVdc1oGZ0a1b2c3d4e5"'),
  'Last-Modified': header('When the snapshot was published.', string, 'Thu, 15 Oct 2026 00:00:00 GMT'),
  'Cache-Control': header('Which caches may store the response, and for how long.', string, 'private, no-cache'),
  Vary: header('The request headers that the response depends on.', string, 'Accept, Accept-Encoding'),
  Age: header('Seconds since the response was built.', { type: 'integer', minimum: 0 }, 12),
  Allow: header('The methods of the endpoint.', string, 'GET, HEAD, OPTIONS'),
  'Snapshot-Version': header('The version of the dataset that the whole response comes from.', string, '2026Q3-sample'),
  'X-Request-Id': header(
    'The id of this request in the log. A request may set it with the same header.',
    string,
    'my-request-1',
  ),
  'RateLimit-Policy': header('The limit (q) per window of w seconds.', string, '"default";q=600;w=60'),
  RateLimit: header('Requests left (r), and seconds (t) until another slot is free.', string, '"default";r=599;t=60'),
  'Retry-After': header('Seconds to wait before the next attempt.', { type: 'integer', minimum: 1 }, 7),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', string, 'Bearer realm="Example API"'),
} as const;

export type HeaderName = keyof typeof responseHeaders;

const UNEXPOSED: readonly string[] = ['Allow', 'Cache-Control', 'Vary'] satisfies HeaderName[];

/** The headers that a service with CORS exposes. */
export const exposedHeaders: readonly string[] = Object.keys(responseHeaders).filter(
  (name) => !UNEXPOSED.includes(name),
);

const NAMES: ReadonlySet<string> = new Set(Object.keys(responseHeaders).map((name) => name.toLowerCase()));

/** Headers of the connection, the body or a single caller. */
const OTHERS =
  /^(access-control-.*|connection|content-.*|cross-origin-.*|date|keep-alive|ratelimit.*|referrer-policy|set-cookie|trailer|transfer-encoding|upgrade|x-content-type-options)$/i;

/** Whether the framework sets a header, so that routes cannot. */
export const isFrameworkHeader = (name: string): boolean => NAMES.has(name.toLowerCase()) || OTHERS.test(name);
