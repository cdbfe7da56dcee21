/** Turns the grants of Redis into decisions, and stores what a reply says about a caller's next requests. */
import type { Decision } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import type { CallerState, PrefetchedPermits, Settle } from './caller.js';
import { addPrefetched, mayPrefetch, returnPrefetched, usePrefetched } from './prefetch.js';
import { dayOf, quotaLeft, quotaStates, withQuotas } from './quotas.js';
import type { Demand, PartitionSync } from './resync.js';
import { type AppliedReply, dayOfBucket, type Grant } from './script.js';

/** A caller in a batch, and the requests that wait for its permits. */
export interface Entry extends Demand {
  readonly caller: CallerState;
  readonly waiting: readonly Settle[];
}

/** Redis read its clock between these two moments. Monotonic milliseconds. */
export interface CallTimes {
  readonly sentAt: number;
  readonly receivedAt: number;
}

export class Decisions {
  /** Redis's clock (milliseconds since 1970) minus the monotonic clock. undefined before the first reply. */
  #clockOffset: number | undefined;

  constructor(
    readonly windowMs: number,
    readonly bucketMs: number,
    readonly sync: PartitionSync,
    readonly clock: Clock,
  ) {}

  /** Redis's clock in milliseconds since 1970, which decides when a day starts. The local clock until it is known. */
  redisTime(now: number): number {
    return this.#clockOffset === undefined ? this.clock.now() : now + this.#clockOffset;
  }

  /** The state of a caller's quotas. @param time of Redis's clock */
  quotas({ usage, prefetched, quotas }: CallerState, time: number): Decision['quotas'] {
    if (!usage || !quotas) return undefined;
    const { day, month } = usage.used(dayOf(time));
    const unused = prefetched?.count ?? 0;
    return quotaStates(quotas, { day: day - unused, month: month - unused }, time);
  }

  /** Allows a request by a prefetched permit, which must not have expired. */
  allow(caller: CallerState, prefetched: PrefetchedPermits, now: number): Decision {
    const { limit, resetAt, usage } = caller;
    usePrefetched(caller, prefetched);
    caller.window.add(now, 1, limit, this.windowMs);
    usage?.addGranted(dayOfBucket(prefetched.bucketEnd), 1);
    const remaining = caller.remaining + prefetched.count;
    const decision = { allowed: true, limit, remaining, resetMs: Math.max(0, resetAt - now) };
    return usage ? withQuotas(decision, this.quotas(caller, this.redisTime(now))) : decision;
  }

  /** Rejects a request that Redis would reject. */
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

  /** Settles the requests of one caller. Further permits of the grant are prefetched. */
  #settleEntry(entry: Entry, grant: Grant, { bucketEnd, bucketMs }: AppliedReply, times: CallTimes): void {
    const { caller, limit, waiting } = entry;
    const { usage } = caller;
    const { resetMs } = grant;
    const allowed = Math.min(grant.permits, waiting.length);
    const count = grant.permits - allowed;
    caller.window.add(times.receivedAt, allowed, limit, this.windowMs);
    if (usage) {
      const day = dayOfBucket(bucketEnd);
      usage.addGranted(day, allowed);
      usage.addRejected(day, waiting.length - allowed);
      // Otherwise the reply lacks what was allowed locally while the call was in flight.
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
    // `resetAt` counts from the later moment, so that a request that waits for it is allowed; `rejectUntil` from the
    // earlier one, so that no request is rejected that Redis would allow.
    caller.resetAt = receivedAt + resetMs;
    if (caller.remaining > 0 || caller.prefetched) this.#serveWaiting(caller, receivedAt);
    else if (left === 0) caller.rejectUntil = sentAt + bucketMs;
    else caller.rejectUntil = sentAt + (mayPrefetch(limit) ? Math.min(resetMs, this.bucketMs) : resetMs);
  }

  /** Requests that arrived during the call use prefetched permits. */
  #serveWaiting(caller: CallerState, now: number): void {
    const { prefetched, waiting } = caller;
    if (!prefetched || !waiting || waiting.length === 0 || now >= prefetched.expiresAt) return;
    for (const settle of waiting.splice(0, prefetched.count)) settle(this.allow(caller, prefetched, now));
  }
}
