/** A key that has just been made, with the record that is kept of it. */
import type { KeyRecord } from '../contracts/keys.js';
import { createKey, type KeyDigest } from './key-format.js';

/** What a key's owner decides; the rest is the same for every new key. */
export type KeyTerms = Pick<KeyRecord, 'name' | 'tier'> &
  Partial<Pick<KeyRecord, 'limit_per_minute' | 'expires_at' | 'shares_limit_of'>>;

/** @param rules as for `createKey` */
export const newKey = (
  { name, tier, limit_per_minute = null, expires_at = null, shares_limit_of }: KeyTerms,
  now: number,
  { prefix, peppers }: { readonly prefix?: string; readonly peppers?: { digest(key: string): KeyDigest } } = {},
): { readonly key: string; readonly record: KeyRecord } => {
  const { key, ...kept } = createKey(peppers, prefix);
  return {
    key,
    record: {
      ...kept,
      name,
      tier,
      limit_per_minute,
      created_at: new Date(now).toISOString(),
      expires_at,
      revoked_at: null,
      ...(shares_limit_of !== undefined && { shares_limit_of }),
    },
  };
};
