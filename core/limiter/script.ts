/** Runs `decide.lua` in Redis 5.0 or later: its constants, its arguments, its reply, and the calls in flight. */
import type { Quotas } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import { RedisScript, readScript } from '../redis/calls.js';
import type { RedisClient } from '../redis/connection.js';
import { hashesFor } from './callers.js';
import { DAY_MS, KEPT_DAYS, type Used } from './quotas.js';
import type { Admitted } from './window.js';

/** A window has this many buckets. A permit becomes free at most one bucket late. */
export const BUCKETS = 60;

/** Microseconds. */
const bucketLength = (windowMs: number): number => Math.ceil((windowMs * 1000) / BUCKETS);

export interface ScriptOptions {
  readonly windowMs: number;
  /** Each partition keeps at least this many addresses, and at most twice as many plus one batch. */
  readonly mostAddresses: number;
  readonly countsUsage: boolean;
}

/** The script with its constants. They are part of its text so that calls need not send them. */
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
      // Redis runs all of the text for each call, so what is not needed is left out.
      ...(countsUsage ? [readScript('core/limiter/quotas.lua')] : []),
      readScript('core/limiter/decide.lua'),
    ].join('\n'),
  );
};

/** Prefetched permits that were not used. */
export interface Returned {
  /** End of their bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  readonly count: number;
}

/** What a call reports about a caller's usage. */
export interface UsageReport {
  /** An integer below 2^32. */
  readonly counterId: number;
  readonly quotas: Quotas;
  /** The counter's days. Redis replaces its values by these. `requests` is undefined where Redis has the right value. */
  readonly days: readonly { readonly day: number; readonly requests: number | undefined; readonly refused: number }[];
}

/** What a call asks and reports for one caller. */
export interface Ask {
  readonly caller: string;
  readonly limit: number;
  /** How many permits it asks for. 0 if it only reports. */
  readonly permits: number;
  /** Resync: everything that this replica admitted within the window. Redis replaces its count by this. */
  readonly resync?: readonly Admitted[] | undefined;
  /** Never together with `resync`, which contains only used permits. */
  readonly returned?: readonly Returned[] | undefined;
  readonly usage?: UsageReport | undefined;
}

/** One batch. A caller appears once. */
export interface Call {
  /** Increases with each call of a replica. */
  readonly number: number;
  /** Redis must have applied this call before. If it has not, it lost data, and it rejects the call. */
  readonly previous: number;
  readonly asks: readonly Ask[];
}

export interface Grant {
  readonly permits: number;
  /** How many more Redis would grant now. */
  readonly remaining: number;
  /** Milliseconds until the next permit is free. 0 when the window is empty. */
  readonly resetMs: number;
  /** Usage of the bucket's day and month, if the ask reports usage. */
  readonly used: Used | undefined;
}

export interface AppliedReply {
  readonly applied: true;
  /** In the order of the asks. */
  readonly grants: readonly Grant[];
  /** End of the current bucket, in microseconds of Redis's clock. */
  readonly bucketEnd: number;
  /** Milliseconds until then. */
  readonly bucketMs: number;
}

/** A rejected call changed nothing. `last` is the number of the replica's last applied call. */
export type Reply = AppliedReply | { readonly applied: false; readonly last: number };

/** Where calls go, and who sends them. */
export interface Target {
  readonly redis: RedisClient;
  /** Key of the partition. */
  readonly key: string;
  /** A random integer below 2^32. Each start of a replica has a new one. */
  readonly replica: number;
  readonly windowMs: number;
  /** Created with the same `windowMs`. */
  readonly script: RedisScript;
}

const micros = (ms: number): number => Math.max(0, Math.floor(ms * 1000));

/** A list with an entry for each ask, which are false at first. */
const listFor = <T>(asks: readonly Ask[]): (T | false)[] => Array<T | false>(asks.length).fill(false);

/**
 * The argument of `decide.lua`, which documents the names. It is one JSON text, because each argument of a command costs
 * more than its bytes. There is a list for each property, because a list of objects costs Redis more.
 */
const encode = (replica: number, { number, previous, asks }: Call): string => {
  const [fields, limits, permits]: [string[], number[], number[]] = [[], [], []];
  let resyncs: ({ age: number; count: number }[] | false)[] | undefined;
  let returns: (readonly Returned[] | false)[] | undefined;
  let counters: ({ id: number; perDay?: number; perMonth?: number } | false)[] | undefined;
  let usageDays: (UsageReport['days'] | false)[] | undefined;
  for (let i = 0; i < asks.length; i++) {
    const { caller, limit, permits: asked, resync, returned, usage } = asks[i] as Ask;
    // A lone surrogate, which the id of a key may contain, would fail the whole call.
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

/** Reads the reply of `decide.lua`, which documents its order. Times are in microseconds. */
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

/** The UTC day of a bucket, which includes its end. @param end microseconds */
export const dayOfBucket = (end: number): number => Math.floor((end - 1) / (DAY_MS * 1000));

/** A call that was sent with the batch that it asks for. */
export interface Sent<Batch> {
  readonly batch: Batch;
  readonly call: Call;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
}

interface CallsOptions<Batch> {
  readonly target: Target;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onReply: (sent: Sent<Batch>, reply: Reply) => void;
  /** The call failed or timed out. A later reply is ignored. */
  readonly onFailure: (sent: Sent<Batch>, error: unknown) => void;
}

/** One timer serves all calls in flight: a timer for each would cost as much as the rest of the call. */
export class CallsInFlight<Batch> {
  readonly #options: CallsOptions<Batch>;
  /** Oldest first. */
  readonly #calls = new Set<Sent<Batch>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallsOptions<Batch>) {
    this.#options = options;
  }

  send(sent: Sent<Batch>): void {
    const { target, timeoutMs, onReply } = this.#options;
    this.#calls.add(sent);
    this.#timer ??= setTimeout(this.#checkTimeouts, timeoutMs);
    decide(target, sent.call).then(
      (reply) => {
        if (this.#calls.delete(sent)) onReply(sent, reply);
      },
      (error: unknown) => this.#fail(sent, error),
    );
  }

  #fail(sent: Sent<Batch>, error: unknown): void {
    if (this.#calls.delete(sent)) this.#options.onFailure(sent, error);
  }

  readonly #checkTimeouts = (): void => {
    const { clock, timeoutMs } = this.#options;
    const now = clock.monotonic();
    const late = [...this.#calls].filter(({ sentAt }) => now - sentAt >= timeoutMs);
    // After a long turn of the event loop, timers run before I/O that has arrived: read the replies first.
    setImmediate(() => {
      for (const sent of late) this.#fail(sent, new Error(`There was no response within ${timeoutMs} ms.`));
      const [oldest] = this.#calls;
      const left = oldest && timeoutMs - (clock.monotonic() - oldest.sentAt);
      this.#timer = left === undefined ? undefined : setTimeout(this.#checkTimeouts, Math.max(0, left));
    });
  };
}
