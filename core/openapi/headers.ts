/** Response headers that the OpenAPI document describes. */

const header = (description: string, schema: object, example: unknown) => ({ description, schema, example });
const string = { type: 'string' };

export const headerComponents = {
  ETag: header('A strong validator: it changes exactly when the body does.', string, '"3Qm8yPT0uVdc1oGZ0a1b2c3d4e5"'),
  'Last-Modified': header('When the snapshot was published.', string, 'Thu, 15 Oct 2026 00:00:00 GMT'),
  'Cache-Control': header('How long, and by whom, the response may be stored.', string, 'private, no-cache'),
  Vary: header('The request headers that the response depends on.', string, 'Accept, Accept-Encoding'),
  Age: header('Seconds since the response was built.', { type: 'integer', minimum: 0 }, 12),
  Allow: header('The methods of the endpoint.', string, 'GET, HEAD, OPTIONS'),
  'Snapshot-Version': header('The version of the dataset that the whole response comes from.', string, '2026Q3-sample'),
  'X-Request-Id': header(
    'The id of this request in the log. Send one of your own to choose it.',
    string,
    'my-request-1',
  ),
  'RateLimit-Policy': header('The limit (q) per window of w seconds.', string, '"default";q=600;w=60'),
  RateLimit: header('Requests left (r), and seconds (t) until another slot is free.', string, '"default";r=599;t=60'),
  'Retry-After': header('Seconds after which to try again.', { type: 'integer', minimum: 1 }, 7),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', string, 'Bearer realm="Example API"'),
} as const;

export type HeaderName = keyof typeof headerComponents;

export const headerReferences = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
