/** The script that decides requests in Redis, with the names of its arguments; it runs on Redis 5.0 or later. */
import type { RedisClient } from '../redis.js';
import { RedisScript } from '../redis-script.js';

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
}

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

/** What a replica tells begins with `=`, also if that is nothing; what it gives back with `-`. */
const newsOf = ({ told, unused }: Ask): string => {
  if (told) return `=${told.map(({ ageMs, count }) => `${micros(ageMs)}:${count}`).join(' ')}`;
  return unused ? `-${unused.map(({ end, count }) => `${end}:${count}`).join(' ')}` : '';
};

/** One call, and one grant for each ask in their order. */
export const decide = async (
  { redis, key, replica, windowMs }: Target,
  { number, previous, asks }: Call,
): Promise<Reply> => {
  const window = windowMs * 1000;
  const bucket = Math.ceil(window / BUCKETS);
  const args: (string | number)[] = [replica, number, previous, window, bucket, EXACT_UP_TO];
  for (const ask of asks) args.push(ask.subject, ask.limit, ask.asked, newsOf(ask));
  const [applied, second, ...rest] = await script.run<number[]>(redis, key, args);
  if (applied === 0) return { applied: false, last: second as number };
  const now = second as number;
  const bucketEnd = Math.ceil(now / bucket) * bucket;
  const grants: Grant[] = [];
  for (let i = 0; i < rest.length; i += 3) {
    const [admitted, remaining, resetUs] = [rest[i], rest[i + 1], rest[i + 2]] as [number, number, number];
    grants.push({ admitted, remaining, resetMs: resetUs / 1000 });
  }
  return { applied: true, grants, bucketEnd, bucketMs: (bucketEnd - now) / 1000 };
};
