/** Tells who sends a request, by its Authorization header, and notes when keys were used last. */
import type { Tier, Tiers } from '../config/tiers.js';
import type { KeyRecord, KeyStore } from '../contracts/keys.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { withTimeout } from '../util/with-timeout.js';
import { isKey, Peppers } from './key.js';

/** Who a request counts against. */
export interface Caller {
  /** `key:<id>` or `ip:<address or /64 prefix>`. */
  readonly id: string;
  readonly limit: number;
  /** The tier of the key, or of callers without a key; undefined if those have no tier. */
  readonly tier: Tier | undefined;
  /** The key's record, where a valid one was sent. */
  readonly key: KeyRecord | undefined;
  /** The key's id as JSON, for the log; there are too many keys to memoize it by. */
  readonly loggedKey: string;
  /** The settings that limit and tier are of. */
  readonly tiers: Tiers;
}

/** An entitled key that is in force. */
export interface KeyIdentity {
  readonly kind: 'key';
  readonly record: KeyRecord;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  readonly use: Use;
  /** Kept here by `identify`, since a property costs each request less than a look-up. */
  caller: Caller | undefined;
}

/** When a key was used last, in milliseconds since 1970. */
interface Use {
  time: number;
}

type Identity =
  | KeyIdentity
  /** The request has no credentials. */
  | { readonly kind: 'none' }
  /** The credentials are not valid; callers are not told why. */
  | { readonly kind: 'invalid' };

interface AuthenticatorOptions {
  /** The tiers of keys that are entitled. */
  readonly tiers: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  /** Default: none. */
  readonly peppers?: Peppers;
  /** Where the time of each request with a key in force is noted. */
  readonly useOf?: (id: string) => Use;
}

const NONE: Identity = { kind: 'none' };
const INVALID: Identity = { kind: 'invalid' };

/**
 * `Bearer`, in any case (RFC 9110 section 11.1), at least one space, and one token68 (RFC 6750 section 2.1): lists,
 * parameters and second credentials do not match.
 */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Identifies callers, and hashes each key once for as long as the store stays as it is.
 *
 * Time tells nothing about keys: a key is compared by its digest alone, so that what a guess has in common with a
 * real key does not show, and only headers with a valid key are cached, so that a guess never meets another one.
 */
export class Authenticator {
  /** Keys by the header in its usual spelling: one entry for each key, so never more than the store has. */
  readonly #cached = new Map<string, KeyIdentity>();
  readonly #tiers: ReadonlySet<string>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #peppers: Peppers;
  readonly #useOf: (id: string) => Use;

  constructor(
    readonly store: Pick<KeyStore, 'lookup' | 'onChange'>,
    { tiers, clock, peppers = new Peppers(), useOf = () => ({ time: 0 }) }: AuthenticatorOptions,
  ) {
    this.#tiers = new Set(tiers);
    this.#clock = clock;
    this.#peppers = peppers;
    this.#useOf = useOf;
    store.onChange(() => this.#cached.clear());
  }

  /** @param authorization the header's value; an empty one counts as none */
  identify(authorization: string | undefined): Identity {
    if (authorization === undefined) return NONE;
    const known = this.#cached.get(authorization);
    return known === undefined ? this.#look(authorization) : this.#inForce(known);
  }

  /** The comparison counts an end that cannot be read as past. */
  #inForce(identity: KeyIdentity): Identity {
    const now = this.#clock.now();
    if (!(now < identity.endsAt)) return INVALID;
    identity.use.time = now;
    return identity;
  }

  #look(authorization: string): Identity {
    if (authorization.trim() === '') return NONE;
    const token = BEARER.exec(authorization)?.[1];
    const record = token !== undefined && isKey(token) ? this.#find(token) : undefined;
    // A revocation applies as soon as it is seen, whatever its time, since the clocks of replicas differ.
    if (record === undefined || record.revoked_at !== null || !this.#tiers.has(record.tier)) return INVALID;
    const endsAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at);
    const identity: KeyIdentity = { kind: 'key', record, endsAt, use: this.#useOf(record.id), caller: undefined };
    const found = this.#inForce(identity);
    if (found === identity && authorization === `Bearer ${token}`) this.#cached.set(authorization, identity);
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

const WRITE_EVERY_MS = 5 * 60_000;
/** How long the last write may take: a store that is away must not keep the process from ending. */
const LAST_WRITE_MS = 500;

interface KeyUseOptions {
  /** As `KeyStore.noteUse`. */
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  /** Milliseconds between two writes. Default: five minutes. */
  readonly everyMs?: number;
}

interface KeyUse {
  /** Where the last use of a key is noted; the same object for the same key. */
  of(id: string): Use;
  /** Writes what is pending, waiting LAST_WRITE_MS at most. */
  close(): Promise<void>;
}

/**
 * Notes in memory when keys are used, and writes it to the store every few minutes: one number for each key used since
 * the last write that succeeded.
 */
export const keyUse = ({ write, logger, everyMs = WRITE_EVERY_MS }: KeyUseOptions): KeyUse => {
  const uses = new Map<string, Use & { written: number }>();
  const writeTimes = async (): Promise<void> => {
    const times = new Map<string, number>();
    for (const [id, use] of uses) {
      if (use.time !== use.written) times.set(id, use.time);
      use.written = use.time;
    }
    if (times.size === 0) return;
    try {
      await write(times);
    } catch (error) {
      for (const id of times.keys()) uses.get(id)!.written = 0;
      // Not a warning: a replica that may only read fails at every write, and by intention.
      logger.debug({ err: error }, 'when keys were used last could not be written');
    }
  };
  const timer = setInterval(() => void writeTimes(), everyMs).unref();
  return {
    of: (id) => {
      const known = uses.get(id);
      if (known) return known;
      const use = { time: 0, written: 0 };
      uses.set(id, use);
      return use;
    },
    async close() {
      clearInterval(timer);
      await withTimeout(writeTimes(), LAST_WRITE_MS).catch(() => undefined);
    },
  };
};
