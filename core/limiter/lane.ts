/** A replica's way to one shard in Redis: it gathers requests, asks for them together, and settles them. */
import type { Decision, Quotas } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import {
  type Applied,
  BUCKETS,
  type Call,
  dayOfBucket,
  decide,
  type Grant,
  type Reply,
  type Target,
} from './decide-script.js';
import { SlidingLog } from './in-memory.js';
import { type Asking, Shard, Subject } from './shard.js';
import { DAY_MS, dayOf, leftOf, quotaStates, withQuotas } from './usage.js';

export type Settle = (decision: Decision | Promise<never>) => void;

/** A subject as its lane knows it. One object for all of it, since with many callers each is far from the next in memory. */
export class LaneSubject extends Subject {
  limit = 0;
  quotas: Quotas | undefined = undefined;
  /** Requests that the next call will ask for; undefined: none. */
  waiting: Settle[] | undefined = undefined;
  isQueued = false;
  /** When the last call for it was made, and how many requests slots ahead have let pass since. */
  sentAt = Number.NEGATIVE_INFINITY;
  used = 0;
  /** Since when it has asked without a pause of two buckets. */
  steadySince = Number.NEGATIVE_INFINITY;
  /** How many requests Redis would still admit besides the slots ahead, and by when it surely admits another. */
  remaining = 0;
  dueBy = 0;
  /** Redis would refuse until then at least, by the monotonic clock. */
  refusedUntil = 0;

  constructor(
    readonly lane: Lane,
    name: string,
    bucketMs: number,
  ) {
    super(name, new SlidingLog(bucketMs), lane.shard.epoch);
  }
}

/** The requests of a subject that one call asks for, and how many more are expected. */
interface Batch extends Asking {
  readonly subject: LaneSubject;
  readonly waiting: readonly Settle[];
}

/** A call whose reply has not come. */
interface Pending {
  readonly batches: readonly Batch[];
  readonly call: Call;
  readonly sent: number;
}

export interface LaneOptions {
  readonly target: Target;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Whether Redis is away, so that no call is made. */
  readonly isAway: () => boolean;
  readonly onFailure: (lane: Lane, error: unknown) => void;
  /** Redis has lost what it had counted. */
  readonly onLoss: () => void;
  /** Decides without Redis. */
  readonly decideAlone: (subject: LaneSubject) => Decision | Promise<never>;
}

/** A bound of the time for which one call occupies Redis. */
const ASKED_AT_ONCE = 200;
/** While these are in flight, requests gather for the next call. */
const CALLS_IN_FLIGHT = 2;
/** From so many subjects on, two calls share them, so that Redis decides one half while responses of the other are sent. */
const SHARED_FROM = 20;
/**
 * Slots ahead are asked for so many buckets of requests as they came of late. A call finds half of its bucket left on
 * average; three times as many let most callers ask once in a bucket, and what is left over is given back by the way.
 */
const AHEAD_BUCKETS = 3 / 2;
/** A single slot would seldom be used before its bucket is over, and then costs both sides the giving back. */
const FEWEST_AHEAD = 2;
/** A subject for which no call was made for so many buckets has stopped asking. */
const IDLE_BUCKETS = 2;
/** At most this part of what is left is taken ahead: so much may be missing to other replicas until it is given back. */
const AHEAD_SHARE = 1 / 64;

/** Whether a limit is high enough for slots ahead: then other replicas may give some back. */
const mayTakeAhead = (limit: number): boolean => limit * AHEAD_SHARE >= FEWEST_AHEAD;

const NOBODY: readonly Settle[] = [];

/** The requests that wait, which then wait no more. An array for each idle subject would be moved by the collector. */
const takeAll = (subject: LaneSubject): readonly Settle[] => {
  const { waiting = NOBODY } = subject;
  subject.waiting = undefined;
  return waiting;
};

export class Lane {
  readonly #options: LaneOptions;
  readonly #windowMs: number;
  readonly #bucketMs: number;
  readonly #clock: Clock;
  readonly shard: Shard;
  /** Subjects with requests that wait, or with something to tell. */
  #queue: LaneSubject[] = [];
  #isScheduled = false;
  /** In the order in which they were sent. */
  readonly #pending = new Set<Pending>();
  #timeout: NodeJS.Timeout | undefined;
  /** How far Redis's clock, in milliseconds since 1970, is ahead of the monotonic one here. */
  #redisAhead: number | undefined;
  /** Subjects that may have slots ahead or refusals to tell, and the timer by which these are given back and told. */
  readonly #holders = new Set<LaneSubject>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#windowMs = options.target.windowMs;
    this.#bucketMs = this.#windowMs / BUCKETS;
    this.#clock = options.clock;
    this.shard = options.target.countsUsage ? new Shard(this.#windowMs, 2 * DAY_MS) : new Shard(this.#windowMs);
  }

  get key(): string {
    return this.#options.target.key;
  }

  /** Makes a call without requests if none was made for `idleMs`: its reply tells whether Redis has lost data. */
  pollForLoss(now: number, idleMs: number): void {
    if (!this.isBusy && this.shard.mayLose(now, idleMs)) this.#call([]);
  }

  get isBusy(): boolean {
    return this.shard.inFlight > 0 || this.#queue.length > 0;
  }

  open(name: string): LaneSubject {
    return new LaneSubject(this, name, this.#bucketMs);
  }

  /** Forgets what Redis said under the limit of before, and gives back the slots taken ahead under it. */
  changeLimit(subject: LaneSubject, limit: number, quotas: Quotas | undefined): void {
    subject.limit = limit;
    subject.quotas = quotas;
    subject.remaining = 0;
    subject.refusedUntil = 0;
    this.shard.giveBack(subject);
  }

  /** Decides at once by a slot that was taken ahead, or else with the next call. */
  take(subject: LaneSubject, now: number): Decision | Promise<Decision> {
    if (subject.slots > 0) {
      if (now < subject.slotsUntil) return this.#useSlot(subject, now);
      this.shard.giveBack(subject);
    }
    return new Promise((settle) => {
      subject.waiting ??= [];
      subject.waiting.push(settle as Settle);
      this.#enqueue(subject);
    });
  }

  /** Refuses a request that Redis would surely refuse. */
  refuse(subject: LaneSubject, now: number): Decision {
    const { usage, limit, dueBy } = subject;
    const time = this.redisTime(now);
    usage?.refuse(dayOf(time), 1);
    if (usage) this.#hold(subject);
    return withQuotas({ allowed: false, limit, remaining: 0, resetMs: dueBy - now }, this.quotas(subject, time));
  }

  /** Milliseconds since 1970 by Redis's clock, by which days begin, or by this process's while that is not known. */
  redisTime(now: number): number {
    return this.#redisAhead === undefined ? this.#clock.now() : now + this.#redisAhead;
  }

  /** The state of a subject's quotas. @param time as `redisTime` has it */
  quotas({ usage, slots, quotas }: LaneSubject, time: number): Decision['quotas'] {
    if (!usage || !quotas) return undefined;
    const { day, month } = usage.used(dayOf(time));
    return quotaStates(quotas, { day: day - slots, month: month - slots }, time);
  }

  /** Tells what Redis does not know, also if nobody asks now. */
  tell(subject: LaneSubject): void {
    if (subject.waiting || this.shard.hasNews(subject)) this.#enqueue(subject);
  }

  /** Decides what waits for the next call, which then only tells. */
  decideWaitingAlone(): void {
    for (const subject of this.#queue) {
      for (const settle of takeAll(subject)) settle(this.#options.decideAlone(subject));
    }
  }

  giveBackAll(): void {
    clearTimeout(this.#timer);
    for (const subject of this.#holders) this.shard.giveBack(subject);
  }

  #enqueue(subject: LaneSubject): void {
    if (subject.isQueued) return;
    subject.isQueued = true;
    this.#queue.push(subject);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // At the end of the turn, with all that it brings.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendCalls();
    });
  }

  #sendCalls(): void {
    while (this.#queue.length > 0 && this.shard.isReady && this.shard.inFlight < CALLS_IN_FLIGHT) {
      const { length } = this.#queue;
      const isShared = this.shard.inFlight === 0 && length >= SHARED_FROM;
      const most = isShared ? Math.min(Math.ceil(length / 2), ASKED_AT_ONCE) : ASKED_AT_ONCE;
      const batches = this.#queue.splice(0, most).map(this.#takeWaiting).filter(this.#isNeeded);
      if (this.#options.isAway()) this.#settleAlone(batches);
      else if (batches.length > 0) this.#call(batches);
    }
  }

  readonly #takeWaiting = (subject: LaneSubject): Batch => {
    const { limit, quotas } = subject;
    const waiting = takeAll(subject);
    const now = this.#clock.monotonic();
    const used = subject.used + waiting.length;
    if (now - subject.sentAt > IDLE_BUCKETS * this.#bucketMs) subject.steadySince = now;
    // A burst that may be over needs no slots ahead, since one call asks for all of it, and other replicas would miss them.
    const isSteady = waiting.length === 1 || (waiting.length > 1 && now - subject.steadySince >= this.#bucketMs);
    const meanGapMs = (now - subject.sentAt) / used;
    const expected = (this.#bucketMs * AHEAD_BUCKETS) / meanGapMs;
    const ahead = Math.floor(Math.min(expected, subject.remaining * AHEAD_SHARE));
    subject.isQueued = false;
    subject.sentAt = now;
    subject.used = 0;
    const asked = isSteady && ahead >= FEWEST_AHEAD ? waiting.length + ahead : waiting.length;
    return { subject, limit, quotas, asked, waiting };
  };

  /** A queued subject needs no call once slots ahead have let all its requests pass and it has nothing to tell. */
  readonly #isNeeded = ({ subject, waiting }: Batch): boolean => waiting.length > 0 || this.shard.hasNews(subject);

  #call(batches: readonly Batch[]): void {
    const sent = this.#clock.monotonic();
    const pending = { batches, call: this.shard.next(batches, sent), sent };
    this.#pending.add(pending);
    this.#timeout ??= setTimeout(this.#giveUpLate, this.#options.timeoutMs);
    decide(this.#options.target, pending.call).then(
      (reply) => this.#receive(pending, reply),
      (error: unknown) => this.#fail(pending, error),
    );
  }

  #receive(pending: Pending, reply: Reply): void {
    if (!this.#pending.delete(pending)) return;
    const { batches, call, sent } = pending;
    this.shard.receive(call, reply);
    if (reply.applied) this.#settle(batches, reply, sent);
    else {
      this.#options.onLoss();
      this.#settleAlone(batches);
    }
    this.#sendCalls();
  }

  #fail(pending: Pending, error: unknown): void {
    if (!this.#pending.delete(pending)) return;
    const { batches } = pending;
    this.shard.lose(batches);
    if (batches.length > 0) this.#options.onFailure(this, error);
    this.#settleAlone(batches);
    this.#sendCalls();
  }

  /** One timer for all calls in flight, since one for each would cost as much as the call's own work. */
  readonly #giveUpLate = (): void => {
    const { timeoutMs } = this.#options;
    const now = this.#clock.monotonic();
    const late = [...this.#pending].filter(({ sent }) => now - sent >= timeoutMs);
    // After a busy turn, timers run before I/O that has arrived meanwhile: replies are read first.
    setImmediate(() => {
      for (const pending of late) this.#fail(pending, new Error(`There was no response within ${timeoutMs} ms.`));
      const [oldest] = this.#pending;
      const left = oldest && timeoutMs - (this.#clock.monotonic() - oldest.sent);
      this.#timeout = left === undefined ? undefined : setTimeout(this.#giveUpLate, Math.max(0, left));
    });
  };

  #settle(batches: readonly Batch[], { grants, bucketEnd, bucketMs }: Applied, sent: number): void {
    const now = this.#clock.monotonic();
    const redisTime = bucketEnd / 1000 - bucketMs;
    this.#redisAhead = redisTime - (sent + now) / 2;
    const day = dayOfBucket(bucketEnd);
    for (const [i, { subject, limit, quotas, waiting }] of batches.entries()) {
      const { admitted, remaining, resetMs, used } = grants[i] as Grant;
      const { log, usage } = subject;
      const passing = Math.min(admitted, waiting.length);
      const slots = admitted - passing;
      log.add(now, passing, limit, this.#windowMs);
      usage?.pass(day, passing);
      usage?.refuse(day, waiting.length - passing);
      if (usage?.hasRefusals) this.#hold(subject);
      // `used` lacks what this replica let pass by itself while the call was in flight.
      if (used && this.shard.isCounted(subject)) usage?.hear(day, used);
      if (slots > 0) this.#addSlots(subject, slots, bucketEnd, sent + bucketMs);
      const states = this.quotas(subject, redisTime);
      for (let j = 0; j < waiting.length; j++) {
        const allowed = j < passing;
        const left = allowed ? remaining + slots : 0;
        (waiting[j] as Settle)(withQuotas({ allowed, limit, remaining: left, resetMs }, states));
      }
      if (limit !== subject.limit || quotas !== subject.quotas) {
        this.shard.giveBack(subject);
        continue;
      }
      const left = quotas && used ? leftOf(quotas, used) : Number.POSITIVE_INFINITY;
      subject.remaining = Math.min(remaining, left);
      // Redis read its clock between `sent` and `now`: `refusedUntil` counts from `sent`, so that nothing is refused here
      // that Redis would admit, and `dueBy` from `now`, so that a caller who waits until then is admitted.
      subject.dueBy = now + resetMs;
      if (subject.remaining + slots > 0) this.#serveWaiting(subject, now);
      else if (left === 0) subject.refusedUntil = sent + bucketMs;
      else subject.refusedUntil = sent + (mayTakeAhead(limit) ? Math.min(resetMs, bucketMs) : resetMs);
    }
  }

  #settleAlone(batches: readonly Batch[]): void {
    for (const { subject, waiting } of batches) {
      for (const settle of waiting) settle(this.#options.decideAlone(subject));
    }
  }

  #addSlots(subject: LaneSubject, slots: number, end: number, until: number): void {
    this.shard.addSlots(subject, slots, end, until);
    this.#hold(subject);
  }

  #hold(subject: LaneSubject): void {
    this.#holders.add(subject);
    this.#timer ??= this.#startTimer();
  }

  /** Requests that came during a call may use the slots that it brought. */
  #serveWaiting(subject: LaneSubject, now: number): void {
    const { slots, slotsUntil } = subject;
    const { waiting } = subject;
    if (!waiting || now >= slotsUntil) return;
    for (const settle of waiting.splice(0, slots)) settle(this.#useSlot(subject, now));
    if (waiting.length === 0) subject.waiting = undefined;
  }

  #useSlot(subject: LaneSubject, now: number): Decision {
    const { limit, remaining, dueBy } = subject;
    subject.slots--;
    subject.used++;
    subject.log.add(now, 1, limit, this.#windowMs);
    subject.usage?.pass(dayOfBucket(subject.slotsEnd), 1);
    const decision = {
      allowed: true,
      limit,
      remaining: remaining + subject.slots,
      resetMs: Math.max(0, dueBy - now),
    };
    return withQuotas(decision, this.quotas(subject, this.redisTime(now)));
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(this.#giveBackUnused, this.#bucketMs).unref();
  }

  /**
   * Tells Redis of refusals, and gives back slots whose bucket is over, where the subject has stopped asking: its next
   * call would do that by the way.
   */
  readonly #giveBackUnused = (): void => {
    const now = this.#clock.monotonic();
    for (const subject of this.#holders) {
      const { sentAt, slotsUntil, usage } = subject;
      const isAsking = now < sentAt + IDLE_BUCKETS * this.#bucketMs;
      if (now < slotsUntil || (isAsking && !usage?.hasRefusals)) continue;
      this.#holders.delete(subject);
      this.shard.giveBack(subject);
      this.tell(subject);
    }
    this.#timer = this.#holders.size > 0 ? this.#startTimer() : undefined;
  };
}
