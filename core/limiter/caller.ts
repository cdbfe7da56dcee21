import type { Decision, Quotas } from '../contracts/limiter.js';
import type { Returned } from './calls.js';
import type { UsageCounter } from './usage.js';
import type { SlidingWindow } from './window.js';

export type Settle = (decision: Decision | Promise<never>) => void;

/** Permits for later requests in the same bucket. Redis has already counted these permits. */
export interface PrefetchedPermits {
  count: number;
  /** The end of the bucket by Redis's clock, in microseconds. */
  readonly bucketEnd: number;
  /**
   * When prefetched permits expire, in milliseconds by the monotonic clock. Never later than the end of their bucket.
   */
  readonly expiresAt: number;
}

/** All callers without permits to return share this empty list, so that no array is allocated for each of them. */
export const NOTHING_RETURNED: readonly Returned[] = [];

/** The state of a caller as a single flat object. With many callers, each nested object would cost a CPU cache miss. */
export class CallerState {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Undefined until the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  returned = NOTHING_RETURNED;
  /** Requests waiting for the next call. Undefined if the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  remaining = 0;
  /** When another permit becomes free, in milliseconds by the monotonic clock. */
  resetAt = 0;
  /** Requests before this time, in monotonic milliseconds, are rejected without a call. */
  rejectUntil = 0;

  constructor(
    readonly name: string,
    readonly window: SlidingWindow,
    public epoch: number,
  ) {}
}

export interface Entry {
  readonly caller: CallerState;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  /** Number of requested permits. 0 if the call only reports to Redis. */
  readonly permits: number;
  readonly waiting: readonly Settle[];
}
