/** `core/limiter/decide.lua` and `usage.lua` in TypeScript, for tests that need a Redis whose clock, memory and network are theirs. */
import {
  type Applied,
  type Ask,
  BUCKETS,
  type Call,
  type Reply,
  type Unused,
  type UsageNews,
} from '../../../core/limiter/decide-script.js';
import { DAY_MS, leftOf, type Used } from '../../../core/limiter/usage.js';
import type { Bucket } from '../../support/limiter-window.js';

/** What is wrong with a version that is broken on purpose. */
export type RedisFault =
  | 'applies calls that come late or twice'
  | 'does not notice that it has lost calls'
  | 'adds what it is told to what it has counted'
  | 'counts what it refuses'
  | 'drops a bucket when its beginning has left the window';

/** Requests and refusals of one stream on one day. */
interface Counted {
  readonly requests: number;
  readonly refused: number;
}

const DAY = DAY_MS * 1000;

const partOf = (parts: ReadonlyMap<string, Counted>, day: number, stream: number): Counted =>
  parts.get(`${day} ${stream}`) ?? { requests: 0, refused: 0 };

export interface ModelOptions {
  readonly windowMs: number;
  readonly fault?: RedisFault | undefined;
}

/** Times are in microseconds. Nothing is dropped from memory, however old it is. */
export class ModelRedis {
  readonly window: number;
  readonly bucket: number;

  constructor(
    readonly options: ModelOptions,
    /** The buckets of each subject, oldest first. */
    readonly windows = new Map<string, readonly Bucket[]>(),
    /** The last call of each replica that was applied. */
    readonly calls = new Map<number, { readonly at: number; readonly number: number }>(),
    /** What each stream has used: by subject, day and stream. */
    readonly usage = new Map<string, ReadonlyMap<string, Counted>>(),
  ) {
    this.window = options.windowMs * 1000;
    this.bucket = Math.ceil(this.window / BUCKETS);
  }

  clone(): ModelRedis {
    return new ModelRedis(this.options, new Map(this.windows), new Map(this.calls), new Map(this.usage));
  }

  /** What counts of a subject at a moment. */
  counted(subject: string, now: number): readonly Bucket[] {
    return (this.windows.get(subject) ?? []).filter(({ end }) => end + this.window > now);
  }

  /** Requests of one stream on a day. */
  usedBy(subject: string, day: number, stream: number): number {
    return partOf(this.usage.get(subject) ?? new Map(), day, stream).requests;
  }

  decide(now: number, replica: number, { number, previous, asks }: Call): Reply {
    const last = this.calls.get(replica)?.number ?? 0;
    const isLate = last >= number && this.options.fault !== 'applies calls that come late or twice';
    const isLost = last < previous && this.options.fault !== 'does not notice that it has lost calls';
    if (isLate || isLost) return { applied: false, last };
    this.calls.set(replica, { at: now, number });
    const grants = asks.map((ask) => this.#decide(now, replica, ask));
    const bucketEnd = this.#bucketEnd(now);
    return { applied: true, grants, bucketEnd, bucketMs: (bucketEnd - now) / 1000 };
  }

  #bucketEnd(moment: number): number {
    return Math.ceil(moment / this.bucket) * this.bucket;
  }

  #decide(
    now: number,
    replica: number,
    { subject, limit, asked, told, unused, usage }: Ask,
  ): Applied['grants'][number] {
    const { fault } = this.options;
    const endOf = (moment: number): number => {
      const isEarly = fault === 'drops a bucket when its beginning has left the window';
      return isEarly ? this.#bucketEnd(moment) - this.bucket : this.#bucketEnd(moment);
    };
    let buckets = this.counted(subject, now);
    const latest = endOf(now) + this.bucket;
    const isSetBack = (buckets.at(-1)?.end ?? 0) > latest;
    if (isSetBack || told) {
      const others = buckets
        .filter(
          (bucket) => !told || bucket.replica !== replica || fault === 'adds what it is told to what it has counted',
        )
        .map((bucket) => ({ ...bucket, end: isSetBack ? Math.min(bucket.end, latest) : bucket.end }));
      const own = (told ?? [])
        .map(({ ageMs, count }) => ({ end: endOf(now - Math.max(0, Math.floor(ageMs * 1000))), replica, count }))
        .filter(({ end }) => end + this.window > now);
      buckets = [...others, ...own].sort((a, b) => a.end - b.end);
    } else if (unused) {
      for (const { end, count } of unused) {
        let left = count;
        buckets = buckets.map((bucket) => {
          if (bucket.end !== end || bucket.replica !== replica) return bucket;
          const taken = Math.min(left, bucket.count);
          left -= taken;
          return { ...bucket, count: bucket.count - taken };
        });
      }
    }
    const before = sum(buckets);
    const parts = new Map(this.usage.get(subject));
    const today = this.#dayOf(now);
    const used = usage && this.#useUp(parts, usage, told ? [] : (unused ?? []), today);
    const ofQuotas = used && leftOf(usage.quotas, used);
    const admitted = Math.max(0, Math.min(asked, limit - before, ofQuotas ?? asked));
    if (used && admitted > 0) {
      const part = partOf(parts, today, usage.stream);
      parts.set(`${today} ${usage.stream}`, { ...part, requests: part.requests + admitted });
    }
    if (used) this.usage.set(subject, parts);
    const counts = fault === 'counts what it refuses' ? asked : admitted;
    if (counts > 0) {
      buckets = [...buckets, { end: Math.max(endOf(now), buckets.at(-1)?.end ?? 0), replica, count: counts }];
    }
    if (isSetBack || told || unused || counts > 0) this.windows.set(subject, buckets);
    const total = before + counts;
    let left = total;
    const slot = buckets.find(({ count }) => {
      left -= count;
      return left < Math.max(limit, 1);
    });
    return {
      admitted,
      remaining: Math.max(0, limit - total),
      resetMs: slot ? (slot.end + this.window - now) / 1000 : 0,
      used: used && { day: used.day + admitted, month: used.month + admitted },
    };
  }

  #dayOf(moment: number): number {
    return Math.floor((this.#bucketEnd(moment) - 1) / DAY);
  }

  /** Changes what streams have used by what one tells and gives back. */
  #useUp(parts: Map<string, Counted>, { stream, days }: UsageNews, unused: readonly Unused[], today: number): Used {
    for (const { day, requests, refused } of days) {
      const part = partOf(parts, day, stream);
      if (day >= today - 1) parts.set(`${day} ${stream}`, { requests: requests ?? part.requests, refused });
    }
    for (const { end, count } of unused) {
      const day = this.#dayOf(end);
      const part = partOf(parts, day, stream);
      if (day >= today - 1) parts.set(`${day} ${stream}`, { ...part, requests: Math.max(0, part.requests - count) });
    }
    const month = new Date((today * DAY) / 1000).toISOString().slice(0, 7);
    const used = { day: 0, month: 0 };
    for (const [name, { requests }] of parts) {
      const day = Number(name.split(' ')[0]);
      if (day === today) used.day += requests;
      if (new Date((day * DAY) / 1000).toISOString().slice(0, 7) >= month) used.month += requests;
    }
    return used;
  }
}

export const sum = (buckets: readonly Bucket[]): number => buckets.reduce((total, { count }) => total + count, 0);
