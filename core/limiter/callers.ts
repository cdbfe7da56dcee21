/** The callers of a replica: their state in memory, and the Redis hashes that store their windows. */
import type { Decision, Quotas } from '../contracts/limiter.js';
import { LruMap } from '../util/lru-map.js';
import type { Batcher } from './batcher.js';
import type { Returned } from './script.js';
import type { UsageCounter } from './usage.js';
import type { SlidingWindow } from './window.js';

export type Settle = (decision: Decision | Promise<never>) => void;

/** Prefetched permits from one bucket. Redis has already counted them. */
export interface PrefetchedPermits {
  count: number;
  /** The end of the bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  /** The time at which the permits expire, in milliseconds of the monotonic clock. It is never after `bucketEnd`. */
  readonly expiresAt: number;
}

/** An empty array that all callers share, because most of them have nothing to return. */
export const NOTHING_RETURNED: readonly Returned[] = [];

/** The part of a caller's state that the protocol with Redis needs. */
export class SyncedCaller {
  /** Undefined until the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  /** Unused permits that the next call returns. */
  returned = NOTHING_RETURNED;

  /**
   * @param window the requests that this replica has admitted
   * @param epoch the epoch in which Redis last had the correct count for this caller (see `PartitionSync`)
   */
  constructor(
    readonly name: string,
    readonly window: SlidingWindow,
    public epoch: number,
  ) {}
}

/** A replica's state for one caller. It is a single object because, with many callers, each object is a cache miss. */
export class CallerState extends SyncedCaller {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** The requests that wait for the next call. Undefined if the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  /** The number of permits that remained in Redis at its last reply. */
  remaining = 0;
  /** The time by which another permit becomes free, in monotonic milliseconds. */
  resetAt = 0;
  /** Requests before this time are rejected without a call, in monotonic milliseconds. */
  rejectUntil = 0;

  constructor(
    readonly batcher: Batcher,
    name: string,
    window: SlidingWindow,
    epoch: number,
  ) {
    super(name, window, epoch);
  }
}

/**
 * Each process, and also Redis, keeps at least this many addresses. To make them forget its address, a client would
 * have to send requests from this many other addresses, which costs more than a fresh limit gains.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/**
 * The state of each caller. Idle callers are dropped. No more than 20,000 addresses are kept, twice `MOST_ADDRESSES`.
 * Keys have no limit, since only an operator can create them.
 */
export class Callers<State> {
  readonly #keys: LruMap<string, State>;
  readonly #addresses: LruMap<string, State>;

  constructor(
    spanMs: number,
    readonly create: (caller: string) => State,
    mostAddresses = MOST_ADDRESSES,
  ) {
    this.#keys = new LruMap(Number.POSITIVE_INFINITY, spanMs);
    this.#addresses = new LruMap(mostAddresses, spanMs);
  }

  /** Returns the state of a caller, which is created if it does not exist. */
  get(caller: string, now: number): State {
    const states = isAddress(caller) ? this.#addresses : this.#keys;
    let state = states.get(caller, now);
    if (state === undefined) {
      state = this.create(caller);
      states.set(caller, state, now);
    }
    return state;
  }

  values(): State[] {
    return [...this.#keys.values(), ...this.#addresses.values()];
  }

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }
}

/**
 * The number of partitions in a cluster. A partition is a Redis hash that stores windows. A single server has one
 * partition, because each call uses one key, and fewer calls cost less. A cluster has 32, so that its nodes share the
 * work.
 */
const CLUSTER_PARTITIONS = 32;

/** The hash tag starts with the number of the partition, because this spreads the tags more evenly over the slots. */
export const partitionKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_PARTITIONS : 1 }, (_, i) => `${prefix}limits:{${i}-partition}`);

/** Returns the index of a caller's partition (FNV-1a). All replicas compute the same index. */
export const partitionOf = (caller: string, partitions: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
};

/** Returns the hashes of a partition: one for keys, one for recent addresses and one for earlier addresses. */
export const hashesOf = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

/**
 * The hashes that a call needs. A cluster rejects calls with several keys while it moves them, so most calls have one.
 */
export const hashesFor = (key: string, callers: readonly { readonly caller: string }[]): readonly string[] =>
  callers.some(({ caller }) => isAddress(caller)) ? hashesOf(key) : [key];
