/** Limiter for several replicas. README.md explains its protocol and proves that no limit is exceeded. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { CircuitBreaker } from '../redis/calls.js';
import type { RedisConnection } from '../redis/connection.js';
import { isReply } from '../redis/problems.js';
import { withTimeout } from '../util/with-timeout.js';
import { Batcher } from './batcher.js';
import { type CallerState, Callers, MOST_ADDRESSES, partitionKeys, partitionOf } from './callers.js';
import { LocalLimits, OUTAGE_MESSAGES, type OutagePolicy } from './local.js';
import { DAY_MS } from './quotas.js';
import { decideScript } from './script.js';
import { readUsage, UsageCounter } from './usage.js';

interface RedisLimiterOptions {
  readonly redis: RedisConnection;
  /** Number of replicas that share the limits. The policy `local` divides limits by this number. */
  readonly replicas: number;
  readonly whenUnreachable?: OutagePolicy;
  readonly windowMs?: number;
  /** Whether callers can have quotas. Default: false. */
  readonly countsUsage?: boolean;
  readonly clock?: Clock;
  readonly logger: Logger;
}

/**
 * After a resync with a Redis server that may have lost data, the replica keeps deciding locally for this long. In this
 * time, the other replicas reconnect (`core/redis/connection.ts`), close their circuit breakers or notice the loss, and
 * also resync. Otherwise the first replica to ask could get permits that other replicas have already used.
 */
const REJOIN_MS = 500;
/**
 * Interval at which a replica checks that Redis can run the script. Without this check, an error could go unnoticed
 * while no request needs a call.
 */
const CHECK_MS = 5000;
/** Interval at which a replica checks whether Redis has lost counts that it still needs. */
const POLL_MS = REJOIN_MS / 2;

/** Timeout for reading usage, and for the check at startup. */
const READ_MS = 1000;

/** Maximum time that `close` waits for Redis. Long enough for a lost call, a probe and another call. */
const CLOSE_MS = 2000;
const CLOSE_POLL_MS = 5;

const randomId = (): number => randomBytes(4).readUInt32BE();

export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #policy: OutagePolicy;
  readonly #clock: Clock;
  readonly #batchers: readonly Batcher[];
  readonly #callers: Callers<CallerState>;
  readonly #local: LocalLimits;
  readonly #breaker: CircuitBreaker;
  /** The partition whose last call failed. The circuit breaker probes it. */
  #failed: Batcher;
  #nextCheck: number;
  readonly #polling: NodeJS.Timeout;
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;

  constructor(options: RedisLimiterOptions) {
    const { redis, replicas, whenUnreachable = 'local', windowMs = WINDOW_MS, clock = systemClock, logger } = options;
    const { countsUsage = false } = options;
    this.#redis = redis;
    this.#policy = whenUnreachable;
    this.#clock = clock;
    this.#local = new LocalLimits({ policy: whenUnreachable, replicas, windowMs, startedAt: clock.monotonic() });
    this.#batchers = this.#createBatchers(windowMs, countsUsage);
    this.#failed = this.#batchers[0] as Batcher;
    // A resync reports yesterday's and today's usage, so callers with usage are kept for at least a day.
    this.#callers = new Callers(countsUsage ? DAY_MS : windowMs, (name) => this.#batcherOf(name).createCaller(name));
    this.#breaker = new CircuitBreaker({
      name: 'limiter',
      redis,
      probe: () => this.#failed.check(),
      onClose: () => {
        void this.#rejoin(this.#connectionLost);
        this.#connectionLost = false;
      },
      logger,
    });
    redis.client.on('close', this.#onConnectionLost);
    this.#nextCheck = clock.monotonic() + CHECK_MS;
    this.#polling = setInterval(() => this.#poll(clock.monotonic()), POLL_MS).unref();
  }

  /** Opens the circuit breaker if Redis cannot run the script. @throws the error from Redis or from the connection */
  async check(): Promise<void> {
    try {
      await withTimeout(this.#failed.check(), READ_MS);
    } catch (error) {
      this.#breaker.open(error);
      throw this.#redis.causeOf(error);
    }
  }

  #poll(now: number): void {
    if (this.#isLocal(now)) return;
    for (const batcher of this.#batchers) batcher.checkForDataLoss(now, POLL_MS);
    if (now < this.#nextCheck) return;
    this.#nextCheck = now + CHECK_MS;
    // Timeouts can be ignored here, because the calls for requests detect them.
    this.#failed.check().catch((error: unknown) => {
      if (isReply(error)) this.#breaker.open(error);
    });
  }

  #createBatchers(windowMs: number, countsUsage: boolean): Batcher[] {
    const { client, keyPrefix } = this.#redis;
    const clock = this.#clock;
    const replica = randomId();
    const keys = partitionKeys(keyPrefix, client.isCluster);
    const script = decideScript({ windowMs, countsUsage, mostAddresses: Math.ceil(MOST_ADDRESSES / keys.length) });
    return keys.map(
      (key) =>
        new Batcher({
          target: { redis: client, key, replica, windowMs, script },
          countsUsage,
          redis: this.#redis,
          clock,
          isUnreachable: () => this.#breaker.isOpen,
          onFailure: (batcher, error) => {
            this.#failed = batcher;
            this.#breaker.open(error);
          },
          onDataLoss: () => void this.#rejoin(true),
          decideLocally: (caller) => this.#local.decide(caller, clock.monotonic()),
        }),
    );
  }

  take(name: string, limit: number, quotas?: Quotas): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const caller = this.#callers.get(name, now);
    const { batcher } = caller;
    if (limit !== caller.limit || quotas !== caller.quotas) batcher.changeLimit(caller, limit, quotas);
    if (quotas) caller.usage ??= new UsageCounter(randomId());
    if (now < caller.rejectUntil && !caller.prefetched) return batcher.reject(caller, now);
    if (this.#isLocal(now)) return this.#local.decide(caller, now);
    return batcher.decisions.allowPrefetched(caller, now) ?? batcher.ask(caller);
  }

  async usage(name: string): Promise<readonly DayUsage[]> {
    const { key } = this.#batcherOf(name);
    try {
      return await withTimeout(readUsage(this.#redis.client, key, name, this.#clock.now()), READ_MS);
    } catch (cause) {
      throw new LimiterUnavailable('The usage store is unreachable.', { cause });
    }
  }

  health(): Health {
    if (!this.#isLocal(this.#clock.monotonic())) return { ok: true, message: null };
    return { ok: false, message: OUTAGE_MESSAGES[this.#policy] };
  }

  /**
   * Returns unused permits and reports everything that Redis does not know yet. Takes at most `CLOSE_MS`. The
   * connection stays open, because its owner closes it.
   */
  async close(): Promise<void> {
    clearInterval(this.#polling);
    const until = this.#clock.monotonic() + CLOSE_MS;
    while (this.#clock.monotonic() < until) {
      // Replies that arrived in the meantime may have added prefetched permits.
      for (const batcher of this.#batchers) batcher.returnAll();
      if (!this.#hasUnreported()) break;
      this.#reportAll();
      await delay(CLOSE_POLL_MS);
    }
    this.#redis.client.off('close', this.#onConnectionLost);
    this.#breaker.dispose();
  }

  #batcherOf(name: string): Batcher {
    return this.#batchers[partitionOf(name, this.#batchers.length)] as Batcher;
  }

  #isLocal(now: number): boolean {
    return this.#breaker.isOpen || now < this.#rejoinsAt;
  }

  readonly #onConnectionLost = () => {
    this.#connectionLost = true;
    this.#breaker.open(new Error('The connection to Redis was lost.'));
  };

  async #rejoin(mayHaveLostData: boolean): Promise<void> {
    if (mayHaveLostData) {
      this.#rejoinsAt = this.#clock.monotonic() + REJOIN_MS;
      for (const batcher of this.#batchers) {
        batcher.sync.requireResyncOfAll();
        batcher.decideQueuedLocally();
      }
    }
    this.#reportAll();
    if (!mayHaveLostData) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    this.#reportAll();
  }

  /** Whether there is anything to report to Redis, now or after the calls in flight. */
  #hasUnreported(): boolean {
    return (
      this.#batchers.some(({ isBusy }) => isBusy) ||
      this.#callers.values().some((caller) => caller.batcher.sync.needsCall(caller))
    );
  }

  #reportAll(): void {
    for (const caller of this.#callers.values()) caller.batcher.report(caller);
  }
}
