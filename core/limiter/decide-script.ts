/** The script that decides requests in Redis, with the names of its arguments; it runs on Redis 5.0 or later. */
import type { DayUsage, Quotas } from '../contracts/limiter.js';
import { type RedisClient, RedisScript } from '../redis/connection.js';
import { DAY_MS, KEPT_DAYS, type Used, type UsedDay, usageOf } from './usage.js';

const script = new RedisScript('core/limiter/decide.lua');

/** Up to this limit each request keeps its own time, above it that of its bucket: so no window has many entries. */
export const EXACT_UP_TO = 60;

/** How many buckets a window has: a slot comes back late by one of them at most. */
export const BUCKETS = 60;

/** Slots that were counted ahead and not used. */
export interface Unused {
  /** Of their bucket, in microseconds of Redis's clock. */
  readonly end: number;
  readonly count: number;
}

/** Requests that this replica admitted together, and how long ago. */
export interface Told {
  readonly ageMs: number;
  readonly count: number;
}

/** What a call tells of the usage that it counts. */
export interface UsageNews {
  /** An integer below 2^32, by which Redis tells this replica's part from those of others. */
  readonly stream: number;
  readonly quotas: Quotas;
  /**
   * This replica's own requests and refusals of a day, to replace what Redis has for it. Without `requests`: those that
   * Redis has counted stay.
   */
  readonly days: readonly { readonly day: number; readonly requests: number | undefined; readonly refused: number }[];
}

export interface Ask {
  /** `key:<id>` or `ip:<address>`; once in a call. */
  readonly subject: string;
  readonly limit: number;
  /** How many requests wait for a decision or are expected; 0 only tells. */
  readonly asked: number;
  /** All that this replica admitted within the window, to replace what Redis has counted for it. */
  readonly told?: readonly Told[];
  /** Not with `told`, which makes up for it. */
  readonly unused?: readonly Unused[];
  /** Where the subject's usage is counted. */
  readonly usage?: UsageNews;
}

export interface Call {
  /** Higher than that of any call of this replica before. */
  readonly number: number;
  /** Redis must have applied this call of the replica before; otherwise it has lost data, or the order was changed. */
  readonly previous: number;
  readonly asks: readonly Ask[];
}

export interface Grant {
  readonly admitted: number;
  /** How many more would pass now. */
  readonly remaining: number;
  /** Milliseconds until another slot becomes free: 0 when nothing is counted. */
  readonly resetMs: number;
  /** What the subject has used on the day and in the month that the bucket is in. Where its usage is counted. */
  readonly used?: Used;
}

export interface Applied {
  readonly applied: true;
  /** One for each ask. */
  readonly grants: readonly Grant[];
  /** Of the bucket that the requests were counted in: its end by Redis's clock, in microseconds, and how long it lasts. */
  readonly bucketEnd: number;
  readonly bucketMs: number;
}

/** Of a call that was not applied nothing was counted; `last` is the replica's call that was applied last. */
export type Reply = Applied | { readonly applied: false; readonly last: number };

/** Which shard is called, and by whom. */
export interface Target {
  readonly redis: RedisClient;
  readonly key: string;
  /** An integer below 2^32, unlike that of any other replica, and unlike this one's before its last start. */
  readonly replica: number;
  readonly windowMs: number;
  /** How many addresses the shard remembers at least; at most twice as many, and those of one call. */
  readonly mostAddresses: number;
  /** Whether usage is counted, which is kept for longer than windows are. */
  readonly countsUsage: boolean;
}

/** The keys of a shard: keys of callers, and the two generations of addresses. */
export const shardParts = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

/** What a replica tells begins with `=`, also if that is nothing; what it gives back with `-`; what it tells of usage with `#`. */
const newsOf = ({ told, unused, usage }: Ask): string => {
  const ofUsage = usage ? `#${usageText(usage)}` : '';
  if (told) return `=${told.map(({ ageMs, count }) => `${micros(ageMs)}:${count}`).join(' ')}${ofUsage}`;
  return `${unused ? `-${unused.map(({ end, count }) => `${end}:${count}`).join(' ')}` : ''}${ofUsage}`;
};

const usageText = ({ stream, quotas: { perDay, perMonth }, days }: UsageNews): string => {
  const told = days.map(({ day, requests, refused }) => ` ${day}:${requests ?? ''}:${refused}`);
  return `${stream}:${perDay ?? ''}:${perMonth ?? ''}${told.join('')}`;
};

/** One call, and one grant for each ask in their order. */
export const decide = async (
  { redis, key, replica, windowMs, mostAddresses, countsUsage }: Target,
  { number, previous, asks }: Call,
): Promise<Reply> => {
  const window = windowMs * 1000;
  const bucket = Math.ceil(window / BUCKETS);
  // An address has two fields where usage is counted.
  const most = countsUsage ? 2 * mostAddresses : mostAddresses;
  const kept = countsUsage ? KEPT_DAYS * DAY_MS * 1000 : window + bucket;
  const args: (string | number)[] = [replica, number, previous, window, bucket, EXACT_UP_TO, most, kept];
  for (const ask of asks) args.push(ask.subject, ask.limit, ask.asked, newsOf(ask));
  // While a slot of a cluster moves, calls of several keys are refused there: those for addresses alone have several.
  const keys = asks.some(({ subject }) => subject.startsWith('ip:')) ? shardParts(key) : [key];
  const [applied, second, ...rest] = await script.run<number[]>(redis, keys, args);
  if (applied === 0) return { applied: false, last: second as number };
  const now = second as number;
  const bucketEnd = Math.ceil(now / bucket) * bucket;
  let at = 0;
  const next = () => rest[at++] as number;
  const grants = asks.map(({ usage }): Grant => {
    const grant = { admitted: next(), remaining: next(), resetMs: next() / 1000 };
    return usage ? { ...grant, used: { day: next(), month: next() } } : grant;
  });
  return { applied: true, grants, bucketEnd, bucketMs: (bucketEnd - now) / 1000 };
};

/** The UTC day that a bucket is in, by its end. The moment at which a bucket ends belongs to it. */
export const dayOfBucket = (end: number): number => Math.floor((end - 1) / (DAY_MS * 1000));

const USAGE_HEAD = 11;
const DAY_LENGTH = 14;
const PART_LENGTH = 18;

/** The days of a usage as `decide.lua` packs it. */
export const unpackDays = (packed: Buffer): UsedDay[] => {
  const end = packed.length - packed.readUInt32BE(7) * PART_LENGTH;
  const days: UsedDay[] = [];
  for (let at = USAGE_HEAD; at < end; at += DAY_LENGTH) {
    days.push({
      day: packed.readUInt16BE(at),
      requests: packed.readUIntBE(at + 2, 6),
      refused: packed.readUIntBE(at + 8, 6),
    });
  }
  return days;
};

/** What a subject has used. @param key of its shard @param now milliseconds since 1970 */
export const readUsage = async (
  { redis, key }: Pick<Target, 'redis' | 'key'>,
  subject: string,
  now: number,
): Promise<readonly DayUsage[]> => {
  const [ofKeys, ...ofAddresses] = shardParts(key);
  const field = `usage:${subject}`;
  for (const part of subject.startsWith('ip:') ? ofAddresses : [ofKeys as string]) {
    const packed = await redis.hgetBuffer(part, field);
    if (packed) return usageOf(unpackDays(packed), now);
  }
  return [];
};
