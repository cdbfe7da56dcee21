/** The text of an API key: a prefix, 256 random bits, a checksum; and the hash under which it is known. */
import { createHmac, hash, type KeyObject, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRecord } from '../contracts/keys.js';
import { defaultService } from '../contracts/service.js';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256: that many digits drawn evenly are more than 256 random bits. */
const SECRET_LENGTH = 43;
/** 62^6 > 2^32. */
const CHECKSUM_LENGTH = 6;
const ID_LENGTH = 10;

// Base 62 has no punctuation: a double click selects the whole key, and it needs no escaping anywhere.
// Any prefix: keys that were made before a service changed its own stay valid.
const SHAPE = new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,18}_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

const randomDigits = (length: number): string =>
  Array.from({ length }, () => DIGITS[randomInt(DIGITS.length)]).join('');

const base62 = (value: number, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text;
};

/**
 * CRC-32 of all that stands before it. It is there against typing errors, of which it finds all that lie within four
 * neighbouring characters, against cut pastes, and against false alarms of scanners. It keeps nobody out who wants to
 * forge a well-formed key, nor would a longer one: what keeps them out are the 256 bits.
 */
const checksum = (text: string): string => base62(crc32(text), CHECKSUM_LENGTH);

/**
 * SHA-256, or HMAC-SHA-256 under a pepper (RFC 2104), in lower-case hex. With 256 random bits there is nothing to
 * guess, so a slow hash would gain nothing.
 */
export const hashKey = (key: string, pepper?: KeyObject): string =>
  pepper === undefined ? hash('sha256', key, 'hex') : createHmac('sha256', pepper).update(key).digest('hex');

export type KeyDigest = Pick<KeyRecord, 'hash' | 'pepper'>;

/**
 * A new key, the hash to keep, and an id for its record that says nothing of it.
 * @param peppers those of which the newest is to be mixed in; absent: none is
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

/** Whether a text has the form of a key, checksum included; any other text needs no look-up. */
export const isKey = (text: string): boolean =>
  SHAPE.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
