import type { Quotas } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import type { RedisClient, RedisConnection } from '../redis/connection.js';
import { isAddress } from './caller-map.js';
import type { Used } from './quotas.js';
import { type DecideScript, hashesOf } from './script.js';
import type { Admitted } from './window.js';

export interface Returned {
  readonly bucketEnd: number;
  readonly count: number;
}

export interface UsageReport {
  /** The id of a usage counter. Must be below 2^32, because the Lua script stores the id in 4 bytes. */
  readonly counterId: number;
  readonly quotas: Quotas;
  /** New totals for each day. `requests` is undefined if Redis already has the correct number. */
  readonly days: readonly { readonly day: number; readonly requests: number | undefined; readonly refused: number }[];
}

export interface Ask {
  readonly caller: string;
  readonly limit: number;
  /** Number of requested permits. 0 if the call only reports to Redis. */
  readonly permits: number;
  /**
   * All permits that this replica has used for the caller within the window. Set only in a resync, which replaces the
   * count in Redis.
   */
  readonly resync?: readonly Admitted[] | undefined;
  /** Unused permits. Undefined for a resync, which reports only used permits. */
  readonly returned?: readonly Returned[] | undefined;
  readonly usage?: UsageReport | undefined;
}

export interface Call {
  /** Increases with each call that a replica makes. */
  readonly number: number;
  /**
   * The number of an earlier call that Redis must have applied. Otherwise, Redis has lost data and rejects this call.
   */
  readonly previous: number;
  readonly asks: readonly Ask[];
}

export interface Grant {
  readonly permits: number;
  /** The number of further permits that Redis would grant now. */
  readonly remaining: number;
  readonly resetMs: number;
  /** Usage on the day of the bucket, and in its month. Undefined if the call reported no usage. */
  readonly used: Used | undefined;
}

export interface AppliedReply {
  readonly applied: true;
  readonly grants: readonly Grant[];
  /** End of the current bucket by Redis's clock, in microseconds. */
  readonly bucketEnd: number;
  readonly bucketMs: number;
}

/**
 * The reply to a call. If `applied` is false, Redis has rejected the call, and `last` is the number of the last call
 * from this replica that Redis has applied.
 */
export type Reply = AppliedReply | { readonly applied: false; readonly last: number };

export interface Target {
  readonly redis: RedisClient;
  readonly key: string;
  /** A random integer below 2^32, which a replica chooses each time it starts. */
  readonly replica: number;
  readonly script: DecideScript;
}

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

const listFor = <T>(asks: readonly Ask[]): (T | false)[] => Array<T | false>(asks.length).fill(false);

/**
 * A call is sent as a single JSON string, because each additional argument of a Redis command is expensive. Each
 * property is a list with one item per caller, because a list of objects would cost Redis more.
 */
const encode = (replica: number, { number, previous, asks }: Call): string => {
  const [fields, limits, permits]: [string[], number[], number[]] = [[], [], []];
  let resyncs: ({ age: number; count: number }[] | false)[] | undefined;
  let returns: (readonly Returned[] | false)[] | undefined;
  let counters: ({ id: number; perDay?: number; perMonth?: number } | false)[] | undefined;
  let usageDays: (UsageReport['days'] | false)[] | undefined;
  for (let i = 0; i < asks.length; i++) {
    const { caller, limit, permits: asked, resync, returned, usage } = asks[i] as Ask;
    // A key id can contain a lone surrogate, which would make the whole call fail.
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

/** The order of the values in a reply is documented in `decide.lua`. Times are in microseconds. */
const decode = (reply: Buffer, { asks }: Call, bucketMicros: number): Reply => {
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
  const bucketEnd = Math.ceil(time / bucketMicros) * bucketMicros;
  return { applied, grants, bucketEnd, bucketMs: (bucketEnd - time) / 1000 };
};

/**
 * Returns the Redis hashes for a call. Calls without client addresses use only one hash, because a Redis cluster
 * rejects calls with several keys while it migrates them.
 */
const hashesFor = (key: string, asks: readonly Ask[]): readonly string[] =>
  asks.some(({ caller }) => isAddress(caller)) ? hashesOf(key) : [key];

export const decide = async ({ redis, key, replica, script }: Target, call: Call): Promise<Reply> => {
  const reply = await script.run<Buffer>(redis, hashesFor(key, call.asks), [encode(replica, call)]);
  return decode(reply, call, script.bucketMicros);
};

let checks = 0;

/** Rejects if the script fails, or if another program has stored a value of another type in a hash of the limiter. */
export const checkScript = async (target: Target): Promise<void> => {
  await Promise.all(hashesOf(target.key).map((hash) => target.redis.hlen(hash)));
  const key = `${target.key}:check-${target.replica}-${++checks}`;
  await decide({ ...target, key }, { number: 1, previous: 0, asks: [{ caller: 'ip:check', limit: 1, permits: 1 }] });
  const [first, second, third] = hashesOf(key) as [string, string, string];
  // The script rarely needs these commands. Without this call, a missing permission would be noticed only later.
  await Promise.all([
    target.redis.hdel(first, ''),
    target.redis.rename(second, third),
    target.redis.unlink(first, third),
  ]);
};

export interface Sent<Batch> {
  readonly batch: Batch;
  readonly call: Call;
  readonly sentAt: number;
}

interface CallsOptions<Batch> {
  readonly target: Target;
  readonly redis: Pick<RedisConnection, 'timeoutMs' | 'durations'>;
  readonly clock: Clock;
  readonly onReply: (sent: Sent<Batch>, reply: Reply) => void;
  /** Called when a call fails or times out. A reply that arrives later is ignored. */
  readonly onFailure: (sent: Sent<Batch>, error: unknown) => void;
}

/** All calls share one timer, because a timer per call would cost as much as the rest of the call. */
export class CallsInFlight<Batch> {
  readonly #options: CallsOptions<Batch>;
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
    // `setImmediate` lets Node read replies first, because timers run before received data is read.
    setImmediate(() => {
      for (const sent of late) this.#fail(sent, new Error(`There was no response within ${timeoutMs} ms.`));
      const [oldest] = this.#calls;
      const left = oldest && timeoutMs - (clock.monotonic() - oldest.sentAt);
      this.#timer = left === undefined ? undefined : setTimeout(this.#checkTimeouts, Math.max(0, left));
    });
  };
}
