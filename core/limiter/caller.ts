import type { Decision, Quotas } from '../contracts/limiter.js';
import type { Returned } from './calls.js';
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

/** Shared by all callers without permits to return, to avoid allocating an array for each. */
export const NOTHING_RETURNED: readonly Returned[] = [];

/**
 * A replica's state for one caller. It is a single object because, with many callers, each additional object costs a
 * CPU cache miss.
 */
export class CallerState {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Undefined until the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  /** Unused permits to return with the next call. */
  returned = NOTHING_RETURNED;
  /** Requests that wait for the next call. Undefined if the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  /** Number of permits left in Redis, as of its last reply. */
  remaining = 0;
  /** When another permit becomes free, in monotonic milliseconds. */
  resetAt = 0;
  /** Requests before this time, in monotonic milliseconds, are rejected without a call. */
  rejectUntil = 0;

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

/** A caller in a batch, with the limit and quotas that applied when the batch was sent. */
export interface Entry {
  readonly caller: CallerState;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  /** Number of permits to request. 0 if the call only reports. */
  readonly permits: number;
  /** Requests that wait for the reply. */
  readonly waiting: readonly Settle[];
}
