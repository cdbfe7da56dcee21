/** The cache of many replicas: one replica at a time builds a value, which Redis stores for all. */

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cached, SharedCache } from '../contracts/cache.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { withTimeout } from '../util/with-timeout.js';
import { CircuitBreaker } from './breaker.js';
import { type RedisConnection, RedisScript, readScript } from './connection.js';
import { type Loaded, MemoryCache } from './memory-cache.js';

const claimScript = new RedisScript(readScript('core/redis/claim.lua'));
const storeScript = new RedisScript(readScript('core/redis/store.lua'));

/** A builder that has not renewed its lock for this long counts as dead or failed. */
export const LOCK_MS = 2000;
/** An entry without a request in this time expires. */
const EXPIRE_MS = 24 * 3600 * 1000;

interface Claim {
  /** Whether the caller is to build it now. */
  readonly mine: boolean;
  /** The cached value, however old. */
  readonly found: Loaded | undefined;
}

/** One process's part in building one entry. Methods reject when Redis does not answer in time. */
export class BuildLock {
  readonly #token = randomBytes(12).toString('hex');

  constructor(
    readonly redis: RedisConnection,
    readonly key: string,
    readonly ttlMs: number,
  ) {}

  /** Reads the entry. Takes the lock if the entry is due and the lock free; renews the lock if this process has it. */
  async claim(): Promise<Claim> {
    const args = [this.#token, this.ttlMs, LOCK_MS, EXPIRE_MS];
    const reply = claimScript.run<[number, Buffer | null, number]>(this.redis.client, [this.key], args);
    const [mine, value, ageMs] = await withTimeout(reply, this.redis.timeoutMs);
    return { mine: mine === 1, found: value === null ? undefined : { value: value.toString(), ageMs } };
  }

  /** Writes the entry and ends the lock. Does nothing when the lock was lost. */
  store(value: string): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS, value]);
  }

  /** Ends the lock without a value. */
  release(): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS]);
  }

  #end(args: readonly (string | number)[]): Promise<unknown> {
    return withTimeout(storeScript.run(this.redis.client, [this.key], args), this.redis.timeoutMs);
  }
}

/** How often a replica polls for the first value while another replica builds it. */
const POLL_MS = 50;
/** A replica that has waited this long builds the value for itself. */
const WAIT_MS = 5000;
/** A build that takes longer has failed, and its lock ends. */
const BUILD_LIMIT_MS = 10_000;

/**
 * Each replica keeps a copy for as long as the value is fresh by Redis's clock, so hits cost no call. A lock makes
 * one replica the builder; it is renewed while the build goes on and ends within two seconds of its holder's death.
 * While Redis is away each replica builds its own value.
 */
export class RedisCache implements SharedCache {
  readonly #redis: RedisConnection;
  readonly #copies: MemoryCache;
  readonly #breaker: CircuitBreaker;

  constructor(options: { readonly redis: RedisConnection; readonly clock?: Clock; readonly logger: Logger }) {
    const { redis, clock = systemClock, logger } = options;
    this.#redis = redis;
    this.#copies = new MemoryCache({ clock });
    this.#breaker = new CircuitBreaker({
      name: 'cache',
      // The probe is a write: a Redis that can only be read is of no use here.
      probe: () => redis.client.set(`${redis.keyPrefix}{cache}:probe`, 1, 'PX', 1000),
      timeoutMs: redis.timeoutMs,
      logger,
    });
  }

  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached> {
    return this.#copies.getOrLoad(name, ttlSeconds, () => this.#load(name, ttlSeconds, build));
  }

  health(): Health {
    return this.#breaker.isOpen
      ? { ok: false, message: 'The shared cache is away: each replica keeps its own.' }
      : { ok: true, message: null };
  }

  /** Leaves the connection open: its owner closes it. */
  async close(): Promise<void> {
    this.#breaker.dispose();
  }

  async #load(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Loaded> {
    const key = `${this.#redis.keyPrefix}{cache:${name}}:entry`;
    const lock = new BuildLock(this.#redis, key, ttlSeconds * 1000);
    for (let waited = 0; waited < WAIT_MS && !this.#breaker.isOpen; waited += POLL_MS) {
      const claim = await this.#ask(lock.claim());
      if (!claim) break;
      if (claim.mine) return this.#build(lock, build, claim.found);
      if (claim.found) return claim.found;
      await delay(POLL_MS);
    }
    return { value: await build(), ageMs: 0 };
  }

  async #build(lock: BuildLock, build: () => Promise<string>, previous: Loaded | undefined): Promise<Loaded> {
    const renewal = setInterval(() => void this.#ask(lock.claim()), LOCK_MS / 4);
    try {
      const value = await withTimeout(build(), BUILD_LIMIT_MS);
      await this.#ask(lock.store(value));
      return { value, ageMs: 0 };
    } catch (error) {
      // With a previous value to serve, the lock is left to expire, so that no replica tries again at once.
      if (previous) return previous;
      await this.#ask(lock.release());
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  /** Undefined when Redis has not responded. */
  async #ask<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#breaker.open(error);
      return undefined;
    }
  }
}
