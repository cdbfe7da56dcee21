/** Whether a key has neither been revoked nor expired. */
import type { KeyRecord } from '../contracts/keys.js';

/** @param now milliseconds since 1970; an end that cannot be read counts as past */
export const isInForce = (
  { revoked_at, expires_at }: Pick<KeyRecord, 'revoked_at' | 'expires_at'>,
  now: number,
): boolean => revoked_at === null && (expires_at === null || now < Date.parse(expires_at));
