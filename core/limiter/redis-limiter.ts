/** Applies limits across several replicas. README.md explains the protocol and proves that no limit is exceeded. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { CircuitBreaker } from '../redis/circuit-breaker.js';
import type { RedisConnection } from '../redis/connection.js';
import { isReply } from '../redis/problems.js';
import { withTimeout } from '../util/with-timeout.js';
import type { CallerState } from './caller.js';
import { CallerMap, MOST_ADDRESSES } from './caller-map.js';
import { LocalLimits, OUTAGE_MESSAGES, type OutagePolicy } from './local.js';
import { Partition } from './partition.js';
import { DAY_MS } from './quotas.js';
import { decideScript } from './script.js';
import { readUsage, UsageCounter } from './usage.js';

interface RedisLimiterOptions {
  readonly redis: RedisConnection;
  readonly replicas: number;
  readonly outagePolicy?: OutagePolicy;
  readonly windowMs?: number;
  readonly countsUsage?: boolean;
  readonly clock?: Clock;
  readonly logger: Logger;
}

/**
 * If Redis might have lost data, a replica decides locally for this long. During this time, all replicas resync.
 * Without the delay, Redis could grant permits that other replicas have already used.
 */
const REJOIN_MS = 500;
/**
 * Interval of a check that Redis can run the Lua script. Without this check, errors would go unnoticed while there are
 * no requests.
 */
const CHECK_MS = 5000;
const POLL_MS = REJOIN_MS / 2;

const READ_MS = 1000;

/** Maximum time to close the limiter. It is enough for a call that times out, a probe, and another call. */
const CLOSE_MS = 2000;
const CLOSE_POLL_MS = 5;

/**
 * A partition is a Redis hash that stores windows. Each call uses one partition, so the nodes of a Redis cluster share
 * the work. A single server has one partition, because fewer calls cost less.
 */
const CLUSTER_PARTITIONS = 32;

/**
 * Each hash tag starts with the partition number, which spreads the tags more evenly over the slots of a Redis cluster.
 */
export const partitionKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_PARTITIONS : 1 }, (_, i) => `${prefix}limits:{${i}-partition}`);

/** Hashes the caller with FNV-1a. All replicas must compute the same index. */
export const partitionOf = (caller: string, partitions: number): number => {
  if (partitions === 1) return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
};

const randomId = (): number => randomBytes(4).readUInt32BE();

export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #outagePolicy: OutagePolicy;
  readonly #clock: Clock;
  readonly #partitions: readonly Partition[];
  readonly #callers: CallerMap<CallerState>;
  readonly #local: LocalLimits;
  readonly #breaker: CircuitBreaker;
  /** The partition whose last call failed. The circuit breaker probes it. */
  #failed: Partition;
  #nextCheck: number;
  readonly #polling: NodeJS.Timeout;
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;

  constructor(options: RedisLimiterOptions) {
    const { redis, replicas, outagePolicy = 'local', windowMs = WINDOW_MS, clock = systemClock, logger } = options;
    const { countsUsage = false } = options;
    this.#redis = redis;
    this.#outagePolicy = outagePolicy;
    this.#clock = clock;
    this.#local = new LocalLimits({ outagePolicy, replicas, windowMs, startedAt: clock.monotonic() });
    this.#partitions = this.#createPartitions(windowMs, countsUsage);
    this.#failed = this.#partitions[0] as Partition;
    // The state of a caller is normally kept for one window. If usage is counted, the state is kept for at least a day,
    // because a resync also reports the usage of yesterday and today.
    this.#callers = new CallerMap(countsUsage ? DAY_MS : windowMs, (name) =>
      this.#partitionOf(name).createCaller(name),
    );
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
    for (const partition of this.#partitions) partition.checkForDataLoss(now, POLL_MS);
    if (now < this.#nextCheck) return;
    this.#nextCheck = now + CHECK_MS;
    // Timeouts of this check are ignored, because regular calls to Redis detect timeouts too.
    this.#failed.check().catch((error: unknown) => {
      if (isReply(error)) this.#breaker.open(error);
    });
  }

  #createPartitions(windowMs: number, countsUsage: boolean): Partition[] {
    const { client, keyPrefix } = this.#redis;
    const clock = this.#clock;
    const replica = randomId();
    const keys = partitionKeys(keyPrefix, client.isCluster);
    const script = decideScript({ windowMs, countsUsage, mostAddresses: Math.ceil(MOST_ADDRESSES / keys.length) });
    return keys.map(
      (key) =>
        new Partition({
          target: { redis: client, key, replica, script },
          countsUsage,
          redis: this.#redis,
          clock,
          isUnreachable: () => this.#breaker.isOpen,
          onFailure: (partition, error) => {
            this.#failed = partition;
            this.#breaker.open(error);
          },
          onDataLoss: () => void this.#rejoin(true),
          decideLocally: (partition, caller) => this.#local.decide(partition, caller, clock.monotonic()),
        }),
    );
  }

  take(name: string, limit: number, quotas?: Quotas): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const caller = this.#callers.get(name, now);
    const partition = this.#partitionOf(name);
    if (limit !== caller.limit || quotas !== caller.quotas) partition.changeLimit(caller, limit, quotas);
    if (quotas) caller.usage ??= new UsageCounter(randomId());
    if (this.#isLocal(now)) return this.#local.decide(partition, caller, now);
    if (now < caller.rejectUntil && !caller.prefetched) return partition.reject(caller, now);
    return partition.decisions.allowPrefetched(caller, now) ?? partition.ask(caller);
  }

  async usage(name: string): Promise<readonly DayUsage[]> {
    const { key } = this.#partitionOf(name);
    try {
      return await withTimeout(readUsage(this.#redis.client, key, name, this.#clock.now()), READ_MS);
    } catch (cause) {
      throw new LimiterUnavailable('The usage store is unreachable.', { cause });
    }
  }

  health(): Health {
    if (!this.#isLocal(this.#clock.monotonic())) return { ok: true, message: null };
    return { ok: false, message: OUTAGE_MESSAGES[this.#outagePolicy] };
  }

  /** Returns unused permits, and reports requests that Redis has not counted yet. Takes at most `CLOSE_MS`. */
  async close(): Promise<void> {
    clearInterval(this.#polling);
    const until = this.#clock.monotonic() + CLOSE_MS;
    while (this.#clock.monotonic() < until) {
      // Replies that arrived during the delay might have added prefetched permits.
      for (const partition of this.#partitions) partition.returnAll();
      if (!this.#hasUnreported()) break;
      this.#reportAll();
      await delay(CLOSE_POLL_MS);
    }
    this.#redis.client.off('close', this.#onConnectionLost);
    this.#breaker.dispose();
  }

  #partitionOf(name: string): Partition {
    return this.#partitions[partitionOf(name, this.#partitions.length)] as Partition;
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
      for (const partition of this.#partitions) {
        partition.sync.requireResyncOfAll();
        partition.decideQueuedLocally();
      }
    }
    this.#reportAll();
    if (!mayHaveLostData) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    this.#reportAll();
  }

  /** Returns true while a call is in flight, because its reply might require another report. */
  #hasUnreported(): boolean {
    return (
      this.#partitions.some(({ isBusy }) => isBusy) ||
      this.#callers.values().some((caller) => this.#partitionOf(caller.name).sync.needsCall(caller))
    );
  }

  #reportAll(): void {
    for (const caller of this.#callers.values()) this.#partitionOf(caller.name).report(caller);
  }
}
