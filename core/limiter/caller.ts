/** A replica's state of one caller. One object, because with thousands of callers each object is a cache miss. */
import type { Decision, Quotas } from '../contracts/limiter.js';
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

export class CallerState extends SyncedCaller {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Requests for the next call. undefined: the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  /** How many permits Redis had left in its last reply. */
  remaining = 0;
  /** When another permit is free at the latest. Monotonic milliseconds, as all times here. */
  resetAt = 0;
  /** Until then requests are rejected without a call. */
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
