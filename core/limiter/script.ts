/** Runs `decide.lua` in Redis 5.0 or later, with its constants, arguments and reply, and tracks the calls in flight. */
import type { Quotas } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import { RedisScript, readScript } from '../redis/calls.js';
import type { RedisClient, RedisConnection } from '../redis/connection.js';
import { hashesFor, hashesOf } from './callers.js';
import { DAY_MS, KEPT_DAYS, type Used } from './quotas.js';
import type { Admitted } from './window.js';

/** The number of buckets in a window. A permit becomes free no later than one bucket after its time. */
export const BUCKETS = 60;

/** The length of a bucket in microseconds. */
const bucketLength = (windowMs: number): number => Math.ceil((windowMs * 1000) / BUCKETS);

interface ScriptOptions {
  readonly windowMs: number;
  /** The minimum number of addresses that each partition keeps. The maximum is twice that number plus one batch. */
  readonly mostAddresses: number;
  readonly countsUsage: boolean;
}

/** The script, including its constants, which are part of the text so that calls need not send them. */
export const decideScript = ({ windowMs, mostAddresses, countsUsage }: ScriptOptions): RedisScript => {
  const window = windowMs * 1000;
  const bucket = bucketLength(windowMs);
  const constants = {
    WINDOW: window,
    BUCKET: bucket,
    COUNTS_USAGE: countsUsage,
    DAY: DAY_MS * 1000,
    KEPT: countsUsage ? KEPT_DAYS * DAY_MS * 1000 : window + bucket,
    // An address has two fields if usage is counted.
    MOST_ADDRESSES: countsUsage ? 2 * mostAddresses : mostAddresses,
  };
  return new RedisScript(
    [
      `local ${Object.keys(constants).join(', ')} = ${Object.values(constants).join(', ')}`,
      readScript('core/limiter/window.lua'),
      // Redis runs the whole text for each call, so unneeded parts are left out.
      ...(countsUsage ? [readScript('core/limiter/quotas.lua')] : []),
      readScript('core/limiter/decide.lua'),
    ].join('\n'),
  );
};

/** Prefetched permits that were never used. */
export interface Returned {
  /** The end of the bucket to which they belong, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  readonly count: number;
}

/** What a call reports about a caller's usage. */
export interface UsageReport {
  /** An integer below 2^32. */
  readonly counterId: number;
  readonly quotas: Quotas;
  /** The values that replace the counter's days in Redis. `requests` is undefined if Redis has the correct number. */
  readonly days: readonly { readonly day: number; readonly requests: number | undefined; readonly refused: number }[];
}

/** What a call requests and reports for one caller. */
export interface Ask {
  readonly caller: string;
  readonly limit: number;
  /** The number of permits to request. 0 if the call only reports. */
  readonly permits: number;
  /** For a resync: everything that this replica admitted within the window. It replaces the count in Redis. */
  readonly resync?: readonly Admitted[] | undefined;
  /** Never used together with `resync`, which contains only permits that were used. */
  readonly returned?: readonly Returned[] | undefined;
  readonly usage?: UsageReport | undefined;
}

/** One batch. Each caller appears only once. */
export interface Call {
  /** Increases with every call of a replica. */
  readonly number: number;
  /** A call that Redis must have applied already. If it has not, Redis has lost data, and it rejects this call. */
  readonly previous: number;
  readonly asks: readonly Ask[];
}

export interface Grant {
  readonly permits: number;
  /** How many more permits Redis would grant now. */
  readonly remaining: number;
  /** Milliseconds until another permit becomes free. 0 if the window is empty. */
  readonly resetMs: number;
  /** The usage on the day and in the month of the bucket, if the call reported usage. */
  readonly used: Used | undefined;
}

export interface AppliedReply {
  readonly applied: true;
  /** The grants, in the order of the asks. */
  readonly grants: readonly Grant[];
  /** The end of the current bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  /** Milliseconds until the end of the current bucket. */
  readonly bucketMs: number;
}

/** The reply to a call. A rejected call has changed nothing; `last` is the replica's last call that was applied. */
export type Reply = AppliedReply | { readonly applied: false; readonly last: number };

/** Where calls are sent, and on behalf of which replica. */
export interface Target {
  readonly redis: RedisClient;
  /** The Redis key of the partition. */
  readonly key: string;
  /** A random integer below 2^32, chosen whenever a replica starts. */
  readonly replica: number;
  readonly windowMs: number;
  /** The script, which must have been created with the same `windowMs`. */
  readonly script: RedisScript;
}

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

/** Creates a list with an entry for each ask. All entries are false at first. */
const listFor = <T>(asks: readonly Ask[]): (T | false)[] => Array<T | false>(asks.length).fill(false);

/**
 * Encodes the argument of `decide.lua`, which documents the names. It is a single JSON text, because each additional
 * argument of a command is expensive. It has one list per property, because a list of objects would cost Redis more.
 */
const encode = (replica: number, { number, previous, asks }: Call): string => {
  const [fields, limits, permits]: [string[], number[], number[]] = [[], [], []];
  let resyncs: ({ age: number; count: number }[] | false)[] | undefined;
  let returns: (readonly Returned[] | false)[] | undefined;
  let counters: ({ id: number; perDay?: number; perMonth?: number } | false)[] | undefined;
  let usageDays: (UsageReport['days'] | false)[] | undefined;
  for (let i = 0; i < asks.length; i++) {
    const { caller, limit, permits: asked, resync, returned, usage } = asks[i] as Ask;
    // The id of a key may contain a lone surrogate, which would make the whole call fail.
    fields.push(caller.toWellFormed());
    limits.push(limit);
    permits.push(asked);
    if (resync) {
      resyncs ??= listFor(asks);
      resyncs[i] = resync.map(({ ageMs, count }) => ({ age: micros(ageMs), count }));
    } else if (returned) {
      returns ??= listFor(asks);
      returns[i] = returned.map(({ bucketEnd, count }) => ({ bucketEnd, count }));
    }
    if (!usage) continue;
    const { perDay, perMonth } = usage.quotas;
    counters ??= listFor(asks);
    counters[i] = { id: usage.counterId, ...(perDay !== null && { perDay }), ...(perMonth !== null && { perMonth }) };
    if (usage.days.length === 0) continue;
    usageDays ??= listFor(asks);
    usageDays[i] = usage.days;
  }
  fields.push(`replica:${replica}`, '');
  return JSON.stringify({ replica, number, previous, fields, limits, permits, resyncs, returns, counters, usageDays });
};

const DOUBLE_BYTES = 8;

/** Decodes the reply from `decide.lua`, which describes the order of the values. Times are in microseconds. */
const decode = (reply: Buffer, { asks }: Call, windowMs: number): Reply => {
  let at = 1 - DOUBLE_BYTES;
  const next = (): number => {
    at += DOUBLE_BYTES;
    return reply.readDoubleBE(at);
  };
  const applied = reply[0] === 1;
  if (!applied) return { applied, last: next() };
  const time = next();
  const grants = asks.map(
    ({ usage }): Grant => ({
      permits: next(),
      remaining: next(),
      resetMs: next() / 1000,
      used: usage && { day: next(), month: next() },
    }),
  );
  const bucket = bucketLength(windowMs);
  const bucketEnd = Math.ceil(time / bucket) * bucket;
  return { applied, grants, bucketEnd, bucketMs: (bucketEnd - time) / 1000 };
};

/** Sends one call. */
export const decide = async ({ redis, key, replica, windowMs, script }: Target, call: Call): Promise<Reply> => {
  const keys = hashesFor(key, call.asks);
  return decode(await script.run(redis, keys, [encode(replica, call)]), call, windowMs);
};

let checks = 0;

/** Runs the script and all of its commands, with hashes that no other call uses. */
export const checkScript = async (target: Target): Promise<void> => {
  const key = `${target.key}:check-${target.replica}-${++checks}`;
  await decide({ ...target, key }, { number: 1, previous: 0, asks: [{ caller: 'ip:check', limit: 1, permits: 1 }] });
  const [first, second, third] = hashesOf(key) as [string, string, string];
  await Promise.all([
    target.redis.hdel(first, ''),
    target.redis.rename(second, third),
    target.redis.unlink(first, third),
  ]);
};

/** The UTC day of a bucket, which includes the end of the bucket. @param end microseconds */
export const dayOfBucket = (end: number): number => Math.floor((end - 1) / (DAY_MS * 1000));

/** A call that was sent, and the batch to which it belongs. */
export interface Sent<Batch> {
  readonly batch: Batch;
  readonly call: Call;
  /** When the call was sent, in monotonic milliseconds. */
  readonly sentAt: number;
}

interface CallsOptions<Batch> {
  readonly target: Target;
  readonly redis: Pick<RedisConnection, 'timeoutMs' | 'durations'>;
  readonly clock: Clock;
  readonly onReply: (sent: Sent<Batch>, reply: Reply) => void;
  /** Called if the call failed or timed out. A later reply to it is ignored. */
  readonly onFailure: (sent: Sent<Batch>, error: unknown) => void;
}

/** A single timer serves all calls in flight. One timer per call would cost as much as the rest of the call. */
export class CallsInFlight<Batch> {
  readonly #options: CallsOptions<Batch>;
  /** The calls in flight, oldest first. */
  readonly #calls = new Set<Sent<Batch>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallsOptions<Batch>) {
    this.#options = options;
  }

  send(sent: Sent<Batch>): void {
    const { target, redis, onReply } = this.#options;
    this.#calls.add(sent);
    this.#timer ??= setTimeout(this.#checkTimeouts, redis.timeoutMs);
    decide(target, sent.call).then(
      (reply) => {
        redis.durations.observe((this.#options.clock.monotonic() - sent.sentAt) / 1000);
        if (this.#calls.delete(sent)) onReply(sent, reply);
      },
      (error: unknown) => this.#fail(sent, error),
    );
  }

  #fail(sent: Sent<Batch>, error: unknown): void {
    if (this.#calls.delete(sent)) this.#options.onFailure(sent, error);
  }

  readonly #checkTimeouts = (): void => {
    const {
      clock,
      redis: { timeoutMs },
    } = this.#options;
    const now = clock.monotonic();
    const late = [...this.#calls].filter(({ sentAt }) => now - sentAt >= timeoutMs);
    // After a long turn of the event loop, timers run before data that has arrived is read, so read the replies first.
    setImmediate(() => {
      for (const sent of late) this.#fail(sent, new Error(`There was no response within ${timeoutMs} ms.`));
      const [oldest] = this.#calls;
      const left = oldest && timeoutMs - (clock.monotonic() - oldest.sentAt);
      this.#timer = left === undefined ? undefined : setTimeout(this.#checkTimeouts, Math.max(0, left));
    });
  };
}
