/** The limiter of many replicas: one sliding window for each caller, kept in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Breaker } from '../breaker.js';
import { type Decision, type Limiter, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import type { RedisConnection } from '../redis.js';
import { within } from '../within.js';
import { type Applied, BUCKETS, decide, EXACT_UP_TO, type Grant } from './decide-script.js';
import { Generations } from './generations.js';
import { type Account, type Asking, Shard, shardKeys, shardOf } from './shard.js';
import { SlidingLog } from './sliding-log.js';

/** What happens to requests while Redis is away. */
export type AwayPolicy =
  /** Each replica keeps an exact window of its own, at the limit divided by the number of replicas. */
  | 'local'
  /** They are rejected with `LimiterUnavailable`. */
  | 'closed'
  /** They all pass, and are counted nowhere. */
  | 'open';

export interface RedisLimiterOptions {
  /** Keys are those of `shardKeys`. */
  readonly redis: RedisConnection;
  /** How many replicas share the limits, for the policy `local`. */
  readonly replicas: number;
  readonly whenAway?: AwayPolicy;
  readonly windowMs?: number;
  readonly clock?: Clock;
  readonly logger: Logger;
}

type Settle = (decision: Decision | Promise<never>) => void;

/** What this replica knows of a caller. */
interface Subject {
  readonly lane: Lane;
  readonly account: Account;
  limit: number;
  /** Requests that the next call will ask for. */
  waiting: Settle[];
  isQueued: boolean;
  /** When the last call was made, and how many requests there were since, its own included. */
  sentAt: number;
  used: number;
  /** How many more would pass under `limit`, besides slots; and by when the next slot is surely due. */
  remaining: number;
  dueBy: number;
  /** Redis would refuse until then at least, by the monotonic clock, under the limit that it refused. */
  refusedUntil: number;
  refusedLimit: number;
}

/** The way to one shard. */
interface Lane {
  readonly key: string;
  readonly shard: Shard;
  /** Subjects with requests that wait, or with something to tell. */
  queue: Subject[];
}

/** The requests of a subject that one call asks for, and how many more are expected. */
interface Batch extends Asking {
  readonly subject: Subject;
  readonly waiting: readonly Settle[];
}

/** A bound of the time for which one call occupies Redis. */
const ASKED_AT_ONCE = 200;
/** While these are in flight, requests gather for the next call. */
const CALLS_IN_FLIGHT = 2;
/** A caller that is asked for again within this part of a bucket is asked for often: it gets slots ahead. */
const OFTEN = 1 / 50;
/** At most this part of what is left is taken ahead: so much may be missing to other replicas for a bucket. */
const AHEAD_SHARE = 1 / 64;
/**
 * A Redis to which the connection was lost may be empty when it is back. Having told it what it knows, each replica
 * goes on alone for so long, in which the others have connected again (`core/redis.ts`), been answered a probe
 * (`breaker.ts`), and told it too. Else the first one back would hand out what all of them have used up.
 */
const REJOIN_MS = 500;

const AWAY: Record<AwayPolicy, string> = {
  local: 'The store of rate limits is away: each replica applies its share of them.',
  closed: 'The store of rate limits is away: limited requests are refused.',
  open: 'The store of rate limits is away: no limits are applied.',
};

/**
 * Never more than the limit passes in any window: Redis counts each request before it passes, and drops it only when its
 * bucket has left the window (`decide.lua`). Up to a limit of `EXACT_UP_TO` a slot comes back at once, above it at most
 * one bucket late: a second of sixty.
 *
 * What comes in one turn of the event loop is asked for by one call, whoever the callers are. A caller over its limit is
 * refused here until its next slot is due. Nothing depends on the replica's clock being right: only spans of its
 * monotonic one are used.
 */
export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #replicas: number;
  readonly #whenAway: AwayPolicy;
  readonly #windowMs: number;
  readonly #bucketMs: number;
  readonly #clock: Clock;
  readonly #replica = randomBytes(4).readUInt32BE();
  readonly #subjects: Generations<Subject>;
  readonly #lanes: readonly Lane[];
  readonly #breaker: Breaker;
  /** Where a call failed: the probe goes there. */
  #failed: Lane;
  #isScheduled = false;
  /** Subjects that may have slots ahead, and the timer by which these are given back. */
  readonly #holders = new Set<Subject>();
  #timer: NodeJS.Timeout | undefined;
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;

  constructor(options: RedisLimiterOptions) {
    this.#redis = options.redis;
    this.#replicas = options.replicas;
    this.#whenAway = options.whenAway ?? 'local';
    this.#windowMs = options.windowMs ?? WINDOW_MS;
    this.#bucketMs = this.#windowMs / BUCKETS;
    this.#clock = options.clock ?? systemClock;
    this.#subjects = new Generations(this.#windowMs, (name) => this.#newSubject(name));
    this.#lanes = shardKeys(this.#redis.keyPrefix, this.#redis.client.isCluster).map((key) => ({
      key,
      shard: new Shard(this.#windowMs),
      queue: [],
    }));
    this.#failed = this.#lanes[0] as Lane;
    this.#breaker = new Breaker({
      name: 'limiter',
      // A write, since a replica of Redis that cannot count is of no use.
      probe: () => this.#redis.client.set(`${this.#failed.key}:probe`, 1, 'PX', 1000),
      timeoutMs: this.#redis.timeoutMs,
      onClose: () => void this.#rejoin(),
      logger: options.logger,
    });
    this.#redis.client.on('close', this.#onConnectionLost);
  }

  take(name: string, limit: number): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const subject = this.#subjects.get(name, now);
    if (now < subject.refusedUntil && limit === subject.refusedLimit) return refusal(subject, now);
    if (limit !== subject.limit) changeLimit(subject, limit);
    if (this.#isAlone(now)) return this.#decideAlone(subject, now);
    if (subject.account.slots > 0) {
      if (now < subject.account.slotsUntil) return this.#useSlot(subject, now);
      giveBack(subject);
    }
    return new Promise((settle) => {
      subject.waiting.push(settle as Settle);
      this.#enqueue(subject);
    });
  }

  health(): Health {
    const alone = this.#isAlone(this.#clock.monotonic());
    return alone ? { ok: false, message: AWAY[this.#whenAway] } : { ok: true, message: null };
  }

  /** Gives back slots that were not used, and leaves the connection, which is its owner's, open. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const subject of this.#holders) if (subject.account.slots > 0) giveBack(subject);
    this.#tellAll();
    const isBusy = ({ shard, queue }: Lane) => shard.inFlight > 0 || queue.length > 0;
    while (this.#lanes.some(isBusy) && !this.#breaker.open) await delay(1);
    this.#redis.client.off('close', this.#onConnectionLost);
    this.#breaker.dispose();
  }

  #isAlone(now: number): boolean {
    return this.#breaker.open || now < this.#rejoinsAt;
  }

  readonly #onConnectionLost = () => {
    this.#connectionLost = true;
    this.#breaker.trip(new Error('The connection to Redis was lost.'));
  };

  #enqueue(subject: Subject): void {
    if (subject.isQueued) return;
    subject.isQueued = true;
    subject.lane.queue.push(subject);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#sendCalls);
  }

  readonly #sendCalls = () => {
    this.#isScheduled = false;
    for (const lane of this.#lanes) {
      while (lane.queue.length > 0 && lane.shard.isReady && lane.shard.inFlight < CALLS_IN_FLIGHT) {
        const batches = lane.queue.splice(0, ASKED_AT_ONCE).map(this.#takeWaiting).filter(isNeeded);
        if (this.#breaker.open) this.#settleAlone(batches);
        else if (batches.length > 0) void this.#call(lane, batches);
      }
    }
  };

  readonly #takeWaiting = (subject: Subject): Batch => {
    const { account, limit, waiting } = subject;
    const now = this.#clock.monotonic();
    const isOften = waiting.length > 0 && now - subject.sentAt < this.#bucketMs * OFTEN;
    const ahead = isOften
      ? Math.min(2 * (subject.used + waiting.length), Math.floor(subject.remaining * AHEAD_SHARE))
      : 0;
    subject.waiting = [];
    subject.isQueued = false;
    subject.sentAt = now;
    subject.used = waiting.length;
    return { subject, account, limit, asked: waiting.length + ahead, waiting };
  };

  async #call(lane: Lane, batches: readonly Batch[]): Promise<void> {
    const { shard, key } = lane;
    const sent = this.#clock.monotonic();
    const call = shard.next(batches, sent);
    try {
      const target = { redis: this.#redis.client, key, replica: this.#replica, windowMs: this.#windowMs };
      const reply = await within(decide(target, call), this.#redis.timeoutMs);
      shard.receive(call, reply);
      if (reply.applied) this.#settle(batches, reply, sent);
      else this.#askAgain(batches);
    } catch (error) {
      shard.lose(batches);
      this.#failed = lane;
      this.#breaker.trip(error);
      this.#settleAlone(batches);
    }
    if (lane.queue.length > 0) this.#sendCalls();
  }

  #settle(batches: readonly Batch[], { grants, bucketMs }: Applied, sent: number): void {
    const now = this.#clock.monotonic();
    for (const [i, { subject, limit, waiting }] of batches.entries()) {
      const { admitted, remaining, resetMs } = grants[i] as Grant;
      const passing = Math.min(admitted, waiting.length);
      subject.account.log.add(now, passing, limit, this.#windowMs);
      subject.dueBy = now + resetMs;
      if (subject.limit === limit) subject.remaining = remaining;
      if (admitted > passing) this.#addSlots(subject, limit, admitted - passing, sent + bucketMs);
      const passed: Decision = { allowed: true, limit, remaining: remaining + admitted - passing, resetMs };
      for (let j = 0; j < passing; j++) (waiting[j] as Settle)(passed);
      if (remaining > 0) continue;
      // When Redis looked at its clock is only known to lie within the call. Counted from before it, nobody is refused
      // here who would pass; counted from after it, nobody who waits as long as told is refused again. Slots that other
      // replicas have ahead may come back when their bucket is over.
      subject.refusedUntil = sent + (limit > EXACT_UP_TO ? Math.min(resetMs, bucketMs) : resetMs);
      subject.refusedLimit = limit;
      const refused: Decision = { allowed: false, limit, remaining: 0, resetMs };
      for (let j = passing; j < waiting.length; j++) (waiting[j] as Settle)(refused);
    }
  }

  #useSlot(subject: Subject, now: number): Decision {
    const { account, limit, remaining, dueBy } = subject;
    account.slots--;
    account.log.add(now, 1, limit, this.#windowMs);
    subject.used++;
    return { allowed: true, limit, remaining: remaining + account.slots, resetMs: Math.max(0, dueBy - now) };
  }

  #addSlots(subject: Subject, limit: number, slots: number, until: number): void {
    const { account, waiting, lane } = subject;
    lane.shard.addSlots(account, slots, until);
    if (limit !== subject.limit) giveBack(subject);
    const now = this.#clock.monotonic();
    if (now < account.slotsUntil) {
      for (const settle of waiting.splice(0, account.slots)) settle(this.#useSlot(subject, now));
    }
    this.#holders.add(subject);
    this.#timer ??= setTimeout(this.#giveBackUnused, this.#bucketMs).unref();
  }

  /** Of callers that do not ask any more. */
  readonly #giveBackUnused = (): void => {
    const now = this.#clock.monotonic();
    this.#timer = undefined;
    for (const subject of this.#holders) {
      if (now < subject.account.slotsUntil) continue;
      this.#holders.delete(subject);
      if (subject.account.slots > 0) giveBack(subject);
      if (!subject.lane.shard.isCounted(subject.account)) this.#enqueue(subject);
    }
    if (this.#holders.size > 0) this.#timer = setTimeout(this.#giveBackUnused, this.#bucketMs).unref();
  };

  /** Redis has lost what it had counted: the next calls tell it that before they ask. */
  #askAgain(batches: readonly Batch[]): void {
    for (const { subject, waiting } of batches) subject.waiting.unshift(...waiting);
    this.#tellAll();
  }

  #settleAlone(batches: readonly Batch[]): void {
    const now = this.#clock.monotonic();
    for (const { subject, waiting } of batches) for (const settle of waiting) settle(this.#decideAlone(subject, now));
  }

  #decideAlone(subject: Subject, now: number): Decision | Promise<never> {
    const { limit, account, lane } = subject;
    if (this.#whenAway === 'closed') return Promise.reject(new LimiterUnavailable(AWAY.closed));
    if (this.#whenAway === 'open') return { allowed: true, limit, remaining: limit, resetMs: 0 };
    const share = Math.max(1, Math.floor(limit / this.#replicas));
    const decision = account.log.take(now, share, this.#windowMs);
    if (decision.allowed) lane.shard.doubt(account);
    return { ...decision, limit };
  }

  async #rejoin(): Promise<void> {
    const mayBeEmpty = this.#connectionLost;
    this.#connectionLost = false;
    if (mayBeEmpty) {
      this.#rejoinsAt = this.#clock.monotonic() + REJOIN_MS;
      for (const { shard } of this.#lanes) shard.doubtAll();
    }
    this.#tellAll();
    if (!mayBeEmpty) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    this.#tellAll();
  }

  /** Tells a Redis that has come back what this replica knows, also of subjects that nobody asks for now. */
  #tellAll(): void {
    for (const [, subject] of this.#subjects.entries()) {
      if (subject.waiting.length > 0 || !subject.lane.shard.isCounted(subject.account)) this.#enqueue(subject);
    }
  }

  #newSubject(name: string): Subject {
    const lane = this.#lanes[shardOf(name, this.#lanes.length)] as Lane;
    const account = lane.shard.open(name, new SlidingLog());
    return {
      lane,
      account,
      limit: 0,
      waiting: [],
      isQueued: false,
      sentAt: Number.NEGATIVE_INFINITY,
      used: 0,
      remaining: 0,
      dueBy: 0,
      refusedUntil: 0,
      refusedLimit: 0,
    };
  }
}

/** Whether there is anything to ask or to tell: what waited may have got slots meanwhile. */
const isNeeded = ({ subject, account, waiting }: Batch): boolean =>
  waiting.length > 0 || !subject.lane.shard.isCounted(account);

/** Slots were granted, and what was left was said, under the limit of before. */
const changeLimit = (subject: Subject, limit: number): void => {
  subject.limit = limit;
  subject.remaining = 0;
  if (subject.account.slots > 0) giveBack(subject);
};

/** The next call tells Redis how many requests there were, without those that the slots are for. */
const giveBack = ({ lane, account }: Subject): void => lane.shard.doubt(account);

const refusal = ({ refusedLimit, dueBy }: Subject, now: number): Decision => ({
  allowed: false,
  limit: refusedLimit,
  remaining: 0,
  resetMs: dueBy - now,
});
