/** The callers of a replica: their state in memory, and the Redis hashes that contain their windows. */
import type { Decision, Quotas } from '../contracts/limiter.js';
import { LruMap } from '../util/lru-map.js';
import type { Batcher } from './batcher.js';
import type { Returned } from './script.js';
import type { UsageCounter } from './usage.js';
import type { SlidingWindow } from './window.js';

export type Settle = (decision: Decision | Promise<never>) => void;

/** Prefetched permits of one bucket. Redis has counted them. */
export interface PrefetchedPermits {
  count: number;
  /** End of the bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  /** The same moment or an earlier one, in milliseconds of the monotonic clock. */
  readonly expiresAt: number;
}

/** One array for all callers, most of which have nothing to return. */
export const NOTHING_RETURNED: readonly Returned[] = [];

/** The part of the state that the protocol with Redis needs. */
export class SyncedCaller {
  /** Set once the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  /** Unused permits that the next call returns. */
  returned = NOTHING_RETURNED;

  /**
   * @param window what this replica admitted
   * @param epoch the epoch in which Redis had the right count for this caller (`PartitionSync`)
   */
  constructor(
    readonly name: string,
    readonly window: SlidingWindow,
    public epoch: number,
  ) {}
}

/** A replica's state of one caller. One object, because with thousands of callers each object is a cache miss. */
export class CallerState extends SyncedCaller {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Requests for the next call. undefined: the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  /** How many permits Redis had left in its last reply. */
  remaining = 0;
  /** When another permit is free at the latest. Monotonic milliseconds, as all times here. */
  resetAt = 0;
  /** Requests before this time are rejected without a call. */
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
 * A process and Redis each keep at least this many addresses. A client that wants its address forgotten must send
 * requests from this many others, which costs more than the limit that it gains.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/**
 * The state of each caller. Idle callers are dropped. The number of addresses is bounded; the operator decides how many
 * keys there are.
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

  /** Creates the state if there is none. */
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
 * Partitions: the Redis hashes that contain the windows. One server has one partition, because a call has one key and
 * fewer calls cost less. A cluster has 32, so that its nodes share the work.
 */
const CLUSTER_PARTITIONS = 32;

/** The number comes first in the hash tag: cluster slots of such tags are spread more evenly. */
export const partitionKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_PARTITIONS : 1 }, (_, i) => `${prefix}limits:{${i}-partition}`);

/** The index of a caller's partition. All replicas compute the same one (FNV-1a). */
export const partitionOf = (caller: string, partitions: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
};

/** The hashes of a partition: keys, recent addresses, and earlier addresses. */
export const hashesOf = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

/**
 * The hashes that a call needs. A cluster rejects calls with several keys while it moves them, so most calls have
 * one.
 */
export const hashesFor = (key: string, callers: readonly { readonly caller: string }[]): readonly string[] =>
  callers.some(({ caller }) => isAddress(caller)) ? hashesOf(key) : [key];
