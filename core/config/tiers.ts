/** Tiers: how much callers may send, and which endpoints they may call. */

import type { KeyRecord } from '../contracts/keys.js';
import type { Quotas } from '../contracts/limiter.js';
import { suggest } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import type { AuthConfig, TierConfig } from './schema.js';

/** The endpoint that tells callers what they have used. Every tier includes it. */
export const USAGE_PATH = '/usage';

export interface Tier {
  readonly name: string;
  /** Requests a minute of callers without a limit of their own. */
  readonly limit: number;
  /** Undefined: its callers' usage is not counted. */
  readonly quotas: Quotas | undefined;
  /** The included plugins, by name, and routes and mounts, by path, among those with a key; null: all. */
  readonly endpoints: ReadonlySet<string> | null;
}

const NO_TERMS: TierConfig = {};

const isList = (tiers: AuthConfig['tiers']): tiers is readonly string[] => Array.isArray(tiers);

/** Where tiers are a list, they have no terms of their own. */
const termsOf = ({ tiers }: Pick<AuthConfig, 'tiers'>): ReadonlyMap<string, TierConfig> =>
  new Map(isList(tiers) ? tiers.map((name) => [name, NO_TERMS]) : Object.entries(tiers));

/** Names of the tiers; new keys get the first. @param auth of a configuration, or of a draft with any content */
export const tierNames = (auth: unknown): readonly string[] => {
  const tiers = isObject(auth) ? auth['tiers'] : undefined;
  if (Array.isArray(tiers)) return tiers.filter((name) => typeof name === 'string');
  return isObject(tiers) ? Object.keys(tiers) : [];
};

/** Whether callers' usage is counted: if tiers have terms. @param auth as for `tierNames` */
export const countsUsage = (auth: unknown): boolean =>
  isObject(auth) && isObject(auth['tiers']) && !Array.isArray(auth['tiers']);

export class Tiers {
  readonly #tiers: ReadonlyMap<string, Tier>;
  /** The tier of callers without a key; undefined: they have none. */
  readonly anonymous: Tier | undefined;

  constructor(
    auth: Pick<AuthConfig, 'tiers' | 'anonymous'>,
    /** Requests a minute where nothing else says how many. */
    readonly limit: number,
  ) {
    const isCounted = countsUsage(auth);
    this.#tiers = new Map(
      [...termsOf(auth)].map(([name, { requestsPerMinute, requestsPerDay, requestsPerMonth, endpoints }]) => [
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

  /** Undefined: the key is not entitled. */
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

/** @param names of an endpoint: its plugin, and its path */
export const includes = ({ endpoints }: Tier, names: readonly string[]): boolean =>
  endpoints === null || names.some((name) => endpoints.has(name));

/**
 * What tiers name that the service does not have.
 * @param auth as for `tierNames`
 * @param names of all its endpoints that need a key
 * @param isComplete false: a plugin with faults may have others, so that a name counts as wrong only if it is nearly a
 *   known one
 */
export const tierFaults = (auth: unknown, names: readonly string[], isComplete: boolean): string[] => {
  if (!isObject(auth) || !countsUsage(auth)) return [];
  return Object.entries(auth['tiers'] as object).flatMap(([tier, terms]) => {
    const given = isObject(terms) && Array.isArray(terms['endpoints']) ? terms['endpoints'] : [];
    return [...given.entries()]
      .filter(([, name]) => typeof name === 'string' && name !== '' && name !== USAGE_PATH && !names.includes(name))
      .filter(([, name]) => isComplete || nearest(name, names) !== undefined)
      .map(
        ([i, name]) =>
          `auth.tiers.${tier}.endpoints[${i}]: no plugin or endpoint "${name}" needs a key; ${suggest(name, names)}`,
      );
  });
};
