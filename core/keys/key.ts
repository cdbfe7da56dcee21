/** Creates, hashes and masks API keys. A key consists of a prefix, 256 random bits and a checksum. */
import { createHmac, createSecretKey, hash, type KeyObject, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRecord } from '../contracts/keys.js';
import { defaultService } from '../contracts/service.js';

/**
 * Matches 33 or more characters of the part after the prefix. Shorter text is not masked, because it might be a name or
 * a trace id. Even 32 characters of a key leave at least 11 random ones (65 bits) to guess.
 */
const SECRETS = /[0-9A-Za-z]{33,}/g;

/** Replaces each key with `prefix_***`, and each secret part that has no prefix with `***`. */
export const maskKeys = (text: string): string => text.replace(SECRETS, '***');

export const holdsKey = (text: string): boolean => maskKeys(text) !== text;

const MAX_SHOWN_LENGTH = 80;

/** Prepares text from a caller for an error message by masking keys and limiting the length. */
export const excerpt = (text: string, maxLength = MAX_SHOWN_LENGTH): string => {
  const masked = maskKeys(text);
  return masked.length > maxLength ? `${masked.slice(0, maxLength)}…` : masked;
};

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Enough for 256 random bits: 62^43 > 2^256. */
const SECRET_LENGTH = 43;
/** Enough for a CRC-32: 62^6 > 2^32. */
const CHECKSUM_LENGTH = 6;
const ID_LENGTH = 10;

// Base 62 needs no escaping, and a double click selects the whole key. Any prefix is accepted, so that keys remain
// valid if the service changes its prefix.
const SHAPE = new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,18}_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

const randomDigits = (length: number): string =>
  Array.from({ length }, () => DIGITS[randomInt(DIGITS.length)]).join('');

const base62 = (value: number, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text;
};

/**
 * The CRC-32 of the preceding text. It detects incomplete pastes and typos (all typos within four adjacent characters),
 * and spares secret scanners false positives. It does not prevent forgery; the 256 random bits do.
 */
const checksum = (text: string): string => base62(crc32(text), CHECKSUM_LENGTH);

/**
 * Returns the SHA-256 or, with a pepper, the HMAC-SHA-256 (RFC 2104), in lower-case hex. A slow hash would not help,
 * because 256 random bits cannot be guessed.
 */
export const hashKey = (key: string, pepper?: KeyObject): string =>
  pepper === undefined ? hash('sha256', key, 'hex') : createHmac('sha256', pepper).update(key).digest('hex');

type KeyDigest = Pick<KeyRecord, 'hash' | 'pepper'>;

/**
 * Creates a key, the hash to store and a random id for its record.
 * @param peppers the newest one is used; without peppers, the hash is plain SHA-256
 * @param prefix helps people and secret scanners recognise leaked keys
 */
export const createKey = (
  peppers?: { digest(key: string): KeyDigest },
  prefix: string = defaultService.keyPrefix,
): KeyDigest & { key: string; id: string } => {
  const text = prefix + randomDigits(SECRET_LENGTH);
  const key = text + checksum(text);
  return { key, ...(peppers?.digest(key) ?? { hash: hashKey(key) }), id: `key_${randomDigits(ID_LENGTH)}` };
};

/** Whether text looks like a key but has a wrong checksum. False for keys in other formats, which some stores have. */
export const isMistyped = (text: string): boolean =>
  SHAPE.test(text) && !text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));

/** The id of the first key in a chain of rotations. All keys in the chain share a limit and a usage count. */
export const familyOf = ({ id, shares_limit_of }: Pick<KeyRecord, 'id' | 'shares_limit_of'>): string =>
  shares_limit_of ?? id;

/**
 * Whether a key is neither revoked nor expired. An invalid `expires_at` counts as expired.
 * @param now milliseconds since 1970
 */
export const isActive = (
  { revoked_at, expires_at }: Pick<KeyRecord, 'revoked_at' | 'expires_at'>,
  now: number,
): boolean => revoked_at === null && (expires_at === null || now < Date.parse(expires_at));

type KeyTerms = Pick<KeyRecord, 'name' | 'tier'> &
  Partial<Pick<KeyRecord, 'limit_per_minute' | 'expires_at' | 'shares_limit_of'>>;

/** Creates a key and its record. @param now milliseconds since 1970 */
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

  /** @param secrets secrets by version; if empty, keys are hashed with plain SHA-256 */
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

  /** Yields every digest that a key could be stored under, computed one at a time. The plain SHA-256 is last. */
  *digests(key: string): Generator<string> {
    for (const secret of this.#secrets.values()) yield hashKey(key, secret);
    yield hashKey(key);
  }
}

const MAX_SHOWN = 3;

/**
 * Finds peppers that are needed by active keys but not configured.
 * @returns a message per missing pepper, including how to fix the problem
 */
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
