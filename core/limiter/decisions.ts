import type { Decision } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import type { CallerState, Entry, PrefetchedPermits, Settle } from './caller.js';
import type { AppliedReply, Grant } from './calls.js';
import { dayOf, dayOfBucket, quotaLeft, quotaStates } from './quotas.js';
import type { PartitionSync } from './resync.js';

/** Redis read its clock between these two times, which are in monotonic milliseconds. */
interface CallTimes {
  readonly sentAt: number;
  readonly receivedAt: number;
}

export class Decisions {
  /** Redis's clock in milliseconds since 1970, minus the monotonic clock. Undefined until the first reply. */
  #clockOffset: number | undefined;

  constructor(
    readonly bucketMs: number,
    readonly sync: PartitionSync,
    readonly clock: Clock,
  ) {}

  /** The time by Redis's clock. Before the first reply, the time by the local clock. */
  redisTime(now: number): number {
    return this.#clockOffset === undefined ? this.clock.now() : now + this.#clockOffset;
  }

  quotas({ usage, prefetched, quotas }: CallerState, time: number): Decision['quotas'] {
    if (!usage || !quotas) return undefined;
    const { day, month } = usage.used(dayOf(time));
    const unused = prefetched?.count ?? 0;
    return quotaStates(quotas, { day: day - unused, month: month - unused }, time);
  }

  /** Expired permits are returned to Redis with the next call. */
  allowPrefetched(caller: CallerState, now: number): Decision | undefined {
    const { prefetched } = caller;
    if (!prefetched) return undefined;
    if (now < prefetched.expiresAt) return this.#allow(caller, prefetched, now);
    returnPrefetched(caller);
    return undefined;
  }

  #allow(caller: CallerState, prefetched: PrefetchedPermits, now: number): Decision {
    const { limit, resetAt, usage } = caller;
    usePrefetched(caller, prefetched);
    caller.window.add(now, 1, limit);
    usage?.addGranted(dayOfBucket(prefetched.bucketEnd), 1);
    const remaining = caller.remaining + prefetched.count;
    const decision = { allowed: true, limit, remaining, resetMs: Math.max(0, resetAt - now) };
    return usage ? withQuotas(decision, this.quotas(caller, this.redisTime(now))) : decision;
  }

  reject(caller: CallerState, now: number): Decision {
    const { usage, limit, resetAt } = caller;
    const time = this.redisTime(now);
    usage?.addRejected(dayOf(time), 1);
    return withQuotas({ allowed: false, limit, remaining: 0, resetMs: resetAt - now }, this.quotas(caller, time));
  }

  settle(batch: readonly Entry[], reply: AppliedReply, times: CallTimes): void {
    this.#clockOffset = reply.bucketEnd / 1000 - reply.bucketMs - (times.sentAt + times.receivedAt) / 2;
    for (let i = 0; i < batch.length; i++) {
      const entry = batch[i] as Entry;
      const grant = reply.grants[i] as Grant;
      this.#settleEntry(entry, grant, reply, times);
      this.#store(entry, grant, reply, times);
    }
  }

  #settleEntry(entry: Entry, grant: Grant, { bucketEnd, bucketMs }: AppliedReply, times: CallTimes): void {
    const { caller, limit, waiting } = entry;
    const { usage } = caller;
    const { resetMs } = grant;
    const allowed = Math.min(grant.permits, waiting.length);
    const count = grant.permits - allowed;
    caller.window.add(times.receivedAt, allowed, limit);
    if (usage) {
      const day = dayOfBucket(bucketEnd);
      usage.addGranted(day, allowed);
      usage.addRejected(day, waiting.length - allowed);
      // Until a caller is resynced, the usage in replies does not include requests that were allowed locally.
      if (grant.used && this.sync.isSynced(caller)) usage.receive(day, grant.used);
    }
    if (count > 0) addPrefetched(caller, { count, bucketEnd, expiresAt: times.sentAt + bucketMs });
    const quotas = usage && this.quotas(caller, this.redisTime(times.receivedAt));
    for (let j = 0; j < waiting.length; j++) {
      const remaining = j < allowed ? grant.remaining + count : 0;
      (waiting[j] as Settle)(withQuotas({ allowed: j < allowed, limit, remaining, resetMs }, quotas));
    }
  }

  #store({ caller, limit, quotas }: Entry, grant: Grant, { bucketMs }: AppliedReply, times: CallTimes): void {
    if (limit !== caller.limit || quotas !== caller.quotas) {
      returnPrefetched(caller);
      return;
    }
    const { remaining, resetMs, used } = grant;
    const { sentAt, receivedAt } = times;
    const left = quotas && used ? quotaLeft(quotas, used) : Number.POSITIVE_INFINITY;
    caller.remaining = Math.min(remaining, left);
    // Redis computed `resetMs` at an unknown time between `sentAt` and `receivedAt`.
    // `resetAt` assumes the later time, so that a request sent at `resetAt` is allowed.
    // `rejectUntil` assumes the earlier time, so that no request is rejected longer than necessary.
    caller.resetAt = receivedAt + resetMs;
    if (caller.remaining > 0 || caller.prefetched) this.#serveWaiting(caller, receivedAt);
    else if (left === 0) caller.rejectUntil = sentAt + bucketMs;
    else caller.rejectUntil = sentAt + (mayPrefetch(limit) ? Math.min(resetMs, this.bucketMs) : resetMs);
  }

  #serveWaiting(caller: CallerState, now: number): void {
    const { prefetched, waiting } = caller;
    if (!prefetched || !waiting || waiting.length === 0 || now >= prefetched.expiresAt) return;
    for (const settle of waiting.splice(0, prefetched.count)) settle(this.#allow(caller, prefetched, now));
  }
}

export const withQuotas = (decision: Decision, quotas: Decision['quotas']): Decision =>
  quotas ? { ...decision, quotas } : decision;

/**
 * Number of permits to prefetch, relative to the expected number of requests in a whole bucket. On average, a call is
 * sent in the middle of a bucket, so half of these requests are still expected. If a replica prefetches three times
 * that half, most callers need only one call per bucket.
 */
const PREFETCHED_BUCKETS = 3 / 2;
/** A single permit is not prefetched, because it is seldom used before it expires, and returning it costs a call. */
const FEWEST = 2;
/**
 * The largest share of the remaining permits that a replica prefetches. Other replicas cannot use prefetched permits
 * until they are returned.
 */
const MOST_OF_REMAINING = 1 / 64;

/** True if replicas prefetch permits for this limit. A replica can return unused permits at any time. */
const mayPrefetch = (limit: number): boolean => limit * MOST_OF_REMAINING >= FEWEST;

/**
 * Returns the number of permits to prefetch. The expected demand is the number of requests in the previous bucket. If
 * only one request is waiting, the demand is at least the number of requests in the current bucket. If several requests
 * are waiting, the current bucket is ignored, because they might be a single burst.
 */
export const prefetchCount = (
  { window, remaining }: CallerState,
  waiting: number,
  now: number,
  bucketMs: number,
): number => {
  const most = Math.floor(remaining * MOST_OF_REMAINING);
  if (waiting === 0 || most < FEWEST) return 0;
  const previous = window.countAt(now - bucketMs);
  const demand = waiting === 1 ? Math.max(previous, window.countAt(now)) : previous;
  const count = Math.min(Math.floor(demand * PREFETCHED_BUCKETS), most);
  return count >= FEWEST ? count : 0;
};

export const returnPrefetched = (caller: CallerState): void => {
  if (caller.prefetched) caller.returned = [...caller.returned, caller.prefetched];
  caller.prefetched = undefined;
};

export const addPrefetched = (caller: CallerState, added: PrefetchedPermits): void => {
  const { prefetched } = caller;
  if (prefetched?.bucketEnd === added.bucketEnd) {
    const expiresAt = Math.min(prefetched.expiresAt, added.expiresAt);
    caller.prefetched = { ...added, count: prefetched.count + added.count, expiresAt };
  } else {
    returnPrefetched(caller);
    caller.prefetched = added;
  }
};

export const usePrefetched = (caller: CallerState, prefetched: PrefetchedPermits): void => {
  prefetched.count--;
  if (prefetched.count === 0) caller.prefetched = undefined;
};
