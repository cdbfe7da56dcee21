/** What one replica has admitted of one subject within the window, and which of it Redis has counted. */
import type { Report } from './window-script.js';

interface Entry {
  /** The call that counts it; `PENDING` until there is one. */
  call: number;
  at: number;
  count: number;
}

const PENDING = Number.POSITIVE_INFINITY;

/**
 * Every call to Redis has a number, and Redis keeps the last one that it applied. So an entry has been counted
 * exactly when Redis stands at its call or a later one, and that answers the two questions which an outage leaves:
 * was the call counted whose reply got lost, and has Redis lost what it had counted.
 *
 * Entries of one sixtieth of the window are kept as one, dated by the latest of them, which is the careful side.
 */
export class Ledger {
  #entries: Entry[] = [];
  #counted = 0;

  constructor(
    readonly windowMs: number,
    readonly grainMs: number,
  ) {}

  /** Admissions that the given call has counted, or may have. */
  add(call: number, at: number, count: number): void {
    if (count === 0) return;
    this.#expire(at);
    const last = this.#entries.at(-1);
    const together = last && (last.call === call || (last.call <= this.#counted && call <= this.#counted));
    if (together && Math.floor(last.at / this.grainMs) === Math.floor(at / this.grainMs)) {
      last.call = call;
      last.at = at;
      last.count += count;
    } else {
      this.#entries.push({ call, at, count });
    }
  }

  /** Admissions that no call has been made for yet. */
  addPending(at: number, count: number): void {
    this.add(PENDING, at, count);
  }

  /** Redis has applied this call. */
  settle(call: number): void {
    this.#counted = call;
  }

  /** The call that Redis must have reached, or have lost something. */
  expected(now: number): number {
    this.#expire(now);
    return this.#entries.findLast(({ call }) => call <= this.#counted)?.call ?? 0;
  }

  /** Whether there is anything to compare with Redis. */
  isEmpty(now: number): boolean {
    this.#expire(now);
    return this.#entries.length === 0;
  }

  /** What a call has to bring along if Redis stands at `last`; what is pending becomes this call's. */
  report(call: number, now: number, last = this.#counted): Report[] {
    this.#expire(now);
    const missing = this.#entries.some((entry) => entry.call > last);
    if (!missing) return [];
    for (const entry of this.#entries) if (entry.call === PENDING) entry.call = call;
    // Of the call at which Redis stands, how much was counted is in doubt only while no reply has said so.
    return this.#entries
      .filter((entry) => entry.call > last || (entry.call === last && last > this.#counted))
      .map((entry) => ({ call: entry.call, ageMs: now - entry.at, count: entry.count }));
  }

  #expire(now: number): void {
    let gone = 0;
    while (gone < this.#entries.length && now - (this.#entries[gone] as Entry).at >= this.windowMs) gone++;
    if (gone > 0) this.#entries.splice(0, gone);
  }
}
