/** Tells who sends a request, by its Authorization header. */
import { BoundedMap } from '../bounded-map.js';
import type { KeyRecord, KeyStore } from '../contracts/keys.js';
import type { Clock } from '../contracts/runtime.js';
import { isKey } from './key-format.js';
import { Peppers } from './peppers.js';

/** An entitled key that is in force. */
interface KeyIdentity {
  readonly kind: 'key';
  readonly record: KeyRecord;
}

export type Identity =
  | KeyIdentity
  /** No credentials. */
  | { readonly kind: 'none' }
  /** Anything else; callers are not told what. */
  | { readonly kind: 'invalid' };

export interface KeyRingOptions {
  /** The tiers of keys that are entitled. */
  readonly tiers: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  /** Default: none. */
  readonly peppers?: Peppers;
  /** Told of each request with a key in force, in milliseconds since 1970; so it must cost next to nothing. */
  readonly onUse?: (id: string, time: number) => void;
  /** How many headers are remembered at most, twice over. Default 10,000. */
  readonly recent?: number;
}

const NONE: Identity = { kind: 'none' };
const INVALID: Identity = { kind: 'invalid' };

/**
 * `Bearer`, in any case (RFC 9110 section 11.1), at least one space, and one token68 (RFC 6750 section 2.1): lists,
 * parameters and second credentials do not match.
 */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Identifies callers without hashing a key seen recently.
 *
 * Time tells nothing about keys: a key is compared by its digest alone, so that what a guess has in common with a
 * real key does not show, and only headers found valid are remembered, so that a guess never meets another one.
 */
export class KeyRing {
  readonly #recent: BoundedMap<string, { readonly identity: KeyIdentity; readonly endsAt: number }>;
  readonly #tiers: ReadonlySet<string>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #peppers: Peppers;
  readonly #onUse: (id: string, time: number) => void;

  constructor(
    readonly store: Pick<KeyStore, 'lookup' | 'onChange'>,
    { tiers, clock, peppers = new Peppers(), onUse = () => undefined, recent = 10_000 }: KeyRingOptions,
  ) {
    this.#tiers = new Set(tiers);
    this.#clock = clock;
    this.#peppers = peppers;
    this.#onUse = onUse;
    this.#recent = new BoundedMap(recent);
    store.onChange(() => this.#recent.clear());
  }

  /** @param authorization the header's value; an empty one counts as none */
  identify(authorization: string | undefined): Identity {
    if (authorization === undefined) return NONE;
    const known = this.#recent.get(authorization);
    if (known === undefined) return this.#look(authorization);
    return this.#inForce(known.identity, known.endsAt);
  }

  /** Written so that an end that cannot be read counts as past. */
  #inForce(identity: KeyIdentity, endsAt: number): Identity {
    const now = this.#clock.now();
    if (!(now < endsAt)) return INVALID;
    this.#onUse(identity.record.id, now);
    return identity;
  }

  #look(authorization: string): Identity {
    if (authorization.trim() === '') return NONE;
    const token = BEARER.exec(authorization)?.[1];
    const record = token !== undefined && isKey(token) ? this.#find(token) : undefined;
    // A revocation holds from when it is seen, whatever its time: the clocks of replicas differ.
    if (record === undefined || record.revoked_at !== null || !this.#tiers.has(record.tier)) return INVALID;
    const endsAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at);
    const identity: KeyIdentity = { kind: 'key', record };
    const found = this.#inForce(identity, endsAt);
    if (found === identity) this.#recent.set(authorization, { identity, endsAt });
    return found;
  }

  #find(key: string): KeyRecord | undefined {
    for (const hash of this.#peppers.digests(key)) {
      const record = this.store.lookup(hash);
      if (record !== undefined) return record;
    }
    return undefined;
  }
}
