/** A model of `decide.lua` in TypeScript. Tests control the clock, memory and network of the model. */
import type { AppliedReply, Ask, Call, Reply, Returned, UsageReport } from '../../../core/limiter/calls.js';
import { DAY_MS, quotaLeft, type Used } from '../../../core/limiter/quotas.js';
import { BUCKETS } from '../../../core/limiter/script.js';
import type { Bucket } from '../../support/limiter-window.js';

/** Bugs that the tests must detect. */
export type RedisBug =
  | 'applies calls that arrive late or twice'
  | 'does not notice that it lost calls'
  | 'adds a resync to what it has counted'
  | 'counts rejected requests'
  | 'drops a bucket when its start has left the window';

interface Counted {
  readonly requests: number;
  readonly refused: number;
}

const DAY = DAY_MS * 1000;

const counterOf = (counters: ReadonlyMap<string, Counted>, day: number, id: number): Counted =>
  counters.get(`${day} ${id}`) ?? { requests: 0, refused: 0 };

interface ModelOptions {
  readonly windowMs: number;
  readonly bug?: RedisBug | undefined;
}

/** Times are in microseconds. Unlike Redis, the model never deletes data. */
export class ModelRedis {
  readonly window: number;
  readonly bucket: number;

  constructor(
    readonly options: ModelOptions,
    readonly windows = new Map<string, readonly Bucket[]>(),
    readonly calls = new Map<number, { readonly at: number; readonly number: number }>(),
    readonly usage = new Map<string, ReadonlyMap<string, Counted>>(),
  ) {
    this.window = options.windowMs * 1000;
    this.bucket = Math.ceil(this.window / BUCKETS);
  }

  clone(): ModelRedis {
    return new ModelRedis(this.options, new Map(this.windows), new Map(this.calls), new Map(this.usage));
  }

  counted(caller: string, now: number): readonly Bucket[] {
    return (this.windows.get(caller) ?? []).filter(({ end }) => end + this.window > now);
  }

  usedBy(caller: string, day: number, counter: number): number {
    return counterOf(this.usage.get(caller) ?? new Map(), day, counter).requests;
  }

  decide(now: number, replica: number, { number, previous, asks }: Call): Reply {
    const last = this.calls.get(replica)?.number ?? 0;
    const isLate = last >= number && this.options.bug !== 'applies calls that arrive late or twice';
    const isLost = last < previous && this.options.bug !== 'does not notice that it lost calls';
    if (isLate || isLost) return { applied: false, last };
    this.calls.set(replica, { at: now, number });
    const grants = asks.map((ask) => this.#decide(now, replica, ask));
    const bucketEnd = this.#bucketEnd(now);
    return { applied: true, grants, bucketEnd, bucketMs: (bucketEnd - now) / 1000 };
  }

  #bucketEnd(moment: number): number {
    return Math.ceil(moment / this.bucket) * this.bucket;
  }

  #leavingEnd(moment: number): number {
    const isEarly = this.options.bug === 'drops a bucket when its start has left the window';
    return isEarly ? this.#bucketEnd(moment) - this.bucket : this.#bucketEnd(moment);
  }

  #decide(now: number, replica: number, ask: Ask): AppliedReply['grants'][number] {
    const { caller, limit, permits: asked, resync, returned, usage } = ask;
    const latest = this.#leavingEnd(now) + this.bucket;
    const stored = this.counted(caller, now);
    const isSetBack = (stored.at(-1)?.end ?? 0) > latest;
    let buckets = stored;
    if (isSetBack || resync) buckets = this.#rewrite(stored, now, replica, resync, isSetBack ? latest : undefined);
    else if (returned) buckets = withoutReturned(stored, replica, returned);
    const before = sum(buckets);
    const counters = new Map(this.usage.get(caller));
    const today = this.#dayOf(now);
    const used = usage && this.#report(counters, usage, resync ? [] : (returned ?? []), today);
    const left = used ? quotaLeft(usage.quotas, used) : asked;
    const permits = Math.max(0, Math.min(asked, limit - before, left));
    if (used && permits > 0) {
      const counter = counterOf(counters, today, usage.counterId);
      counters.set(`${today} ${usage.counterId}`, { ...counter, requests: counter.requests + permits });
    }
    if (used) this.usage.set(caller, counters);
    const counts = this.options.bug === 'counts rejected requests' ? asked : permits;
    if (counts > 0) {
      const end = Math.max(this.#leavingEnd(now), buckets.at(-1)?.end ?? 0);
      buckets = [...buckets, { end, replica, count: counts }];
    }
    if (isSetBack || resync || returned || counts > 0) this.windows.set(caller, buckets);
    return {
      permits,
      remaining: Math.max(0, limit - before - counts),
      resetMs: this.#resetMs(buckets, limit, now),
      used: used && { day: used.day + permits, month: used.month + permits },
    };
  }

  #rewrite(
    buckets: readonly Bucket[],
    now: number,
    replica: number,
    resync: Ask['resync'],
    latest = Number.POSITIVE_INFINITY,
  ): readonly Bucket[] {
    const adds = this.options.bug === 'adds a resync to what it has counted';
    const kept = buckets
      .filter((bucket) => !resync || bucket.replica !== replica || adds)
      .map((bucket) => ({ ...bucket, end: Math.min(bucket.end, latest) }));
    const own = (resync ?? [])
      .map(({ ageMs, count }) => ({
        end: this.#leavingEnd(now - Math.max(0, Math.floor(ageMs * 1000))),
        replica,
        count,
      }))
      .filter(({ end }) => end + this.window > now);
    return [...kept, ...own].sort((a, b) => a.end - b.end);
  }

  #resetMs(buckets: readonly Bucket[], limit: number, now: number): number {
    let left = sum(buckets);
    const blocking = buckets.find(({ count }) => {
      left -= count;
      return left < Math.max(limit, 1);
    });
    return blocking ? (blocking.end + this.window - now) / 1000 : 0;
  }

  #dayOf(moment: number): number {
    return Math.floor((this.#bucketEnd(moment) - 1) / DAY);
  }

  #report(
    counters: Map<string, Counted>,
    { counterId, days }: UsageReport,
    returned: readonly Returned[],
    today: number,
  ): Used {
    for (const { day, requests, refused } of days) {
      const counter = counterOf(counters, day, counterId);
      if (day >= today - 1) {
        counters.set(`${day} ${counterId}`, { requests: requests ?? counter.requests, refused });
      }
    }
    for (const { bucketEnd, count } of returned) {
      const day = this.#dayOf(bucketEnd);
      const counter = counterOf(counters, day, counterId);
      const requests = Math.max(0, counter.requests - count);
      if (day >= today - 1) counters.set(`${day} ${counterId}`, { ...counter, requests });
    }
    const month = new Date((today * DAY) / 1000).toISOString().slice(0, 7);
    const used = { day: 0, month: 0 };
    for (const [name, { requests }] of counters) {
      const day = Number(name.split(' ')[0]);
      if (day === today) used.day += requests;
      if (new Date((day * DAY) / 1000).toISOString().slice(0, 7) >= month) used.month += requests;
    }
    return used;
  }
}

const withoutReturned = (
  buckets: readonly Bucket[],
  replica: number,
  returned: readonly Returned[],
): readonly Bucket[] => {
  let rest = buckets;
  for (const { bucketEnd, count } of returned) {
    let left = count;
    rest = rest.map((bucket) => {
      if (bucket.end !== bucketEnd || bucket.replica !== replica) return bucket;
      const taken = Math.min(left, bucket.count);
      left -= taken;
      return { ...bucket, count: bucket.count - taken };
    });
  }
  return rest;
};

export const sum = (buckets: readonly Bucket[]): number => buckets.reduce((total, { count }) => total + count, 0);
