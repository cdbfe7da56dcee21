/** Prefetched permits: a busy caller gets permits before it needs them, so that most of its requests need no call. */
import type { CallerState, PrefetchedPermits, SyncedCaller } from './caller.js';

/**
 * A call prefetches the requests of this many buckets. Half of the current bucket is left on average. With three times
 * as many permits most callers need one call per bucket, and returning the rest costs no extra call.
 */
const PREFETCHED_BUCKETS = 3 / 2;
/** A single permit is seldom used before it expires, and returning it costs more than it saves. */
const FEWEST = 2;
/** At most this part of the remaining permits is prefetched. Other replicas may miss as many until they are returned. */
const MOST_OF_REMAINING = 1 / 64;

/** Whether callers with this limit prefetch. Then other replicas may return permits at any time. */
export const mayPrefetch = (limit: number): boolean => limit * MOST_OF_REMAINING >= FEWEST;

/**
 * How many permits to prefetch with a call for `waiting` requests. The demand is that of the previous bucket; for a
 * single request also that of the current one. Several requests at once may be a burst that is over, so the current
 * bucket says nothing about the demand to come.
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

/** The next call returns the permits that are left. */
export const returnPrefetched = (caller: SyncedCaller): void => {
  if (caller.prefetched) caller.returned = [...caller.returned, caller.prefetched];
  caller.prefetched = undefined;
};

/** Adds permits of a reply. Permits of the same bucket are combined; permits of an earlier bucket are returned. */
export const addPrefetched = (caller: SyncedCaller, added: PrefetchedPermits): void => {
  const { prefetched } = caller;
  if (prefetched?.bucketEnd === added.bucketEnd) {
    const expiresAt = Math.min(prefetched.expiresAt, added.expiresAt);
    caller.prefetched = { ...added, count: prefetched.count + added.count, expiresAt };
  } else {
    returnPrefetched(caller);
    caller.prefetched = added;
  }
};

/** Uses one of the caller's permits, which must not have expired. */
export const usePrefetched = (caller: SyncedCaller, prefetched: PrefetchedPermits): void => {
  prefetched.count--;
  if (prefetched.count === 0) caller.prefetched = undefined;
};
