/** Identifies callers by the Authorization header, records when keys were last used, and warns about unusable keys. */
import type { AuthConfig } from '../config/schema.js';
import { type Tier, type Tiers, tierNames } from '../config/tiers.js';
import type { KeyRecord, KeyStore } from '../contracts/keys.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { withTimeout } from '../util/with-timeout.js';
import { isActive, isKey, missingPeppers, Peppers } from './key.js';

/** The caller of a request, whose limit applies. */
export interface Caller {
  /** `key:<id>` or `ip:<address or /64 prefix>`. */
  readonly id: string;
  readonly limit: number;
  /** The tier of the key, or of callers without a key; undefined if there is none. */
  readonly tier: Tier | undefined;
  /** The record of a valid key; undefined without one. */
  readonly key: KeyRecord | undefined;
  /** The id of the key as JSON, for the log. It is kept here, since a cache of all keys would be too large. */
  readonly loggedKey: string;
  /** The settings from which limit and tier were read. */
  readonly tiers: Tiers;
}

/** An active key of a configured tier. */
export interface KeyIdentity {
  readonly kind: 'key';
  readonly record: KeyRecord;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  readonly use: Use;
  /** Cached here, since a property is faster than a look-up. */
  caller: Caller | undefined;
}

/** The last use of a key, in milliseconds since 1970. */
interface Use {
  time: number;
}

type Identity =
  | KeyIdentity
  /** The request has no credentials. */
  | { readonly kind: 'none' }
  /** The credentials are not valid. Responses do not say why. */
  | { readonly kind: 'invalid' };

interface AuthenticatorOptions {
  /** The configured tiers. */
  readonly tiers: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  /** Default: none. */
  readonly peppers?: Peppers;
  /** Where the time of each request with an active key is recorded. */
  readonly useOf?: (id: string) => Use;
}

const NONE: Identity = { kind: 'none' };
const INVALID: Identity = { kind: 'invalid' };

/**
 * `Bearer` in any case (RFC 9110 section 11.1), at least one space, and one token68 (RFC 6750 section 2.1). Lists,
 * parameters and more credentials do not match.
 */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Identifies callers. The digest of a key is cached until the store changes.
 *
 * Response times reveal nothing about keys. Keys are compared by digest, so a guess that shares characters with a real key
 * takes as long as any other. Only headers with a valid key are cached.
 */
export class Authenticator {
  /** Keys by header in its usual spelling, so that there is at most one entry per key. */
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

  /** @param authorization the value of the header; an empty one counts as missing */
  identify(authorization: string | undefined): Identity {
    if (authorization === undefined) return NONE;
    const known = this.#cached.get(authorization);
    return known === undefined ? this.#look(authorization) : this.#ifActive(known);
  }

  /** An invalid end (NaN) counts as past. */
  #ifActive(identity: KeyIdentity): Identity {
    const now = this.#clock.now();
    if (!(now < identity.endsAt)) return INVALID;
    identity.use.time = now;
    return identity;
  }

  #look(authorization: string): Identity {
    if (authorization.trim() === '') return NONE;
    const token = BEARER.exec(authorization)?.[1];
    const record = token !== undefined && isKey(token) ? this.#find(token) : undefined;
    // A revocation applies at once even if its time is in the future, since the clocks of replicas differ.
    if (record === undefined || record.revoked_at !== null || !this.#tiers.has(record.tier)) return INVALID;
    const endsAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at);
    const identity: KeyIdentity = { kind: 'key', record, endsAt, use: this.#useOf(record.id), caller: undefined };
    const found = this.#ifActive(identity);
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
/** Timeout of the last write, since an unreachable store must not delay the end of the process. */
const LAST_WRITE_MS = 500;

interface KeyUseOptions {
  /** `KeyStore.noteUse`. */
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  /** Milliseconds between two writes. Default: five minutes. */
  readonly everyMs?: number;
}

interface KeyUse {
  /** The same object for the same key. */
  of(id: string): Use;
  /** Writes pending times, within LAST_WRITE_MS. */
  close(): Promise<void>;
}

/**
 * Records the last use of keys in memory and writes it to the store every few minutes. Only keys used since the last
 * successful write are written.
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
      // Not a warning, since a replica with read-only access fails at every write by intention.
      logger.debug({ err: error }, 'the last use of keys could not be written');
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

interface AuthenticatorDependencies {
  readonly auth: AuthConfig;
  readonly keyStore: KeyStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  /** Warns if no key is active or a pepper is missing. Reads the keys, so the store must be open. */
  open(): Promise<void>;
  /** Writes when keys were last used. Must be called before the store is closed. */
  close(): Promise<void>;
}

export const createAuthenticator = ({
  auth,
  keyStore,
  clock,
  logger,
}: AuthenticatorDependencies): OpenAuthenticator => {
  const peppers = new Peppers(auth.peppers);
  const report = keyReporter({ auth, keyStore, clock, logger }, peppers);
  keyStore.onChange(() => void report());
  const use = keyStore.noteUse && keyUse({ write: keyStore.noteUse.bind(keyStore), logger });
  const authenticator = new Authenticator(keyStore, {
    tiers: tierNames(auth),
    clock,
    peppers,
    ...(use && { useOf: use.of }),
  });
  return { authenticator, open: report, close: async () => use?.close() };
};

/**
 * Warns once, after the first successful read of the keys, about mistakes that cause 401 responses: no key is active
 * although endpoints need one, or a key needs a pepper that is not configured.
 */
const keyReporter = (
  { auth, keyStore, clock, logger }: AuthenticatorDependencies,
  peppers: Peppers,
): (() => Promise<void>) => {
  let isDue = true;
  return async () => {
    if (!isDue) return;
    isDue = false;
    try {
      const records = await keyStore.list();
      if (auth.anonymous === null && !records.some((record) => isActive(record, clock.now()))) {
        logger.warn('no key is active: endpoints that need one respond with 401; create one with "keys create"');
      }
      for (const sentence of missingPeppers(records, peppers, clock.now())) logger.warn(sentence);
    } catch {
      // The keys could not be read. The next change of the store calls this function again.
      isDue = true;
    }
  };
};
