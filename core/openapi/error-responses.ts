/** The documented errors of each route: one response a status, each code with its own example. */

import { type Tiers, USAGE_PATH } from '../config/tiers.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Route } from '../contracts/plugin.js';
import { type ErrorKind, errors } from '../errors.js';
import { isLimited, isShared, needsKey } from '../registry/route-defaults.js';
import { type HeaderName, headerReferences } from './headers.js';

/** The body of every error. */
export const errorSchema = {
  title: 'Error',
  type: 'object',
  required: ['error', 'code'],
  additionalProperties: false,
  properties: {
    error: { type: 'string', description: 'A sentence that says what is wrong and what to do.' },
    code: { type: 'string', description: 'A stable code.' },
    details: {
      type: 'array',
      description: 'Every fault of the request. On status 400 only.',
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

/** The kinds of error that a route can answer with: the framework's that apply to it, and its own. */
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

/** Collects what the operations refer to. */
export class ErrorResponses {
  readonly #components = new Map<string, object>();
  readonly #tiers: Tiers | undefined;

  constructor(tiers?: Tiers) {
    this.#tiers = tiers;
  }

  /** The responses of one operation, by status. */
  of(route: Route): Record<string, object> {
    const byStatus = new Map<number, ErrorKind[]>();
    for (const kind of kindsOf(route, this.#tiers))
      byStatus.set(kind.status, [...(byStatus.get(kind.status) ?? []), kind]);
    // A faulty request counts against the limit, whatever the route.
    const limited = (status: number) => status !== 431 && !isShared(route) && (isLimited(route) || status < 500);
    return Object.fromEntries(
      [...byStatus]
        .sort(([a], [b]) => a - b)
        .map(([status, kinds]) => [status, this.#reference(status, kinds, limited(status))]),
    );
  }

  all(): Record<string, object> {
    return Object.fromEntries(this.#components);
  }

  #reference(status: number, kinds: readonly ErrorKind[], limited: boolean): object {
    const name = [...kinds.map(({ code }) => code), ...(limited ? [] : ['unlimited'])].join('.');
    const names: HeaderName[] = [...(HEADERS[status] ?? []), 'Cache-Control', 'X-Request-Id'];
    if (limited) names.push('RateLimit-Policy', 'RateLimit');
    this.#components.set(name, {
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
    });
    return { $ref: `#/components/responses/${name}` };
  }
}
