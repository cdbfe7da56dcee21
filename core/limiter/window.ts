/** A sliding window in memory: how many requests of one caller were admitted, and when. */
import type { Decision } from '../contracts/limiter.js';

/** Requests that were admitted together. */
export interface Admitted {
  readonly ageMs: number;
  readonly count: number;
}

/** Above this limit, requests admitted within one millisecond share an entry. This bounds the memory of a window. */
const EXACT_UP_TO = 1000;
const FIRST_CAPACITY = 4;
const EMPTY: number[] = [];

/**
 * A ring of entries, each a time and a count. Requests of one span share an entry with the time of the last of them,
 * so a request leaves the window at most one span late and never early.
 *
 * An entry takes 16 bytes: 1 KB for spans of a second, 16 KB for 600 requests with a time each. All times are
 * milliseconds of a monotonic clock.
 */
export class SlidingWindow {
  /** Alternating times and counts. The length is a power of two. */
  #ring = EMPTY;
  /** Indices of the oldest and the newest entry. */
  #first = 0;
  #last = 0;
  /** Number of entries. */
  #size = 0;
  #total = 0;
  readonly #spanMs: number;

  /** @param spanMs 0: each request has an entry of its own, up to a limit of 1,000 */
  constructor(spanMs = 0) {
    this.#spanMs = spanMs;
  }

  /**
   * Decides one request by the window that ends now, and counts it if it is allowed.
   * @param hasQuota false: rejects the request although the window may have room
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

  /** Counts requests that Redis admitted. */
  add(now: number, count: number, limit: number, windowMs: number): void {
    this.#expire(now, windowMs);
    if (count > 0) this.#push(now, count, limit);
  }

  /** What the window contains, oldest first. */
  entries(now: number, windowMs: number): Admitted[] {
    this.#expire(now, windowMs);
    return Array.from({ length: this.#size }, (_, i) => ({ ageMs: now - this.#timeOf(i), count: this.#countOf(i) }));
  }

  /** Requests admitted in the span that contains `time`. */
  countAt(time: number): number {
    const span = Math.floor(time / this.#spanMs);
    for (let i = this.#size - 1; i >= 0; i--) {
      const other = Math.floor(this.#timeOf(i) / this.#spanMs);
      if (other <= span) return other === span ? this.#countOf(i) : 0;
    }
    return 0;
  }

  /** Index in the ring of entry `i`; 0 is the oldest. */
  #index(i: number): number {
    return (this.#first + 2 * i) & (this.#ring.length - 1);
  }

  #timeOf(i: number): number {
    return this.#ring[this.#index(i)] as number;
  }

  #countOf(i: number): number {
    return this.#ring[this.#index(i) + 1] as number;
  }

  /** The entry that must expire before another request is allowed. Not the oldest where the limit was lowered. */
  #blocking(limit: number): number {
    let i = 0;
    for (let excess = this.#total - limit; i < this.#size - 1; i++) {
      excess -= this.#countOf(i);
      if (excess < 0) break;
    }
    return i;
  }

  #expire(now: number, windowMs: number): void {
    // The same sum as in `resetMs` above, so that rounding cannot make the two disagree.
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
