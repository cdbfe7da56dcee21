/** The times at which one subject passed within the last window: an exact sliding window in one ring of numbers. */
import type { Decision } from '../contracts/limiter.js';

const FIRST_CAPACITY = 4;

/** Takes 8 bytes for each admission in the window, rounded up to a power of two. Times are in milliseconds and never fall. */
export class SlidingLog {
  #times = new Float64Array(FIRST_CAPACITY);
  /** Where the oldest time stands. */
  #first = 0;
  #size = 0;

  /** Counts one request if fewer than `limit` were counted in the window that ends now. */
  take(now: number, limit: number, windowMs: number): Decision {
    this.#expire(now, windowMs);
    const allowed = this.#size < limit;
    if (allowed) this.#push(now);
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - this.#size),
      resetMs: this.#size === 0 ? 0 : this.#slotAt(limit) + windowMs - now,
    };
  }

  /** Counts requests that were admitted elsewhere. */
  add(now: number, count: number, windowMs: number): void {
    this.#expire(now, windowMs);
    for (let i = 0; i < count; i++) this.#push(now);
  }

  /** The time whose leaving makes room: the oldest, or a later one under a limit that was lowered. */
  #slotAt(limit: number): number {
    const index = Math.min(this.#size - 1, Math.max(0, this.#size - limit));
    return this.#times[(this.#first + index) & (this.#times.length - 1)] as number;
  }

  #expire(now: number, windowMs: number): void {
    // The same sum as in resetMs above, so that rounding cannot make the two disagree.
    while (this.#size > 0 && (this.#times[this.#first] as number) + windowMs <= now) {
      this.#first = (this.#first + 1) & (this.#times.length - 1);
      this.#size -= 1;
    }
  }

  #push(time: number): void {
    if (this.#size === this.#times.length) this.#grow();
    this.#times[(this.#first + this.#size) & (this.#times.length - 1)] = time;
    this.#size += 1;
  }

  #grow(): void {
    const old = this.#times;
    this.#times = new Float64Array(old.length * 2);
    this.#times.set(old.subarray(this.#first));
    this.#times.set(old.subarray(0, this.#first), old.length - this.#first);
    this.#first = 0;
  }
}
