/**
 * Secrets that are mixed into the digests of keys, by version: whoever has a copy of the store alone cannot tell
 * whether a key that was found somewhere is one of it.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyRecord } from '../contracts/keys.js';
import { isInForce } from './in-force.js';
import { hashKey, type KeyDigest } from './key-format.js';

export class Peppers {
  /** By version, the newest first. */
  readonly #secrets: ReadonlyMap<number, KeyObject>;

  /** @param secrets by version, as the configuration has them; none: keys are kept by their SHA-256 */
  constructor(secrets: Readonly<Record<string, string>> = {}) {
    const versions = Object.keys(secrets).sort((a, b) => Number(b) - Number(a));
    this.#secrets = new Map(versions.map((each) => [Number(each), createSecretKey(secrets[each]!, 'utf8')]));
  }

  has(version: number): boolean {
    return this.#secrets.has(version);
  }

  /** What a new key is kept by: its digest under the newest pepper, and that one's version. */
  digest(key: string): KeyDigest {
    for (const [pepper, secret] of this.#secrets) return { hash: hashKey(key, secret), pepper };
    return { hash: hashKey(key) };
  }

  /** Every digest that a key may be kept by, each made when it is asked for; at last the one without a pepper. */
  *digests(key: string): Generator<string> {
    for (const secret of this.#secrets.values()) yield hashKey(key, secret);
    yield hashKey(key);
  }
}

const MOST_SHOWN = 3;

/**
 * Whose keys would be refused although they are in force, since their pepper is not configured.
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
