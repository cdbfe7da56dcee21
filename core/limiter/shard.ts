/** One replica's side of the protocol with a shard of windows in Redis. No input, output or clock. */
import type { Quotas } from '../contracts/limiter.js';
import { type Ask, BUCKETS, type Call, type Reply, type Told, type Unused } from './decide-script.js';
import type { SlidingLog } from './in-memory.js';
import type { OwnUsage } from './own-usage.js';

/** Enough to spread the windows over the nodes of a cluster, few enough for many requests in each call. */
const CLUSTER_SHARDS = 32;

/** The keys of all shards. A call has one key, so a single server has one shard. Tags like these spread evenly. */
export const shardKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_SHARDS : 1 }, (_, i) => `${prefix}limits:{shard-${i}}`);

/** The index of a subject's shard, the same on every replica (FNV-1a). */
export const shardOf = (subject: string, shards: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < subject.length; i++) hash = Math.imul(hash ^ subject.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % shards;
};

const UNCOUNTED = -1;
/** One array for all callers, most of whom have no slots ahead. */
const NO_UNUSED: readonly Unused[] = [];

/** What a replica knows of one caller's window. */
export class Subject {
  /** Where the caller's usage is counted. It stays known for longer than the subject. */
  usage: OwnUsage | undefined = undefined;
  /** Slots that Redis has counted ahead, in the bucket with this end; they have to be used by `slotsUntil`. */
  slots = 0;
  slotsEnd = 0;
  slotsUntil = 0;
  /** Slots to be given back. */
  unused = NO_UNUSED;

  /**
   * @param log this replica's own admissions
   * @param epoch of the shard, in which Redis counted all of the log; `UNCOUNTED` if it may not have
   */
  constructor(
    readonly name: string,
    readonly log: SlidingLog,
    public epoch: number,
  ) {}
}

/** What one call asks for a caller. */
export interface Asking {
  readonly subject: Subject;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  readonly asked: number;
}

const NO_QUOTAS: Quotas = { perDay: null, perMonth: null };

/**
 * Redis counts what it grants, so it knows all that a replica admits, except after a lost reply, a time alone, or when
 * Redis itself has lost data. In each of these cases the replica's next call for a caller tells all that it admitted
 * within the window, which replaces what Redis had counted for it. Telling twice changes nothing, so nobody has to find
 * out what became of a lost call. Numbers of calls ensure that none is applied late, and show whether Redis lost any.
 */
export class Shard {
  /** The number of the last call that was sent. */
  #sent = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** When the last call was sent that asked or told something. */
  #askedAt = Number.NEGATIVE_INFINITY;
  /** The number of the last call that Redis is known to have applied. */
  #applied = 0;
  #inFlight = 0;
  /** Whether something has to be told: not before the calls in flight have ended, or it would lack what they admit. */
  #hasToTell = false;
  /** Raised when Redis has lost something: then all windows have to be told again. */
  #epoch = 0;

  /** @param countedMs for how long what Redis has counted is of use */
  constructor(
    readonly windowMs: number,
    readonly countedMs = windowMs + windowMs / BUCKETS,
  ) {}

  /** Of what is new: there is nothing that Redis has not counted. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Counts a caller's usage from now on: what was counted before the subject was new, and may not be told yet. */
  attach(subject: Subject, usage: OwnUsage): void {
    subject.usage = usage;
    if (!this.isCounted(usage)) this.doubt(subject);
  }

  isCounted({ epoch }: Pick<Subject, 'epoch'>): boolean {
    return epoch === this.#epoch;
  }

  /** Whether Redis counts something else for this caller than what is in the log and the slots. */
  hasNews(subject: Subject): boolean {
    return subject.unused.length > 0 || !this.isCounted(subject) || subject.usage?.hasRefusals === true;
  }

  /** The next call returns the slots that are left. */
  giveBack(subject: Subject): void {
    if (subject.slots > 0) subject.unused = [...subject.unused, { end: subject.slotsEnd, count: subject.slots }];
    subject.slots = 0;
  }

  /** Redis may have counted something else than what is in the log. */
  doubt(subject: Subject): void {
    subject.epoch = UNCOUNTED;
    if (subject.usage) subject.usage.epoch = UNCOUNTED;
    subject.slots = 0;
    this.#hasToTell = true;
  }

  /** Redis may have lost what it had counted. */
  doubtAll(): void {
    this.#epoch++;
    this.#hasToTell = true;
  }

  /** Whether no call was made for `idleMs`, and Redis counts requests of this replica that it may have lost since. */
  mayLose(now: number, idleMs: number): boolean {
    return now - this.#sentAt >= idleMs && now - this.#askedAt < this.countedMs;
  }

  /** Whether a call can be made now. */
  get isReady(): boolean {
    return this.#inFlight === 0 || !this.#hasToTell;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  next(asking: readonly Asking[], now: number): Call {
    // Slots of its last call were used up to a bucket later. When these too are of no use any more, nothing can be lost,
    // and Redis may have dropped its record of the call.
    const isIdle = now - this.#sentAt >= this.countedMs;
    const previous = isIdle ? 0 : this.#hasToTell ? this.#applied : this.#sent;
    this.#hasToTell = false;
    this.#inFlight++;
    this.#sent++;
    this.#sentAt = now;
    if (asking.length > 0) this.#askedAt = now;
    const asks = asking.map(({ subject, limit, quotas = NO_QUOTAS, asked }): Ask => {
      const isCounted = this.isCounted(subject);
      const usage = subject.usage?.tell(quotas, !isCounted);
      const unused = isCounted && subject.unused.length > 0 ? subject.unused : undefined;
      const told = isCounted ? undefined : this.#tellAnew(subject, now);
      subject.unused = NO_UNUSED;
      // All properties, also those that are undefined: V8 is slow with objects of many shapes.
      return { subject: subject.name, limit, asked, told, unused, usage };
    });
    return { number: this.#sent, previous, asks };
  }

  /** All that was admitted within the window, in place of what Redis has counted. */
  #tellAnew(subject: Subject, now: number): Told[] {
    subject.epoch = this.#epoch;
    if (subject.usage) subject.usage.epoch = this.#epoch;
    subject.slots = 0;
    return subject.log.tell(now, this.windowMs);
  }

  /** A call that was not applied has to be made again. */
  receive({ number }: Call, reply: Reply): void {
    this.#inFlight--;
    if (reply.applied) {
      this.#applied = Math.max(this.#applied, number);
    } else {
      this.#applied = reply.last;
      this.doubtAll();
    }
  }

  /** No reply came in time. */
  lose(asking: readonly Asking[]): void {
    this.#inFlight--;
    this.#hasToTell = true;
    for (const { subject } of asking) this.doubt(subject);
  }

  /** Slots that a call has brought beyond what it was asked for: in the bucket with this end, which comes at `until`. */
  addSlots(subject: Subject, slots: number, end: number, until: number): void {
    if (subject.slotsEnd !== end) this.giveBack(subject);
    subject.slotsUntil = subject.slots > 0 ? Math.min(subject.slotsUntil, until) : until;
    subject.slotsEnd = end;
    subject.slots += slots;
  }
}
