import type { Quotas } from '../contracts/limiter.js';
import { type CallerState, type Entry, NOTHING_RETURNED } from './caller.js';
import type { Ask, Call, Reply } from './calls.js';
import type { Admitted } from './window.js';

const NO_QUOTAS: Quotas = { perDay: null, perMonth: null };
const UNSYNCED = -1;

/**
 * Decides when a caller needs a resync. Redis counts the permits that it grants, so its counts are normally complete.
 * They can be wrong after a lost reply, after local decisions, or after Redis has lost data. In these cases, the
 * caller's next call is a resync: it reports all requests that the replica has admitted within the window. Redis
 * replaces its count for that replica. A resync can safely be repeated. Calls are numbered, so that Redis can reject
 * late calls and detect that it has lost data.
 */
export class PartitionSync {
  #sent = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** When the last call that requested permits was sent, in monotonic milliseconds. */
  #askedAt = Number.NEGATIVE_INFINITY;
  /** The number of the last call that Redis is known to have applied. */
  #applied = 0;
  #inFlight = 0;
  #needsResync = false;
  /** Increases each time Redis might have lost data. Callers from an earlier epoch need a resync. */
  #epoch = 0;

  /** @param countedMs how long a request counts against a limit or quota, in milliseconds */
  constructor(readonly countedMs: number) {}

  /** New callers start in this epoch and need no resync. */
  get epoch(): number {
    return this.#epoch;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** A resync must wait for the calls in flight, because it would not include the permits in their replies. */
  get canSend(): boolean {
    return this.#inFlight === 0 || !this.#needsResync;
  }

  isSynced(caller: CallerState): boolean {
    return caller.epoch === this.#epoch;
  }

  needsCall(caller: CallerState): boolean {
    return caller.returned.length > 0 || !this.isSynced(caller) || caller.usage?.hasRejections === true;
  }

  requireResync(caller: CallerState): void {
    caller.epoch = UNSYNCED;
    caller.prefetched = undefined;
    this.#needsResync = true;
  }

  requireResyncOfAll(): void {
    this.#epoch++;
    this.#needsResync = true;
  }

  /**
   * True if Redis might have lost counts that are still needed. A call within the last `idleMs` would have detected the
   * loss.
   */
  mayHaveLostData(now: number, idleMs: number): boolean {
    return now - this.#sentAt >= idleMs && now - this.#askedAt < this.countedMs;
  }

  nextCall(batch: readonly Entry[], now: number): Call {
    // After an idle period, Redis might have deleted the number of the last call. It would then accept a call that
    // arrives late. A new epoch makes all callers resync, which corrects the counts.
    const isIdle = now - this.#sentAt >= this.countedMs;
    if (isIdle && this.#sent > 0) this.#epoch++;
    const previous = isIdle ? 0 : this.#needsResync ? this.#applied : this.#sent;
    this.#needsResync = false;
    this.#inFlight++;
    this.#sent++;
    this.#sentAt = now;
    if (batch.length > 0) this.#askedAt = now;
    return { number: this.#sent, previous, asks: batch.map((entry) => this.#ask(entry, now)) };
  }

  #ask({ caller, limit, quotas = NO_QUOTAS, permits }: Entry, now: number): Ask {
    const isResync = !this.isSynced(caller);
    const { returned, usage } = caller;
    // All properties are present, even if undefined, because V8 is slow with objects of many different shapes.
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

  #startResync(caller: CallerState, now: number): Admitted[] {
    caller.epoch = this.#epoch;
    caller.prefetched = undefined;
    return caller.window.entries(now);
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

  lose(batch: readonly Entry[]): void {
    this.#inFlight--;
    this.#needsResync = true;
    for (const { caller } of batch) this.requireResync(caller);
  }
}
