import type { AuthConfig } from '../config/schema.js';
import { type Tier, type Tiers, tierNames } from '../config/tiers.js';
import type { KeyRecord, KeyStore } from '../contracts/keys.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { OperatorError } from '../errors.js';
import { withTimeout } from '../util/with-timeout.js';
import { familyOf, hashKey, isActive, isMistyped, missingPeppers, Peppers } from './key.js';

export interface Caller {
  /** Identifies the caller to the limiter (see `Limiter.take`). */
  readonly id: string;
  readonly limit: number;
  /** The tier of the key, or the tier for callers without a key. Undefined if there is none. */
  readonly tier: Tier | undefined;
  /** The key, or the caller that a plugin has identified. Undefined if the request has no valid credentials. */
  readonly key: Pick<KeyRecord, 'id' | 'tier'> | undefined;
  /** The key id as JSON, for the log. It is stored here, because a separate cache would be too large. */
  readonly loggedKey: string;
  readonly tiers: Tiers;
}

export interface CallerIdentity {
  readonly kind: 'key';
  readonly account: string;
  readonly record: Pick<KeyRecord, 'id' | 'tier' | 'limit_per_minute'>;
  /**
   * The caller of the key, if known. It is stored with the key, because looking up the caller for every request would
   * be slower.
   */
  caller: Caller | undefined;
}

interface KeyIdentity extends CallerIdentity {
  readonly endsAt: number;
  readonly use: Use;
}

interface Use {
  time: number;
}

export interface InvalidIdentity {
  readonly kind: 'invalid';
  /** The message of a plugin's `ApiError`. Responses do not reveal why an API key is invalid. */
  readonly message?: string;
  /** The headers of a plugin's error. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type SomeIdentity = CallerIdentity | { readonly kind: 'none' } | InvalidIdentity;

interface AuthenticatorOptions {
  readonly tiers: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  readonly peppers?: Peppers;
  readonly useOf?: (id: string) => Use;
}

export const NONE: SomeIdentity = { kind: 'none' };
export const INVALID: InvalidIdentity = { kind: 'invalid' };

/**
 * Matches `Bearer` in any case (RFC 9110, 11.1), at least one space, and a single token (RFC 6750, 2.1). Lists,
 * parameters and additional credentials do not match.
 */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Looks up keys by digest, so that response times reveal nothing about the keys. Only `Authorization` headers with a
 * valid key are cached.
 */
export class Authenticator {
  /** Identities by normalized `Authorization` header. Each API key has at most one entry. */
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

  /** @param authorization the value of the Authorization header; an empty value counts as missing */
  identify(authorization: string | undefined): SomeIdentity {
    if (authorization === undefined) return NONE;
    const known = this.#cached.get(authorization);
    return known === undefined ? this.#look(authorization) : this.#ifActive(known);
  }

  /** An invalid expiry date (NaN) counts as expired. */
  #ifActive(identity: KeyIdentity): SomeIdentity {
    const now = this.#clock.now();
    if (!(now < identity.endsAt)) return INVALID;
    identity.use.time = now;
    return identity;
  }

  #look(authorization: string): SomeIdentity {
    if (authorization.trim() === '') return NONE;
    const token = BEARER.exec(authorization)?.[1];
    const record = token !== undefined && !isMistyped(token) ? this.#find(token) : undefined;
    // The revocation time is not compared with the clock, because the clocks of replicas can differ.
    if (record === undefined || record.revoked_at !== null || !this.#tiers.has(record.tier)) return INVALID;
    const endsAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at);
    const account = `key:${familyOf(record)}`;
    const use = this.#useOf(record.id);
    const identity: KeyIdentity = { kind: 'key', account, record, endsAt, use, caller: undefined };
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
/**
 * Maximum time that an unreachable key store can delay the shutdown. It is long enough to take over the lock of a
 * crashed process, which takes a second.
 */
const LAST_WRITE_MS = 2500;

interface KeyUseOptions {
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  readonly everyMs?: number;
}

interface KeyUse {
  of(id: string): Use;
  close(): Promise<void>;
}

/** Records when keys are used. Each write contains only the keys used since the last successful write. */
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
      // The level is `debug`, because every write fails if the access is read-only.
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
  /** True if plugins can also identify callers. Default: false. */
  readonly hasIdentities?: boolean;
}

export interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  /** Warns if no key is active or a pepper is missing. The key store must already be open. */
  open(): Promise<void>;
  /** Writes when keys were last used. Must be called before the key store is closed. */
  close(): Promise<void>;
}

export const createAuthenticator = ({
  auth,
  keyStore,
  clock,
  logger,
  hasIdentities = false,
}: AuthenticatorDependencies): OpenAuthenticator => {
  const peppers = new Peppers(auth.peppers);
  const report = keyReporter({ auth, keyStore, clock, logger, hasIdentities }, peppers);
  keyStore.onChange(() => void report());
  const use = keyStore.noteUse && keyUse({ write: keyStore.noteUse.bind(keyStore), logger });
  const authenticator = new Authenticator(keyStore, {
    tiers: tierNames(auth),
    clock,
    peppers,
    ...(use && { useOf: use.of }),
  });
  return {
    authenticator,
    async open() {
      checkLookup(keyStore);
      await report();
    },
    close: async () => use?.close(),
  };
};

/** @throws OperatorError if `lookup` is async, because it is called for every request and must find keys in memory */
const checkLookup = (keyStore: KeyStore): void => {
  let found: unknown;
  try {
    found = keyStore.lookup(hashKey(''));
  } catch {
    return;
  }
  if (!(found instanceof Promise)) return;
  found.catch(() => undefined);
  throw new OperatorError('The key store cannot be used: "lookup" must not be async. It must find keys in memory.');
};

const keyReporter = (
  { auth, keyStore, clock, logger, hasIdentities }: AuthenticatorDependencies,
  peppers: Peppers,
): (() => Promise<void>) => {
  let hasReported = false;
  return async () => {
    if (hasReported) return;
    hasReported = true;
    try {
      const records = await keyStore.list();
      if (auth.anonymous === null && !hasIdentities && !records.some((record) => isActive(record, clock.now()))) {
        logger.warn('no key is active: endpoints that need one respond with 401; create one with "keys create"');
      }
      for (const sentence of missingPeppers(records, peppers, clock.now())) logger.warn(sentence);
    } catch {
      hasReported = false;
    }
  };
};
