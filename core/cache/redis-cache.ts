/** Caches values for all replicas in Redis. One replica builds a value, and the other replicas read it from Redis. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cached, SharedCache } from '../contracts/cache.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { CircuitBreaker, RedisScript, readScript } from '../redis/circuit-breaker.js';
import type { RedisConnection } from '../redis/connection.js';
import { withTimeout } from '../util/with-timeout.js';
import { type Loaded, MemoryCache } from './memory-cache.js';

const claimScript = new RedisScript(readScript('core/cache/claim.lua'));
const storeScript = new RedisScript(readScript('core/cache/store.lua'));

const LOCK_MS = 2000;
const EXPIRE_MS = 24 * 3600 * 1000;

interface Claim {
  readonly mine: boolean;
  /** The cached value, which may be stale. */
  readonly found: Loaded | undefined;
}

/** Ensures that only one process builds an entry. Methods reject if Redis does not reply in time. */
export class BuildLock {
  readonly #token = randomBytes(12).toString('hex');

  constructor(
    readonly redis: RedisConnection,
    readonly key: string,
    readonly ttlMs: number,
  ) {}

  async claim(): Promise<Claim> {
    const args = [this.#token, this.ttlMs, LOCK_MS, EXPIRE_MS];
    const reply = claimScript.run<[number, Buffer | null, number]>(this.redis.client, [this.key], args);
    const since = performance.now();
    const [mine, value, ageMs] = await withTimeout(reply, this.redis.timeoutMs);
    this.redis.durations.observe((performance.now() - since) / 1000);
    return { mine: mine === 1, found: value === null ? undefined : { value: value.toString(), ageMs } };
  }

  store(value: string): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS, value]);
  }

  release(): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS]);
  }

  #end(args: readonly (string | number)[]): Promise<unknown> {
    return withTimeout(storeScript.run(this.redis.client, [this.key], args), this.redis.timeoutMs);
  }
}

const POLL_MS = 50;
const WAIT_MS = 5000;

/**
 * A cache hit needs no call to Redis, because each replica keeps a copy. The replica that holds the lock builds new
 * values. While Redis is unreachable, each replica builds its own values.
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
      redis,
      probe: () => this.check(),
      logger,
    });
  }

  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached> {
    return this.#copies.getOrLoad(name, ttlSeconds, () => this.#load(name, ttlSeconds, build));
  }

  async check(): Promise<void> {
    const lock = new BuildLock(this.#redis, this.#keyOf(`check-${randomBytes(8).toString('hex')}`), 1);
    await lock.claim();
    await lock.release();
  }

  health(): Health {
    return this.#breaker.isOpen
      ? { ok: false, message: 'The shared cache is unavailable: each replica uses its own cache.' }
      : { ok: true, message: null };
  }

  async close(): Promise<void> {
    this.#breaker.dispose();
  }

  #keyOf(name: string): string {
    return `${this.#redis.keyPrefix}{cache:${name}}:entry`;
  }

  async #load(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Loaded> {
    const lock = new BuildLock(this.#redis, this.#keyOf(name), ttlSeconds * 1000);
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
      const value = await build();
      await this.#ask(lock.store(value));
      return { value, ageMs: 0 };
    } catch (error) {
      // The lock is kept until it expires, so that replicas do not retry a failed build at once.
      if (previous) return previous;
      await this.#ask(lock.release());
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  async #ask<T>(reply: Promise<T>): Promise<T | undefined> {
    try {
      return await reply;
    } catch (error) {
      this.#breaker.open(error);
      return undefined;
    }
  }
}
