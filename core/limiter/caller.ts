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
  /** When the permits expire by the monotonic clock, in milliseconds. Never later than `bucketEnd`. */
  readonly expiresAt: number;
}

/** All callers without permits to return share this array, so that no array is allocated for each of them. */
export const NOTHING_RETURNED: readonly Returned[] = [];

/** The state of a caller as a single flat object. With many callers, each nested object would cost a CPU cache miss. */
export class CallerState {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** The caller's usage. Undefined until the caller has quotas. */
  usage: UsageCounter | undefined = undefined;
  prefetched: PrefetchedPermits | undefined = undefined;
  returned = NOTHING_RETURNED;
  /** Requests waiting for the next call to Redis. Undefined if the caller is not queued. */
  waiting: Settle[] | undefined = undefined;
  remaining = 0;
  /** When another permit becomes free, in milliseconds by the monotonic clock. */
  resetAt = 0;
  /** Requests before this time are rejected without a call to Redis. In milliseconds by the monotonic clock. */
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
  /** The number of requested permits. 0 if the call only reports to Redis. */
  readonly permits: number;
  readonly waiting: readonly Settle[];
}
