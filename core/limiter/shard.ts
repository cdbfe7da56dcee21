/** One replica's side of the protocol with a shard of windows in Redis. No input, output or clock. */
import { BUCKETS, type Call, type Reply, type Unused } from './decide-script.js';
import type { SlidingLog } from './sliding-log.js';

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

/** What a replica knows of one caller's window. */
export interface Account {
  readonly name: string;
  /** This replica's own admissions. */
  readonly log: SlidingLog;
  /** The epoch of the shard in which Redis counted all of the log; `UNCOUNTED` if it may not have. */
  epoch: number;
  /** Slots that Redis has counted ahead, in the bucket with this end; they have to be used by `slotsUntil`. */
  slots: number;
  slotsEnd: number;
  slotsUntil: number;
  /** Slots to be given back. */
  unused: Unused[];
}

const UNCOUNTED = -1;

/** What one call asks for a caller. */
export interface Asking {
  readonly account: Account;
  readonly limit: number;
  readonly asked: number;
}

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
  /** The number of the last call that Redis is known to have applied. */
  #applied = 0;
  #inFlight = 0;
  /** Whether something has to be told: not before the calls in flight have ended, or it would lack what they admit. */
  #hasToTell = false;
  /** Raised when Redis has lost something: then all windows have to be told again. */
  #epoch = 0;

  constructor(readonly windowMs: number) {}

  open(name: string, log: SlidingLog): Account {
    return { name, log, epoch: this.#epoch, slots: 0, slotsEnd: 0, slotsUntil: 0, unused: [] };
  }

  isCounted({ epoch }: Account): boolean {
    return epoch === this.#epoch;
  }

  /** Whether Redis counts something else for this caller than what is in the log and the slots. */
  hasNews(account: Account): boolean {
    return account.unused.length > 0 || !this.isCounted(account);
  }

  /** The next call returns the slots that are left. */
  giveBack(account: Account): void {
    if (account.slots > 0) account.unused.push({ end: account.slotsEnd, count: account.slots });
    account.slots = 0;
  }

  /** Redis may have counted something else than what is in the log. */
  doubt(account: Account): void {
    account.epoch = UNCOUNTED;
    account.slots = 0;
    this.#hasToTell = true;
  }

  /** Redis may have lost what it had counted. */
  doubtAll(): void {
    this.#epoch++;
    this.#hasToTell = true;
  }

  /** Whether a call can be made now. */
  get isReady(): boolean {
    return this.#inFlight === 0 || !this.#hasToTell;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  next(asking: readonly Asking[], now: number): Call {
    // Slots of its last call were used up to a bucket later. When these too have left the window, nothing can be lost
    // any more, and Redis may have dropped its record of the call.
    const isIdle = now - this.#sentAt >= this.windowMs + this.windowMs / BUCKETS;
    const previous = isIdle ? 0 : this.#hasToTell ? this.#applied : this.#sent;
    this.#hasToTell = false;
    this.#inFlight++;
    this.#sent++;
    this.#sentAt = now;
    const asks = asking.map(({ account, limit, asked }) => {
      const { name, unused } = account;
      if (this.isCounted(account) && unused.length === 0) return { subject: name, limit, asked };
      account.unused = [];
      if (this.isCounted(account)) return { subject: name, limit, asked, unused };
      account.epoch = this.#epoch;
      account.slots = 0;
      return { subject: name, limit, asked, told: account.log.tell(now, this.windowMs) };
    });
    return { number: this.#sent, previous, asks };
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
    for (const { account } of asking) this.doubt(account);
  }

  /** Slots that a call has brought beyond what it was asked for: in the bucket with this end, which comes at `until`. */
  addSlots(account: Account, slots: number, end: number, until: number): void {
    if (account.slotsEnd !== end) this.giveBack(account);
    account.slotsUntil = account.slots > 0 ? Math.min(account.slotsUntil, until) : until;
    account.slotsEnd = end;
    account.slots += slots;
  }
}
