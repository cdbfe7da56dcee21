/**
 * An API key: its text (a prefix, 256 random bits, a checksum), its digests and its record; and the masking of keys in
 * other texts.
 */
import { createHmac, createSecretKey, hash, type KeyObject, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRecord } from '../contracts/keys.js';
import { defaultService } from '../contracts/service.js';

/**
 * At least 33 characters of what follows a key's prefix. Shorter texts are not masked: they may be names or trace ids,
 * and 32 characters of a key leave at least 11 random ones (65 bits) to guess.
 */
const SECRETS = /[0-9A-Za-z]{33,}/g;

/** Keys become `prefix_***`, and their secret part alone `***`. */
export const maskKeys = (text: string): string => text.replace(SECRETS, '***');

export const holdsKey = (text: string): boolean => maskKeys(text) !== text;

const LONGEST_SHOWN = 80;

/** A caller's text as errors quote it: without keys, and so short that an error does not grow with its request. */
export const excerpt = (text: string, longest = LONGEST_SHOWN): string => {
  const masked = maskKeys(text);
  return masked.length > longest ? `${masked.slice(0, longest)}…` : masked;
};

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256: that many digits drawn evenly are more than 256 random bits. */
const SECRET_LENGTH = 43;
/** Enough digits for a CRC-32: 62^6 > 2^32. */
const CHECKSUM_LENGTH = 6;
const ID_LENGTH = 10;

// Base 62 has no punctuation: a double click selects the whole key, and it needs no escaping anywhere. Any prefix is
// accepted: keys stay valid when a service changes its prefix.
const SHAPE = new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,18}_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

const randomDigits = (length: number): string =>
  Array.from({ length }, () => DIGITS[randomInt(DIGITS.length)]).join('');

const base62 = (value: number, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text;
};

/**
 * CRC-32 of the text before it: finds typing errors (all within four neighbouring characters), pastes that were cut,
 * and texts that only look like keys to a scanner of secrets. Against forgery the 256 random bits protect.
 */
const checksum = (text: string): string => base62(crc32(text), CHECKSUM_LENGTH);

/**
 * SHA-256, or HMAC-SHA-256 under a pepper (RFC 2104), in lower-case hex. With 256 random bits there is nothing to
 * guess, so a slow hash would gain nothing.
 */
export const hashKey = (key: string, pepper?: KeyObject): string =>
  pepper === undefined ? hash('sha256', key, 'hex') : createHmac('sha256', pepper).update(key).digest('hex');

type KeyDigest = Pick<KeyRecord, 'hash' | 'pepper'>;

/**
 * A new key, the hash to store, and a random id for its record.
 * @param peppers the newest of which is mixed in; absent: no pepper
 * @param prefix lets people and secret scanners recognise a key that leaked
 */
export const createKey = (
  peppers?: { digest(key: string): KeyDigest },
  prefix: string = defaultService.keyPrefix,
): KeyDigest & { key: string; id: string } => {
  const text = prefix + randomDigits(SECRET_LENGTH);
  const key = text + checksum(text);
  return { key, ...(peppers?.digest(key) ?? { hash: hashKey(key) }), id: `key_${randomDigits(ID_LENGTH)}` };
};

/** Whether a text is a well-formed key, checksum included; any other text needs no look-up. */
export const isKey = (text: string): boolean =>
  SHAPE.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));

/** What keys have in common that share a limit and a usage by rotation: the id of the first of them. */
export const familyOf = ({ id, shares_limit_of }: Pick<KeyRecord, 'id' | 'shares_limit_of'>): string =>
  shares_limit_of ?? id;

/**
 * Whether a key has neither been revoked nor expired. An `expires_at` that is not a date counts as past.
 * @param now milliseconds since 1970
 */
export const isInForce = (
  { revoked_at, expires_at }: Pick<KeyRecord, 'revoked_at' | 'expires_at'>,
  now: number,
): boolean => revoked_at === null && (expires_at === null || now < Date.parse(expires_at));

/** The fields of a new key's record that the operator chooses. */
type KeyTerms = Pick<KeyRecord, 'name' | 'tier'> &
  Partial<Pick<KeyRecord, 'limit_per_minute' | 'expires_at' | 'shares_limit_of'>>;

/** A new key with its record. @param now milliseconds since 1970 */
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
  /** By version, the newest first. */
  readonly #secrets: ReadonlyMap<number, KeyObject>;

  /** @param secrets by version, as the configuration has them; none: keys are stored by their SHA-256 */
  constructor(secrets: Readonly<Record<string, string>> = {}) {
    const versions = Object.keys(secrets).sort((a, b) => Number(b) - Number(a));
    this.#secrets = new Map(versions.map((each) => [Number(each), createSecretKey(secrets[each]!, 'utf8')]));
  }

  has(version: number): boolean {
    return this.#secrets.has(version);
  }

  /** The digest of a new key under the newest pepper, with the pepper's version. */
  digest(key: string): KeyDigest {
    for (const [pepper, secret] of this.#secrets) return { hash: hashKey(key, secret), pepper };
    return { hash: hashKey(key) };
  }

  /** Every digest under which a key may be stored, each made when it is read; the one without a pepper comes last. */
  *digests(key: string): Generator<string> {
    for (const secret of this.#secrets.values()) yield hashKey(key, secret);
    yield hashKey(key);
  }
}

const MOST_SHOWN = 3;

/**
 * Finds peppers that are not configured although keys in force need them.
 * @returns a sentence for each such pepper, with what to do
 */
export const missingPeppers = (
  records: readonly Omit<KeyRecord, 'hash'>[],
  peppers: Peppers,
  now: number,
): readonly string[] => {
  const missing = new Map<number, string[]>();
  for (const record of records) {
    const { id, pepper } = record;
    if (pepper === undefined || peppers.has(pepper) || !isInForce(record, now)) continue;
    missing.set(pepper, [...(missing.get(pepper) ?? []), id]);
  }
  return [...missing].map(([version, ids]) => {
    const more = ids.length > MOST_SHOWN ? ` and ${ids.length - MOST_SHOWN} more` : '';
    const shown = `${ids.slice(0, MOST_SHOWN).join(', ')}${more}`;
    return `auth.peppers has no version ${version}, so that these keys are refused: ${shown}. Set it to what it was when they were made, or give their holders new keys.`;
  });
};
