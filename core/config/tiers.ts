import type { KeyRecord } from '../contracts/keys.js';
import type { Quotas } from '../contracts/limiter.js';
import { suggest } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import type { AuthConfig, TierConfig } from './schema.js';

/** The endpoint at which callers see their own usage. It is part of every tier. */
export const USAGE_PATH = '/usage';

export interface Tier {
  readonly name: string;
  /** Requests per minute, unless the key has its own limit. */
  readonly limit: number;
  readonly quotas: Quotas | undefined;
  /** Names of plugins and paths of endpoints. Null if the tier includes all endpoints. */
  readonly endpoints: ReadonlySet<string> | null;
}

const NO_LIMITS: TierConfig = {};

const isList = (tiers: AuthConfig['tiers']): tiers is readonly string[] => Array.isArray(tiers);

const tiersByName = ({ tiers }: Pick<AuthConfig, 'tiers'>): ReadonlyMap<string, TierConfig> =>
  new Map(isList(tiers) ? tiers.map((name) => [name, NO_LIMITS]) : Object.entries(tiers));

/** Returns the names of all tiers. The first tier is the default for new keys. */
export const tierNames = (auth: unknown): readonly string[] => {
  const tiers = isObject(auth) ? auth['tiers'] : undefined;
  if (Array.isArray(tiers)) return tiers.filter((name) => typeof name === 'string');
  return isObject(tiers) ? Object.keys(tiers) : [];
};

/** Returns false if `auth.tiers` is a list of names. The service then has no quotas and counts no usage. */
export const countsUsage = (auth: unknown): boolean =>
  isObject(auth) && isObject(auth['tiers']) && !Array.isArray(auth['tiers']);

export class Tiers {
  readonly #tiers: ReadonlyMap<string, Tier>;
  readonly anonymous: Tier | undefined;

  constructor(
    auth: Pick<AuthConfig, 'tiers' | 'anonymous'>,
    readonly limit: number,
  ) {
    const isCounted = countsUsage(auth);
    this.#tiers = new Map(
      [...tiersByName(auth)].map(([name, { requestsPerMinute, requestsPerDay, requestsPerMonth, endpoints }]) => [
        name,
        {
          name,
          limit: requestsPerMinute ?? limit,
          quotas: isCounted ? { perDay: requestsPerDay ?? null, perMonth: requestsPerMonth ?? null } : undefined,
          endpoints: endpoints ? new Set([USAGE_PATH, ...endpoints]) : null,
        },
      ]),
    );
    this.anonymous = auth.anonymous === null ? undefined : this.#tiers.get(auth.anonymous);
  }

  /** Returns undefined if the tier does not exist, in which case the key is rejected. */
  of({ tier }: Pick<KeyRecord, 'tier'>): Tier | undefined {
    return this.#tiers.get(tier);
  }

  get haveQuotas(): boolean {
    return [...this.#tiers.values()].some(({ quotas }) => quotas && (quotas.perDay ?? quotas.perMonth) !== null);
  }

  get haveEndpoints(): boolean {
    return [...this.#tiers.values()].some(({ endpoints }) => endpoints !== null);
  }
}

export const volatileQuotas = (auth: AuthConfig, redis: object | null): string | undefined =>
  redis === null && new Tiers(auth, 1).haveQuotas
    ? 'Without Redis a restart resets the quotas of all callers. Set redis.url or REDIS_URL.'
    : undefined;

/**
 * Reports names in `auth.tiers` that are neither a plugin nor an endpoint.
 * @param isComplete false if a plugin failed to load. In this case, only misspellings of known names are reported,
 *   because the plugin might define the other names
 */
export const tierErrors = (auth: unknown, names: readonly string[], isComplete: boolean): string[] => {
  if (!isObject(auth) || !countsUsage(auth)) return [];
  return Object.entries(auth['tiers'] as object).flatMap(([tier, terms]) => {
    const endpoints = isObject(terms) && Array.isArray(terms['endpoints']) ? terms['endpoints'] : [];
    return [...endpoints.entries()]
      .filter(([, name]) => typeof name === 'string' && name !== '' && name !== USAGE_PATH && !names.includes(name))
      .filter(([, name]) => isComplete || nearest(name, names) !== undefined)
      .map(
        ([i, name]) =>
          `auth.tiers.${tier}.endpoints[${i}]: no plugin or endpoint "${name}" needs a key; ${suggest(name, names)}`,
      );
  });
};
