/** The state that a replica keeps per caller, and the Redis hashes that store the callers' windows. */
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
  /** End of the bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  /** When the permits expire, in milliseconds of the monotonic clock. Never later than `bucketEnd`. */
  readonly expiresAt: number;
}

/** Shared by all callers without permits to return, which saves allocating an array for each. */
export const NOTHING_RETURNED: readonly Returned[] = [];

export class SyncedCaller {
  /** Undefined until the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  /** Unused permits to return with the next call. */
  returned = NOTHING_RETURNED;

  /**
   * @param window requests that this replica has admitted
   * @param epoch the last epoch in which Redis had the correct count for this caller (see `PartitionSync`)
   */
  constructor(
    readonly name: string,
    readonly window: SlidingWindow,
    public epoch: number,
  ) {}
}

/**
 * A replica's state for one caller. It is a single object because, with many callers, each object costs a cache miss.
 */
export class CallerState extends SyncedCaller {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Requests that wait for the next call. Undefined if the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  /** Number of permits left in Redis, as of its last reply. */
  remaining = 0;
  /** When another permit becomes free, in monotonic milliseconds. */
  resetAt = 0;
  /** Requests before this time, in monotonic milliseconds, are rejected without a call. */
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
 * Minimum number of addresses that each process, and also Redis, remembers. To make them forget its address, a client
 * would need this many other addresses, which costs more than a fresh limit is worth.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/**
 * Stores a state for each caller and drops idle callers. At most twice `mostAddresses` addresses are kept. The number
 * of keys is not limited, because only an operator can create keys.
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
 * Number of partitions in a cluster. A partition is a Redis hash that stores windows. A single server has only one,
 * because each call uses one partition, and fewer calls cost less. A cluster has 32, so that its nodes share the work.
 */
const CLUSTER_PARTITIONS = 32;

/** Each hash tag starts with the partition number, which spreads the tags more evenly over the slots. */
export const partitionKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_PARTITIONS : 1 }, (_, i) => `${prefix}limits:{${i}-partition}`);

/** Returns the index of a caller's partition, computed with FNV-1a. All replicas must agree on it. */
export const partitionOf = (caller: string, partitions: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
};

/** Returns a partition's Redis keys: one hash for API keys, one for recent addresses and one for earlier addresses. */
export const hashesOf = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

/**
 * Returns the hashes that a call needs. Most calls need only one, which matters because a cluster rejects multi-key
 * calls while it moves their keys.
 */
export const hashesFor = (key: string, callers: readonly { readonly caller: string }[]): readonly string[] =>
  callers.some(({ caller }) => isAddress(caller)) ? hashesOf(key) : [key];
