/** A replica's way to one shard in Redis: it gathers requests, asks for them together, and settles them. */
import type { Decision } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import { within } from '../within.js';
import {
  type Applied,
  BUCKETS,
  type Call,
  decide,
  EXACT_UP_TO,
  type Grant,
  type Reply,
  type Target,
} from './decide-script.js';
import { type Account, type Asking, Shard } from './shard.js';
import { SlidingLog } from './sliding-log.js';

export type Settle = (decision: Decision | Promise<never>) => void;

/** What this replica knows of a caller. */
export interface Subject {
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
  /** Redis would refuse until then at least, by the monotonic clock. */
  refusedUntil: number;
}

/** The requests of a subject that one call asks for, and how many more are expected. */
interface Batch extends Asking {
  readonly subject: Subject;
  readonly waiting: readonly Settle[];
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
  readonly decideAlone: (subject: Subject) => Decision | Promise<never>;
}

/** A bound of the time for which one call occupies Redis. */
const ASKED_AT_ONCE = 200;
/** While these are in flight, requests gather for the next call. */
const CALLS_IN_FLIGHT = 2;
/** A caller whose requests come within this part of a bucket of each other, on average, gets slots ahead. */
const OFTEN = 1 / 50;
/** At most this part of what is left is taken ahead: so much may be missing to other replicas for a bucket. */
const AHEAD_SHARE = 1 / 64;

export class Lane {
  readonly #options: LaneOptions;
  readonly #windowMs: number;
  readonly #bucketMs: number;
  readonly #clock: Clock;
  readonly #shard: Shard;
  /** Subjects with requests that wait, or with something to tell. */
  #queue: Subject[] = [];
  #isScheduled = false;
  /** Subjects that may have slots ahead, and the timer by which these are given back. */
  readonly #holders = new Set<Subject>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#windowMs = options.target.windowMs;
    this.#bucketMs = this.#windowMs / BUCKETS;
    this.#clock = options.clock;
    this.#shard = new Shard(this.#windowMs);
  }

  get key(): string {
    return this.#options.target.key;
  }

  get isBusy(): boolean {
    return this.#shard.inFlight > 0 || this.#queue.length > 0;
  }

  open(name: string): Subject {
    return {
      lane: this,
      account: this.#shard.open(name, new SlidingLog()),
      limit: 0,
      waiting: [],
      isQueued: false,
      sentAt: Number.NEGATIVE_INFINITY,
      used: 0,
      remaining: 0,
      dueBy: 0,
      refusedUntil: 0,
    };
  }

  /** What was said, and taken ahead, under the limit of before is void. */
  changeLimit(subject: Subject, limit: number): void {
    subject.limit = limit;
    subject.remaining = 0;
    subject.refusedUntil = 0;
    this.#giveBack(subject);
  }

  /** Decides at once by a slot that was taken ahead, or else with the next call. */
  take(subject: Subject, now: number): Decision | Promise<Decision> {
    if (subject.account.slots > 0) {
      if (now < subject.account.slotsUntil) return this.#useSlot(subject, now);
      this.#giveBack(subject);
    }
    return new Promise((settle) => {
      subject.waiting.push(settle as Settle);
      this.#enqueue(subject);
    });
  }

  /** A request was admitted without Redis. */
  doubt({ account }: Subject): void {
    this.#shard.doubt(account);
  }

  /** Redis may have lost what it had counted. */
  doubtAll(): void {
    this.#shard.doubtAll();
  }

  /** Tells what Redis does not know, also if nobody asks now. */
  tell(subject: Subject): void {
    if (subject.waiting.length > 0 || this.#shard.hasNews(subject.account)) this.#enqueue(subject);
  }

  giveBackAll(): void {
    clearTimeout(this.#timer);
    for (const subject of this.#holders) {
      this.#giveBack(subject);
      this.tell(subject);
    }
  }

  #enqueue(subject: Subject): void {
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
    while (this.#queue.length > 0 && this.#shard.isReady && this.#shard.inFlight < CALLS_IN_FLIGHT) {
      const batches = this.#queue.splice(0, ASKED_AT_ONCE).map(this.#takeWaiting).filter(this.#isNeeded);
      if (this.#options.isAway()) this.#settleAlone(batches);
      else if (batches.length > 0) void this.#call(batches);
    }
  }

  readonly #takeWaiting = (subject: Subject): Batch => {
    const { account, limit, waiting } = subject;
    const now = this.#clock.monotonic();
    const used = subject.used + waiting.length;
    // Under an exact limit there is no bucket until whose end a slot could be used.
    const mayTakeAhead = waiting.length > 0 && limit > EXACT_UP_TO;
    const meanGapMs = (now - subject.sentAt) / used;
    const isOften = mayTakeAhead && meanGapMs < this.#bucketMs * OFTEN;
    const ahead = isOften ? Math.min(2 * used, Math.floor(subject.remaining * AHEAD_SHARE)) : 0;
    subject.waiting = [];
    subject.isQueued = false;
    subject.sentAt = now;
    subject.used = waiting.length;
    return { subject, account, limit, asked: waiting.length + ahead, waiting };
  };

  /** What waited may have got slots meanwhile. */
  readonly #isNeeded = ({ account, waiting }: Batch): boolean => waiting.length > 0 || this.#shard.hasNews(account);

  async #call(batches: readonly Batch[]): Promise<void> {
    const sent = this.#clock.monotonic();
    const call = this.#shard.next(batches, sent);
    const reply = await this.#ask(call);
    if (reply instanceof Error) {
      this.#shard.lose(batches);
      this.#options.onFailure(this, reply);
      this.#settleAlone(batches);
    } else {
      this.#shard.receive(call, reply);
      if (reply.applied) this.#settle(batches, reply, sent);
      else this.#askAgain(batches);
    }
    this.#sendCalls();
  }

  #ask(call: Call): Promise<Reply | Error> {
    const { target, timeoutMs } = this.#options;
    return within(decide(target, call), timeoutMs).catch((error: unknown) => error as Error);
  }

  /** Redis has lost what it had counted, and has to be told before it is asked. */
  #askAgain(batches: readonly Batch[]): void {
    for (const { subject, waiting } of batches) subject.waiting.unshift(...waiting);
    this.#options.onLoss();
  }

  #settle(batches: readonly Batch[], { grants, bucketEnd, bucketMs }: Applied, sent: number): void {
    const now = this.#clock.monotonic();
    for (const [i, { subject, limit, waiting }] of batches.entries()) {
      const { admitted, remaining, resetMs } = grants[i] as Grant;
      const passing = Math.min(admitted, waiting.length);
      const slots = admitted - passing;
      subject.account.log.add(now, passing, limit, this.#windowMs);
      for (let j = 0; j < waiting.length; j++) {
        const allowed = j < passing;
        (waiting[j] as Settle)({ allowed, limit, remaining: allowed ? remaining + slots : 0, resetMs });
      }
      if (slots > 0) this.#addSlots(subject, slots, bucketEnd, sent + bucketMs);
      if (limit !== subject.limit) {
        this.#giveBack(subject);
        continue;
      }
      subject.remaining = remaining;
      // When Redis read its clock is only known to lie within the call: refusals are counted from before it, so that
      // none is refused here that Redis would admit, and the time to wait from after it, so that who waits is admitted.
      // Slots that other replicas have ahead may come back when their bucket is over.
      subject.dueBy = now + resetMs;
      if (remaining + slots > 0) this.#serveWaiting(subject, now);
      else subject.refusedUntil = sent + (limit > EXACT_UP_TO ? Math.min(resetMs, bucketMs) : resetMs);
    }
  }

  #settleAlone(batches: readonly Batch[]): void {
    for (const { subject, waiting } of batches) {
      for (const settle of waiting) settle(this.#options.decideAlone(subject));
    }
  }

  #addSlots(subject: Subject, slots: number, end: number, until: number): void {
    this.#shard.addSlots(subject.account, slots, end, until);
    this.#holders.add(subject);
    this.#timer ??= setTimeout(this.#giveBackUnused, this.#bucketMs).unref();
  }

  /** Requests that came during a call may use the slots that it brought. */
  #serveWaiting(subject: Subject, now: number): void {
    const { slots, slotsUntil } = subject.account;
    if (now >= slotsUntil) return;
    for (const settle of subject.waiting.splice(0, slots)) settle(this.#useSlot(subject, now));
  }

  #useSlot(subject: Subject, now: number): Decision {
    const { account, limit, remaining, dueBy } = subject;
    account.slots--;
    account.log.add(now, 1, limit, this.#windowMs);
    subject.used++;
    return { allowed: true, limit, remaining: remaining + account.slots, resetMs: Math.max(0, dueBy - now) };
  }

  #giveBack({ account }: Subject): void {
    this.#shard.giveBack(account);
  }

  /** Of callers that do not ask any more. */
  readonly #giveBackUnused = (): void => {
    const now = this.#clock.monotonic();
    for (const subject of this.#holders) {
      if (now < subject.account.slotsUntil) continue;
      this.#holders.delete(subject);
      this.#giveBack(subject);
      this.tell(subject);
    }
    this.#timer = this.#holders.size > 0 ? setTimeout(this.#giveBackUnused, this.#bucketMs).unref() : undefined;
  };
}
