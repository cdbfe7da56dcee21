/** The script that decides requests in Redis, with its calls and replies; it runs on Redis 5.0 or later. */
import type { DayUsage, Quotas } from '../contracts/limiter.js';
import { type RedisClient, RedisScript, readScript } from '../redis/connection.js';
import { DAY_MS, KEPT_DAYS, type Used, type UsedDay, usageOf } from './usage.js';

/** How many buckets a window has: a slot comes back late by one of them at most. */
export const BUCKETS = 60;

export interface ScriptOptions {
  readonly windowMs: number;
  /** A shard remembers at least this many addresses, and at most twice as many and those of one call. */
  readonly mostAddresses: number;
  /** Whether usage is counted, which is kept for longer than windows are. */
  readonly countsUsage: boolean;
}

const bucketLength = (windowMs: number): number => Math.ceil((windowMs * 1000) / BUCKETS);

/** The script of limiters with these options, which it has as constants: a call sends only what changes. */
export const decideScript = ({ windowMs, mostAddresses, countsUsage }: ScriptOptions): RedisScript => {
  const window = windowMs * 1000;
  const bucket = bucketLength(windowMs);
  const constants = {
    WINDOW: window,
    BUCKET_LENGTH: bucket,
    KEPT: countsUsage ? KEPT_DAYS * DAY_MS * 1000 : window + bucket,
    // An address has two fields where usage is counted.
    MOST_ADDRESSES: countsUsage ? 2 * mostAddresses : mostAddresses,
    COUNTS_USAGE: countsUsage,
    DAY: DAY_MS * 1000,
  };
  return new RedisScript(
    [
      `local ${Object.keys(constants).join(', ')} = ${Object.values(constants).join(', ')}`,
      ...(countsUsage ? [readScript('core/limiter/usage.lua')] : []),
      readScript('core/limiter/decide.lua'),
    ].join('\n'),
  );
};

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
  /** An integer below 2^32 that names this replica's part of the caller's usage in Redis. */
  readonly stream: number;
  readonly quotas: Quotas;
  /**
   * This replica's own requests and refusals of a day, to replace what Redis has for it; where `requests` is undefined,
   * the refusals alone.
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
  readonly told?: readonly Told[] | undefined;
  /** Slots to take back; never with `told`, which replaces the buckets that they are in. */
  readonly unused?: readonly Unused[] | undefined;
  /** Where the subject's usage is counted. */
  readonly usage?: UsageNews | undefined;
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
  readonly used: Used | undefined;
}

export interface Applied {
  readonly applied: true;
  /** One for each ask. */
  readonly grants: readonly Grant[];
  /** The end of the bucket in which Redis's clock was, in microseconds, and how many milliseconds were left of it. */
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
  readonly countsUsage: boolean;
  /** Made with the same `windowMs` and `countsUsage`. */
  readonly script: RedisScript;
}

/** The keys of a shard: keys of callers, and the two generations of addresses. */
export const shardParts = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

/**
 * A call as one argument of JSON, since Redis and its client spend more on each argument than on the bytes, and Redis
 * reads JSON faster than a script can take bytes apart: lists of
 *
 * - the fields of the shard that are read: of the replica, of the sweep, and of each ask's subject;
 * - numbers: the replica, the call, the call before; and for each ask its limit and how many requests it asks for;
 * - what is told and given back: the index of the field, whether it is told, and its entries, each an age or an end in
 *   microseconds and a count;
 * - where usage is counted, for each ask: the stream, the quotas, and the days with requests and refusals. In place of
 *   what there is not stands false.
 */
const pack = ({ replica, countsUsage }: Target, { number, previous, asks }: Call): string => {
  const fields = [`replica:${replica}`, ''];
  const numbers = [replica, number, previous];
  const told: [index: number, isTold: boolean, entries: [moment: number, count: number][]][] = [];
  for (const ask of asks) {
    // Half of a surrogate pair, which a key's id may have, would fail the whole call. Lua counts from 1.
    const index = fields.push(ask.subject.toWellFormed());
    numbers.push(ask.limit, ask.asked);
    if (ask.told) told.push([index, true, ask.told.map(({ ageMs, count }) => [micros(ageMs), count])]);
    else if (ask.unused) told.push([index, false, ask.unused.map(({ end, count }) => [end, count])]);
  }
  return JSON.stringify([fields, numbers, told, countsUsage ? asks.map(packedNews) : []]);
};

const packedNews = ({ usage }: Ask) => {
  if (!usage) return false;
  const { stream, quotas, days } = usage;
  const told = days.map(({ day, requests, refused }) => [day, requests ?? false, refused]);
  return [stream, quotas.perDay ?? false, quotas.perMonth ?? false, told];
};

/** Bytes of a number in a reply: a `double`, as Lua has them, since times are above 2^32. */
const DOUBLE = 8;

/** A reply is a byte for whether the call was applied, and doubles: Redis's time, then the grants, or the last call. */
const unpack = (reply: Buffer, { asks }: Call, windowMs: number): Reply => {
  let at = 1 - DOUBLE;
  const next = (): number => {
    at += DOUBLE;
    return reply.readDoubleBE(at);
  };
  const applied = reply[0] === 1;
  if (!applied) return { applied, last: next() };
  const time = next();
  const grants = asks.map(({ usage }): Grant => {
    const admitted = next();
    const remaining = next();
    const resetMs = next() / 1000;
    return { admitted, remaining, resetMs, used: usage && { day: next(), month: next() } };
  });
  const bucket = bucketLength(windowMs);
  const bucketEnd = Math.ceil(time / bucket) * bucket;
  return { applied, grants, bucketEnd, bucketMs: (bucketEnd - time) / 1000 };
};

/** One call, and one grant for each ask in their order. */
export const decide = async (target: Target, call: Call): Promise<Reply> => {
  const { redis, key, windowMs, script } = target;
  // Only calls that ask for an address name several keys, because a cluster refuses those while it moves their slot.
  const hasAddresses = call.asks.some(({ subject }) => subject.startsWith('ip:'));
  const keys = hasAddresses ? shardParts(key) : [key];
  return unpack(await script.run<Buffer>(redis, keys, [pack(target, call)]), call, windowMs);
};

/** The UTC day that a bucket is in, by its end. The moment at which a bucket ends belongs to it. */
export const dayOfBucket = (end: number): number => Math.floor((end - 1) / (DAY_MS * 1000));

const USAGE_HEAD = 11;
const DAY_LENGTH = 14;
const PART_LENGTH = 18;

/** The days of a usage as `usage.lua` packs it. */
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
