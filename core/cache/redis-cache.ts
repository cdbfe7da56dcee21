/** The cache of many replicas: a value is built by one of them at a time, and kept in Redis for all. */
import { setTimeout as delay } from 'node:timers/promises';
import { Breaker } from '../breaker.js';
import type { Cached, SharedCache } from '../contracts/cache.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import type { RedisConnection } from '../redis.js';
import { within } from '../within.js';
import { LEASE_MS, Lease } from './lease.js';
import { type Loaded, MemoryCache } from './memory-cache.js';

/** How often a replica looks for the first value that another one builds. */
const POLL_MS = 50;
/** After so long it builds one for itself. */
const WAIT_MS = 5000;
/** A build that takes longer has failed, and its lease ends. */
const BUILD_LIMIT_MS = 10_000;

/**
 * Each replica keeps a copy for as long as the value is fresh by Redis's clock, so hits cost no call. A lease makes
 * one replica the builder; it is renewed while the build goes on and ends within two seconds of its holder's death.
 * While Redis is away each replica builds its own value.
 */
export class RedisCache implements SharedCache {
  readonly #redis: RedisConnection;
  readonly #copies: MemoryCache;
  readonly #breaker: Breaker;

  constructor(options: { readonly redis: RedisConnection; readonly clock?: Clock; readonly logger: Logger }) {
    const { redis, clock = systemClock, logger } = options;
    this.#redis = redis;
    this.#copies = new MemoryCache({ clock });
    this.#breaker = new Breaker({
      name: 'cache',
      // A write, since a Redis that cannot keep anything is of no use.
      probe: () => redis.client.set(`${redis.keyPrefix}{cache}:probe`, 1, 'PX', 1000),
      timeoutMs: redis.timeoutMs,
      logger,
    });
  }

  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached> {
    return this.#copies.getOrLoad(name, ttlSeconds, () => this.#load(name, ttlSeconds, build));
  }

  health(): Health {
    return this.#breaker.open
      ? { ok: false, message: 'The shared cache is away: each replica keeps its own.' }
      : { ok: true, message: null };
  }

  /** Leaves the connection, which is its owner's, open. */
  async close(): Promise<void> {
    this.#breaker.dispose();
  }

  async #load(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Loaded> {
    const key = `${this.#redis.keyPrefix}{cache:${name}}:entry`;
    const lease = new Lease(this.#redis, key, ttlSeconds * 1000);
    for (let waited = 0; waited < WAIT_MS && !this.#breaker.open; waited += POLL_MS) {
      const claim = await this.#ask(lease.claim());
      if (!claim) break;
      if (claim.mine) return this.#build(lease, build, claim.found);
      if (claim.found) return claim.found;
      await delay(POLL_MS);
    }
    return { value: await build(), ageMs: 0 };
  }

  async #build(lease: Lease, build: () => Promise<string>, previous: Loaded | undefined): Promise<Loaded> {
    const renewal = setInterval(() => void this.#ask(lease.claim()), LEASE_MS / 4);
    try {
      const value = await within(build(), BUILD_LIMIT_MS);
      await this.#ask(lease.keep(value));
      return { value, ageMs: 0 };
    } catch (error) {
      // With something to answer, the lease is left to run out, so that nobody tries again at once.
      if (previous) return previous;
      await this.#ask(lease.release());
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  /** Undefined when Redis has not answered. */
  async #ask<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#breaker.trip(error);
      return undefined;
    }
  }
}
