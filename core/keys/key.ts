import { createHmac, createSecretKey, hash, type KeyObject, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRecord } from '../contracts/keys.js';
import { defaultService } from '../contracts/service.js';

/**
 * Matches text that might be an API key. Text of at most 32 characters does not match, because it might be a name or a
 * trace id. If 32 characters of a key leak, 11 random ones remain secret.
 */
const SECRETS = /[0-9A-Za-z]{33,}/g;

export const maskKeys = (text: string): string => text.replace(SECRETS, '***');

export const holdsKey = (text: string): boolean => maskKeys(text) !== text;

const MAX_SHOWN_LENGTH = 80;

export const excerpt = (text: string, maxLength = MAX_SHOWN_LENGTH): string => {
  const masked = maskKeys(text);
  return masked.length > maxLength ? `${masked.slice(0, maxLength)}…` : masked;
};

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The secret part of a key has 43 characters in base 62, which are enough for 256 random bits: 62^43 > 2^256. */
const SECRET_LENGTH = 43;
/** The checksum of a key has 6 characters in base 62, which are enough for a CRC-32: 62^6 > 2^32. */
const CHECKSUM_LENGTH = 6;
const ID_LENGTH = 10;

// Any key prefix matches, because the prefix is configurable.
const SHAPE = new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,18}_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

const randomDigits = (length: number): string =>
  Array.from({ length }, () => DIGITS[randomInt(DIGITS.length)]).join('');

const base62 = (value: number, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text;
};

/** The checksum detects incomplete pastes and most typos, and reduces false positives in secret scanners. */
const checksum = (text: string): string => base62(crc32(text), CHECKSUM_LENGTH);

/** A slow hash is unnecessary, because the 256 random bits of a key cannot be guessed. */
export const hashKey = (key: string, pepper?: KeyObject): string =>
  pepper === undefined ? hash('sha256', key, 'hex') : createHmac('sha256', pepper).update(key).digest('hex');

type KeyDigest = Pick<KeyRecord, 'hash' | 'pepper'>;

/** @param prefix helps people and secret scanners to recognise leaked keys */
export const createKey = (
  peppers?: { digest(key: string): KeyDigest },
  prefix: string = defaultService.keyPrefix,
): KeyDigest & { key: string; id: string } => {
  const text = prefix + randomDigits(SECRET_LENGTH);
  const key = text + checksum(text);
  return { key, ...(peppers?.digest(key) ?? { hash: hashKey(key) }), id: `key_${randomDigits(ID_LENGTH)}` };
};

/** Detects text with the format of a key but a wrong checksum. Some stores also contain keys in other formats. */
export const isMistyped = (text: string): boolean =>
  SHAPE.test(text) && !text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));

/** All keys in a chain of rotations share one limit and one usage count. */
export const familyOf = ({ id, shares_limit_of }: Pick<KeyRecord, 'id' | 'shares_limit_of'>): string =>
  shares_limit_of ?? id;

/** An invalid `expires_at` counts as expired. */
export const isActive = (
  { revoked_at, expires_at }: Pick<KeyRecord, 'revoked_at' | 'expires_at'>,
  now: number,
): boolean => revoked_at === null && (expires_at === null || now < Date.parse(expires_at));

type KeyTerms = Pick<KeyRecord, 'name' | 'tier'> &
  Partial<Pick<KeyRecord, 'limit_per_minute' | 'expires_at' | 'shares_limit_of'>>;

/** @param now milliseconds since 1970 */
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

export class Peppers {
  readonly #secrets: ReadonlyMap<number, KeyObject>;

  /** @param secrets peppers by version; if empty, keys are hashed with plain SHA-256 */
  constructor(secrets: Readonly<Record<string, string>> = {}) {
    const versions = Object.keys(secrets).sort((a, b) => Number(b) - Number(a));
    this.#secrets = new Map(versions.map((each) => [Number(each), createSecretKey(secrets[each]!, 'utf8')]));
  }

  has(version: number): boolean {
    return this.#secrets.has(version);
  }

  digest(key: string): KeyDigest {
    for (const [pepper, secret] of this.#secrets) return { hash: hashKey(key, secret), pepper };
    return { hash: hashKey(key) };
  }

  /** Yields every digest that might be stored for the key. The plain SHA-256 comes last. */
  *digests(key: string): Generator<string> {
    for (const secret of this.#secrets.values()) yield hashKey(key, secret);
    yield hashKey(key);
  }
}

const MAX_SHOWN = 3;

export const missingPeppers = (
  records: readonly Omit<KeyRecord, 'hash'>[],
  peppers: Peppers,
  now: number,
): readonly string[] => {
  const missing = new Map<number, string[]>();
  for (const record of records) {
    const { id, pepper } = record;
    if (pepper === undefined || peppers.has(pepper) || !isActive(record, now)) continue;
    missing.set(pepper, [...(missing.get(pepper) ?? []), id]);
  }
  return [...missing].map(([version, ids]) => {
    const more = ids.length > MAX_SHOWN ? ` and ${ids.length - MAX_SHOWN} more` : '';
    const shown = `${ids.slice(0, MAX_SHOWN).join(', ')}${more}`;
    return `auth.peppers has no version ${version}, so these keys are rejected: ${shown}. Set it to its previous value, or create new keys for their owners.`;
  });
};
