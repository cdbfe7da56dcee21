/** The times at which one subject passed within the last window: a sliding window in a ring of numbers. */
import type { Decision } from '../contracts/limiter.js';
import { BUCKETS, type Told } from './decide-script.js';

const FIRST_CAPACITY = 4;
/** Limits above this are counted by whole milliseconds, which bounds the ring by the window's length. */
const WHOLE_MS_ABOVE = 1000;

/**
 * Takes 12 bytes for each time at which something passed, rounded up to a power of two: 12 KB at a limit of 600 used
 * up one by one. Above a limit of 1,000, admissions are dated by the end of their millisecond, so a slot comes back
 * up to one late, never early, and no limit takes more than 786 KB. Times are in milliseconds and never fall.
 */
export class SlidingLog {
  #times = new Float64Array(FIRST_CAPACITY);
  #counts = new Uint32Array(FIRST_CAPACITY);
  /** Where the oldest entry stands. */
  #first = 0;
  #size = 0;
  #total = 0;

  /**
   * Counts one request if fewer than `limit` were counted in the window that ends now.
   * @param mayPass false: a quota is used up
   */
  take(now: number, limit: number, windowMs: number, mayPass = true): Decision {
    this.#expire(now, windowMs);
    const allowed = mayPass && this.#total < limit;
    if (allowed) this.#push(now, 1, limit);
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - this.#total),
      resetMs: this.#size === 0 ? 0 : this.#slotAt(limit) + windowMs - now,
    };
  }

  /** Counts requests that were admitted elsewhere. */
  add(now: number, count: number, limit: number, windowMs: number): void {
    this.#expire(now, windowMs);
    if (count > 0) this.#push(now, count, limit);
  }

  /** What is in the window, oldest first: of each bucket of Redis as one, dated by its latest. */
  tell(now: number, windowMs: number): Told[] {
    this.#expire(now, windowMs);
    const told: Told[] = [];
    let bucket = Number.NaN;
    for (let i = 0; i < this.#size; i++) {
      const time = this.#times[this.#index(i)] as number;
      const itsBucket = Math.floor((time * BUCKETS) / windowMs);
      const count = this.#counts[this.#index(i)] as number;
      const before = itsBucket === bucket ? (told.pop()?.count ?? 0) : 0;
      told.push({ ageMs: now - time, count: before + count });
      bucket = itsBucket;
    }
    return told;
  }

  /** Of entry `i`, counted from the oldest. */
  #index(i: number): number {
    return (this.#first + i) & (this.#times.length - 1);
  }

  /** The time whose leaving makes room: the oldest, or a later one under a limit that was lowered. */
  #slotAt(limit: number): number {
    let i = 0;
    for (let excess = this.#total - limit; i < this.#size - 1; i++) {
      excess -= this.#counts[this.#index(i)] as number;
      if (excess < 0) break;
    }
    return this.#times[this.#index(i)] as number;
  }

  #expire(now: number, windowMs: number): void {
    // The same sum as in resetMs above, so that rounding cannot make the two disagree.
    while (this.#size > 0 && (this.#times[this.#first] as number) + windowMs <= now) {
      this.#total -= this.#counts[this.#first] as number;
      this.#first = this.#index(1);
      this.#size -= 1;
    }
  }

  #push(now: number, count: number, limit: number): void {
    this.#total += count;
    const last = this.#index(this.#size - 1);
    const time = limit > WHOLE_MS_ABOVE ? Math.ceil(now) : now;
    // Not before the last, which a higher limit may have dated later.
    if (this.#size > 0 && (this.#times[last] as number) >= time) {
      this.#counts[last] = (this.#counts[last] as number) + count;
      return;
    }
    if (this.#size === this.#times.length) this.#grow();
    const next = this.#index(this.#size);
    this.#times[next] = time;
    this.#counts[next] = count;
    this.#size += 1;
  }

  #grow(): void {
    this.#times = unrolled(this.#times, new Float64Array(this.#size * 2), this.#first);
    this.#counts = unrolled(this.#counts, new Uint32Array(this.#size * 2), this.#first);
    this.#first = 0;
  }
}

/** A full ring from its first entry on, in a larger array. */
const unrolled = <Numbers extends Float64Array | Uint32Array>(
  ring: Numbers,
  larger: Numbers,
  first: number,
): Numbers => {
  larger.set(ring.subarray(first));
  larger.set(ring.subarray(0, first), ring.length - first);
  return larger;
};
