/** One replica's side of the protocol with a partition: numbers of calls, and what has to be resynced. No I/O, no clock. */
import type { Quotas } from '../contracts/limiter.js';
import { NOTHING_RETURNED, type SyncedCaller } from './callers.js';
import { type Ask, BUCKETS, type Call, type Reply } from './script.js';
import type { Admitted } from './window.js';

/** What one call asks for a caller. */
export interface Demand {
  readonly caller: SyncedCaller;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  readonly permits: number;
}

const NO_QUOTAS: Quotas = { perDay: null, perMonth: null };
/** The epoch of a caller that needs a resync. */
const UNSYNCED = -1;

/**
 * Redis counts what it grants, so it knows everything that a replica admits, except after a lost reply, local
 * decisions, or data loss in Redis. Then the replica's next call for the caller is a resync: all that it admitted
 * within the window, which replaces what Redis had counted for it. A resync can be repeated, so it does not matter what
 * happened to a lost call. The numbers of calls show whether a call arrives late, and whether Redis lost data.
 */
export class PartitionSync {
  /** Number of the last call that was sent. */
  #sent = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** When the last call with callers was sent. */
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Number of the last call that Redis is known to have applied. */
  #applied = 0;
  #inFlight = 0;
  #needsResync = false;
  /** Increases when Redis lost data. Callers of an earlier epoch need a resync. */
  #epoch = 0;

  /** @param countedMs how long Redis needs what it has counted */
  constructor(
    readonly windowMs: number,
    readonly countedMs = windowMs + windowMs / BUCKETS,
  ) {}

  /** For a new caller: it needs no resync. */
  get epoch(): number {
    return this.#epoch;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** False while a resync has to wait for the calls in flight, whose permits it would not contain. */
  get canSend(): boolean {
    return this.#inFlight === 0 || !this.#needsResync;
  }

  isSynced(caller: SyncedCaller): boolean {
    return caller.epoch === this.#epoch;
  }

  /** Whether Redis has to learn something about this caller. */
  needsCall(caller: SyncedCaller): boolean {
    return caller.returned.length > 0 || !this.isSynced(caller) || caller.usage?.hasRejections === true;
  }

  /** Redis may have another count for this caller than this replica. */
  requireResync(caller: SyncedCaller): void {
    caller.epoch = UNSYNCED;
    caller.prefetched = undefined;
    this.#needsResync = true;
  }

  /** Redis may have lost data of any caller. */
  requireResyncOfAll(): void {
    this.#epoch++;
    this.#needsResync = true;
  }

  /** Whether no call was sent for `idleMs`, so that Redis may have lost data that it still needs. */
  mayHaveLostData(now: number, idleMs: number): boolean {
    return now - this.#sentAt >= idleMs && now - this.#askedAt < this.countedMs;
  }

  nextCall(demands: readonly Demand[], now: number): Call {
    // Prefetched permits of the last call were used up to a bucket later. After that nothing can be lost, and Redis may
    // have deleted its record of the call. Without a record, Redis may have applied a late call: resyncs undo it.
    const isIdle = now - this.#sentAt >= this.countedMs;
    if (isIdle && this.#sent > 0) this.#epoch++;
    const previous = isIdle ? 0 : this.#needsResync ? this.#applied : this.#sent;
    this.#needsResync = false;
    this.#inFlight++;
    this.#sent++;
    this.#sentAt = now;
    if (demands.length > 0) this.#askedAt = now;
    return { number: this.#sent, previous, asks: demands.map((demand) => this.#ask(demand, now)) };
  }

  #ask({ caller, limit, quotas = NO_QUOTAS, permits }: Demand, now: number): Ask {
    const isResync = !this.isSynced(caller);
    const { returned, usage } = caller;
    // Every property, also if undefined: V8 is slow with objects of many shapes.
    const ask = {
      caller: caller.name,
      limit,
      permits,
      resync: isResync ? this.#startResync(caller, now) : undefined,
      returned: isResync || returned.length === 0 ? undefined : returned,
      usage: usage && { counterId: usage.id, quotas, days: usage.report(isResync) },
    };
    caller.returned = NOTHING_RETURNED;
    return ask;
  }

  #startResync(caller: SyncedCaller, now: number): Admitted[] {
    caller.epoch = this.#epoch;
    caller.prefetched = undefined;
    return caller.window.entries(now, this.windowMs);
  }

  receive({ number }: Call, reply: Reply): void {
    this.#inFlight--;
    if (reply.applied) {
      this.#applied = Math.max(this.#applied, number);
    } else {
      this.#applied = reply.last;
      this.requireResyncOfAll();
    }
  }

  /** The call failed or timed out. */
  lose(demands: readonly Demand[]): void {
    this.#inFlight--;
    this.#needsResync = true;
    for (const { caller } of demands) this.requireResync(caller);
  }
}
