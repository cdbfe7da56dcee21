/** The responses of the OpenAPI document: headers, and errors by status with an example of each code. */
import { type Tiers, USAGE_PATH } from '../config/tiers.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Route } from '../contracts/plugin.js';
import { type ErrorKind, errors } from '../errors.js';
import { isLimited, isShared, needsKey } from '../registry/route-defaults.js';

const header = (description: string, schema: object, example: unknown) => ({ description, schema, example });
const string = { type: 'string' };

export const headerComponents = {
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

export type HeaderName = keyof typeof headerComponents;

export const headerReferences = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The body of every error. */
export const errorSchema = {
  title: 'Error',
  type: 'object',
  required: ['error', 'code'],
  additionalProperties: false,
  properties: {
    error: { type: 'string', description: 'What is wrong, and what to do.' },
    code: { type: 'string', description: 'A stable code.' },
    details: {
      type: 'array',
      description: 'All problems of the request. Only with status 400.',
      items: {
        type: 'object',
        required: ['in', 'name', 'issue'],
        additionalProperties: false,
        properties: {
          in: { type: 'string', enum: ['path', 'query', 'header', 'body'] },
          name: { type: 'string' },
          issue: { type: 'string' },
        },
      },
    },
  },
} as const satisfies JsonSchema;

const HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** The errors of a route: its own, and the errors of the framework that apply to it. */
const kindsOf = (route: Route, tiers: Tiers | undefined): ErrorKind[] => {
  const query = Object.values(route.parameters?.query ?? {});
  return [
    ...(query.some(({ required }) => required) ? [errors.missing_parameter] : []),
    errors.invalid_parameter,
    errors.unknown_parameter,
    ...(needsKey(route) ? [errors.missing_api_key, errors.invalid_api_key] : []),
    ...(needsKey(route) && tiers?.haveEndpoints && route.path !== USAGE_PATH ? [errors.not_in_tier] : []),
    ...(route.kind === 'data' && route.vintages ? [errors.snapshot_not_found] : []),
    errors.method_not_allowed,
    errors.not_acceptable,
    errors.uri_too_long,
    errors.rate_limited,
    ...(tiers?.haveQuotas ? [errors.quota_exceeded] : []),
    errors.headers_too_large,
    errors.internal_error,
    errors.service_unavailable,
    ...(route.errors ?? []),
  ];
};

/** Describes the errors of operations, and collects the components that they refer to. */
export const errorResponses = (tiers?: Tiers) => {
  const components: Record<string, object> = {};
  const reference = (status: number, kinds: readonly ErrorKind[], limited: boolean): object => {
    const name = [...kinds.map(({ code }) => code), ...(limited ? [] : ['unlimited'])].join('.');
    const names: HeaderName[] = [...(HEADERS[status] ?? []), 'Cache-Control', 'X-Request-Id'];
    if (limited) names.push('RateLimit-Policy', 'RateLimit');
    components[name] = {
      description: kinds.map(({ code, when }) => `\`${code}\`: ${when}`).join('\n\n'),
      headers: headerReferences(status === 431 ? ['X-Request-Id'] : names),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(
            kinds.map(({ code, sentence, when }) => [code, { summary: when, value: { error: sentence, code } }]),
          ),
        },
      },
    };
    return { $ref: `#/components/responses/${name}` };
  };
  return {
    components,
    /** The responses of one operation, by status. */
    of(route: Route): Record<string, object> {
      const byStatus = new Map<number, ErrorKind[]>();
      for (const kind of kindsOf(route, tiers)) {
        byStatus.set(kind.status, [...(byStatus.get(kind.status) ?? []), kind]);
      }
      // A request with an error counts against the limit on every route.
      const limited = (status: number) => status !== 431 && !isShared(route) && (isLimited(route) || status < 500);
      return Object.fromEntries(
        [...byStatus]
          .sort(([a], [b]) => a - b)
          .map(([status, kinds]) => [status, reference(status, kinds, limited(status))]),
      );
    },
  };
};
