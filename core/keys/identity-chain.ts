import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { IdentifiedCaller, Identity, IdentityRequest, RunningContext } from '../contracts/identity.js';
import type { Plugin } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { LruMap } from '../util/lru-map.js';
import { openPart } from '../util/open-part.js';
import { withTimeout } from '../util/with-timeout.js';
import { type CallerIdentity, INVALID, type InvalidIdentity, NONE, type SomeIdentity } from './authenticator.js';

interface OpenIdentity extends Identity {
  readonly plugin: string;
}

interface Entry {
  readonly identity: SomeIdentity;
  /** In monotonic milliseconds, so that revoked credentials do not stay valid if the system clock is set back. */
  readonly until: number;
}

/** Maximum time in milliseconds for which revoked credentials remain valid. Revoked API keys have the same limit. */
const CACHED_MS = 5000;
const LONGEST_CACHED_MS = 60_000;
const CACHED = 10_000;
const TIMEOUT_MS = 5000;
/** Maximum number of pending identity checks. Further requests get a 503. */
const MOST_WAITING = 200;
const MOST_WAITING_OF_ADDRESS = 20;
/** A plugin can return any number of unknown tiers. Only this many are logged and remembered. */
const MOST_UNKNOWN_TIERS = 20;
const LONGEST_ID = 256;
const PREFIX_OF_LONG_ID = 200;

interface ChainOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly tiers: readonly string[];
}

export class IdentityChain {
  readonly #identities: readonly OpenIdentity[];
  readonly #options: ChainOptions;
  readonly #headers: readonly string[];
  readonly #usesAddress: boolean;
  readonly #cached = new LruMap<string, Entry>(CACHED);
  readonly #pending = new Map<string, Promise<SomeIdentity>>();
  readonly #waiting = new Map<string, number>();
  readonly #unknownTiers = new Set<string>();

  constructor(identities: readonly OpenIdentity[], options: ChainOptions) {
    this.#identities = identities;
    this.#options = options;
    this.#headers = [...new Set(identities.flatMap(headersOf))];
    this.#usesAddress = identities.some(({ usesAddress }) => usesAddress);
  }

  /** Identifies the caller of a request. Cached results are returned synchronously. */
  identify({ headers }: IncomingMessage, address: () => string): SomeIdentity | Promise<SomeIdentity> {
    if (!this.#usesAddress && this.#headers.every((name) => headers[name] === undefined)) return NONE;
    const given = this.#headers.map((name) => headers[name] ?? null);
    const key = hash('sha256', JSON.stringify([...given, this.#usesAddress && address()]), 'base64url');
    const entry = this.#cached.get(key);
    if (entry && this.#options.clock.monotonic() < entry.until) return entry.identity;
    return this.#pending.get(key) ?? this.#ask(key, { headers, address: address() });
  }

  #ask(key: string, request: IdentityRequest): Promise<SomeIdentity> {
    const { address } = request;
    const ofAddress = this.#waiting.get(address) ?? 0;
    if (this.#pending.size >= MOST_WAITING || ofAddress >= MOST_WAITING_OF_ADDRESS) {
      return Promise.reject(new ApiError(errors.service_unavailable));
    }
    this.#waiting.set(address, ofAddress + 1);
    const found = withTimeout(this.#find(request), TIMEOUT_MS, () => new ApiError(errors.service_unavailable))
      .then(({ identity, until }) => {
        this.#cached.set(key, { identity, until });
        return identity;
      })
      .finally(() => {
        this.#pending.delete(key);
        const left = this.#waiting.get(address)! - 1;
        if (left === 0) this.#waiting.delete(address);
        else this.#waiting.set(address, left);
      });
    this.#pending.set(key, found);
    return found;
  }

  async #find(request: IdentityRequest): Promise<Entry> {
    const until = this.#options.clock.monotonic() + CACHED_MS;
    for (const each of this.#identities) {
      if (!each.usesAddress && headersOf(each).every((name) => request.headers[name] === undefined)) continue;
      try {
        const caller = await each.identify(request);
        if (caller !== undefined) return this.#entryOf(each.plugin, caller);
      } catch (error) {
        if (statusOf(error) !== 401) throw error;
        this.#options.logger.debug({ plugin: each.plugin, err: error }, 'credentials were rejected');
        return { identity: rejectionOf(error), until };
      }
    }
    return { identity: NONE, until };
  }

  #entryOf(plugin: string, caller: IdentifiedCaller): Entry {
    const problem = callerProblem(caller);
    if (problem) throw new Error(`The identity of plugin "${plugin}" returned an invalid caller: ${problem}.`);
    const { tier, limit, expiresAt } = caller;
    const id = shortened(caller.id);
    const { clock, tiers, logger } = this.#options;
    const cachedMs = expiresAt === undefined ? CACHED_MS : Math.min(expiresAt - clock.now(), LONGEST_CACHED_MS);
    const now = clock.monotonic();
    if (!tiers.includes(tier)) {
      if (this.#unknownTiers.size < MOST_UNKNOWN_TIERS && !this.#unknownTiers.has(tier)) {
        this.#unknownTiers.add(tier);
        logger.warn({ plugin, tier }, 'a caller was rejected because its tier is not in auth.tiers');
      }
      return { identity: INVALID, until: now + CACHED_MS };
    }
    // The id is encoded, because limiters append text to the account after a separator.
    const account = `id:${plugin}:${encodeURIComponent(id)}`;
    const record = { id, tier, limit_per_minute: limit ?? null };
    return {
      identity: { kind: 'key', account, record, caller: undefined } satisfies CallerIdentity,
      until: now + cachedMs,
    };
  }
}

const headersOf = ({ headers = ['authorization'] }: Identity): readonly string[] => headers;

const statusOf = (error: unknown): unknown => {
  const { status, statusCode } = (error ?? {}) as { readonly status?: unknown; readonly statusCode?: unknown };
  return status ?? statusCode;
};

const rejectionOf = (error: unknown): InvalidIdentity => {
  if (!(error instanceof ApiError)) return INVALID;
  const {
    message,
    options: { headers },
  } = error;
  return { ...INVALID, message, ...(headers && { headers }) };
};

/** Ends a long id with its digest. The id is part of log lines and of Redis keys, and its length is the caller's choice. */
const shortened = (id: string): string =>
  id.length > LONGEST_ID ? `${id.slice(0, PREFIX_OF_LONG_ID).toWellFormed()}~${hash('sha256', id, 'base64url')}` : id;

const callerProblem = (caller: IdentifiedCaller): string | undefined => {
  const { id, tier, limit, expiresAt } = caller ?? {};
  if (typeof id !== 'string' || id === '' || !id.isWellFormed()) return 'id must be well-formed text';
  if (typeof tier !== 'string') return 'tier must be the name of a tier';
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) return 'limit must be a positive integer';
  if (expiresAt !== undefined && !Number.isFinite(expiresAt)) return 'expiresAt must be milliseconds since 1970';
  return undefined;
};

export const openIdentities = (
  loaded: readonly { readonly plugin: Plugin; readonly options: unknown }[],
  contextOf: (plugin: string) => RunningContext,
  chainOptions: ChainOptions,
): IdentityChain | null => {
  const identities = loaded.flatMap(({ plugin, options }): OpenIdentity[] => {
    if (!plugin.identity) return [];
    const { name } = plugin;
    const identity = openPart(name, 'identity', 'identify', () => plugin.identity!(options, contextOf(name)));
    const { headers, usesAddress = false } = identity;
    const lowered = headers?.map((header) => header.toLowerCase());
    const identify = identity.identify.bind(identity);
    return [{ plugin: name, usesAddress, ...(lowered && { headers: lowered }), identify }];
  });
  return identities.length === 0 ? null : new IdentityChain(identities, chainOptions);
};
