import { type Tiers, USAGE_PATH } from '../config/tiers.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Route } from '../contracts/plugin.js';
import { type ErrorKind, errors } from '../errors.js';
import { commonNames, type HeaderName, limitNames } from '../header-table.js';
import { isLimited, isShared, needsKey } from '../registry/route-defaults.js';

export const headerReferences = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const errorSchema = {
  title: 'Error',
  type: 'object',
  required: ['error', 'code'],
  additionalProperties: false,
  properties: {
    error: { type: 'string', description: 'What went wrong, and how to fix it.' },
    code: { type: 'string', description: 'A stable code for programs.' },
    details: {
      type: 'array',
      description: 'All problems found in the request. Only present with status 400.',
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

export const errorResponses = (tiers?: Tiers) => {
  const components: Record<string, object> = {};
  const reference = (status: number, kinds: readonly ErrorKind[], limited: boolean): object => {
    const name = [...kinds.map(({ code }) => code), ...(limited ? [] : ['unlimited'])].join('.');
    const own: readonly HeaderName[] = status === 431 ? [] : [...(HEADERS[status] ?? []), 'Cache-Control'];
    components[name] = {
      description: kinds.map(({ code, when }) => `\`${code}\`: ${when}`).join('\n\n'),
      headers: headerReferences([...own, ...commonNames, ...(limited ? limitNames : [])]),
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
    of(route: Route): Record<string, object> {
      const byStatus = new Map<number, ErrorKind[]>();
      for (const kind of kindsOf(route, tiers)) {
        byStatus.set(kind.status, [...(byStatus.get(kind.status) ?? []), kind]);
      }
      // Client errors count against the rate limit even on routes without a limit.
      const limited = (status: number) => status !== 431 && !isShared(route) && (isLimited(route) || status < 500);
      return Object.fromEntries(
        [...byStatus]
          .sort(([a], [b]) => a - b)
          .map(([status, kinds]) => [status, reference(status, kinds, limited(status))]),
      );
    },
  };
};
