/** A sliding window in memory. It records how many of a caller's requests were admitted, and when. */
import type { Decision } from '../contracts/limiter.js';

/** Requests that were admitted together. */
export interface Admitted {
  readonly ageMs: number;
  readonly count: number;
}

/** With a higher limit, requests admitted in the same millisecond share an entry. This bounds a window's memory. */
const EXACT_UP_TO = 1000;
const FIRST_CAPACITY = 4;
const EMPTY: number[] = [];

/**
 * A ring buffer of entries, each of which has a time and a count. Requests within one span share an entry, which has
 * the time of the last request. So a request never leaves the window early, and no more than one span late.
 *
 * An entry takes 16 bytes. A window takes 1 KB with spans of one second, and 16 KB for 600 requests with separate
 * entries. All times are in milliseconds of a monotonic clock.
 */
export class SlidingWindow {
  /** Alternating times and counts. The length is a power of two. */
  #ring = EMPTY;
  /** The indices of the oldest and the newest entry. */
  #first = 0;
  #last = 0;
  /** The number of entries. */
  #size = 0;
  #total = 0;
  readonly #spanMs: number;

  /** @param spanMs with 0, each request has its own entry, provided that the limit is no higher than 1,000 */
  constructor(spanMs = 0) {
    this.#spanMs = spanMs;
  }

  /**
   * Decides one request based on the window that ends now, and counts the request if it is allowed.
   * @param hasQuota if false, the request is rejected even if the window has room
   */
  take(now: number, limit: number, windowMs: number, hasQuota = true): Decision {
    this.#expire(now, windowMs);
    const allowed = hasQuota && this.#total < limit;
    if (allowed) this.#push(now, 1, limit);
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - this.#total),
      resetMs: this.#size === 0 ? 0 : this.#timeOf(this.#blocking(limit)) + windowMs - now,
    };
  }

  /** Counts requests that Redis has admitted. */
  add(now: number, count: number, limit: number, windowMs: number): void {
    this.#expire(now, windowMs);
    if (count > 0) this.#push(now, count, limit);
  }

  /** Returns the entries in the window, oldest first. */
  entries(now: number, windowMs: number): Admitted[] {
    this.#expire(now, windowMs);
    return Array.from({ length: this.#size }, (_, i) => ({ ageMs: now - this.#timeOf(i), count: this.#countOf(i) }));
  }

  /** Returns the number of requests admitted in the span that contains `time`. */
  countAt(time: number): number {
    const span = Math.floor(time / this.#spanMs);
    for (let i = this.#size - 1; i >= 0; i--) {
      const other = Math.floor(this.#timeOf(i) / this.#spanMs);
      if (other <= span) return other === span ? this.#countOf(i) : 0;
    }
    return 0;
  }

  /** Returns the position of entry `i` in the ring. Entry 0 is the oldest. */
  #index(i: number): number {
    return (this.#first + 2 * i) & (this.#ring.length - 1);
  }

  #timeOf(i: number): number {
    return this.#ring[this.#index(i)] as number;
  }

  #countOf(i: number): number {
    return this.#ring[this.#index(i) + 1] as number;
  }

  /** The entry that must leave before a request is allowed. If the limit was lowered, it is not the oldest. */
  #blocking(limit: number): number {
    let i = 0;
    for (let excess = this.#total - limit; i < this.#size - 1; i++) {
      excess -= this.#countOf(i);
      if (excess < 0) break;
    }
    return i;
  }

  #expire(now: number, windowMs: number): void {
    // This is the same sum as in `resetMs` above, so that rounding cannot make the two results differ.
    while (this.#size > 0 && (this.#ring[this.#first] as number) + windowMs <= now) {
      this.#total -= this.#countOf(0);
      this.#first = this.#index(1);
      this.#size--;
    }
  }

  #push(now: number, count: number, limit: number): void {
    this.#total += count;
    if (this.#size > 0 && this.#isSameSpan(this.#ring[this.#last] as number, now, limit)) {
      this.#ring[this.#last] = now;
      (this.#ring[this.#last + 1] as number) += count;
      return;
    }
    if (2 * this.#size === this.#ring.length) this.#grow();
    this.#last = this.#index(this.#size++);
    this.#ring[this.#last] = now;
    this.#ring[this.#last + 1] = count;
  }

  #isSameSpan(before: number, now: number, limit: number): boolean {
    const span = limit > EXACT_UP_TO ? Math.max(1, this.#spanMs) : this.#spanMs;
    return span === 0 ? now === before : Math.floor(now / span) === Math.floor(before / span);
  }

  #grow(): void {
    const larger = new Array<number>(this.#size === 0 ? 2 : Math.max(2 * FIRST_CAPACITY, 2 * this.#ring.length));
    for (let i = 0; i < this.#size; i++) {
      larger[2 * i] = this.#timeOf(i);
      larger[2 * i + 1] = this.#countOf(i);
    }
    this.#ring = larger;
    this.#first = 0;
  }
}
