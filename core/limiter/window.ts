import type { Decision } from '../contracts/limiter.js';

export interface Admitted {
  readonly ageMs: number;
  readonly count: number;
}

/**
 * Up to this limit, every request has its own entry. Above it, requests in the same millisecond share an entry, so that
 * the window stays small.
 */
const EXACT_UP_TO = 1000;
const FIRST_CAPACITY = 4;
const EMPTY: number[] = [];

/**
 * A sliding window in a ring buffer. An entry takes 16 bytes. Requests in the same span share an entry. The entry has
 * the time of its last request. Its earlier requests therefore expire late, by at most one span.
 */
export class SlidingWindow {
  /** Alternating times and counts. The length is a power of two. */
  #ring = EMPTY;
  #first = 0;
  #last = 0;
  #size = 0;
  #total = 0;
  readonly #windowMs: number;
  readonly #spanMs: number;

  /**
   * @param spanMs requests within this time share an entry. If 0, requests share entries only if the limit is above
   *   1,000
   */
  constructor(windowMs: number, spanMs = 0) {
    this.#windowMs = windowMs;
    this.#spanMs = spanMs;
  }

  take(now: number, limit: number, hasQuota = true): Decision {
    this.#expire(now);
    const allowed = hasQuota && this.#total < limit;
    if (allowed) this.#push(now, 1, limit);
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - this.#total),
      resetMs: this.#size === 0 ? 0 : this.#timeOf(this.#blocking(limit)) + this.#windowMs - now,
    };
  }

  add(now: number, count: number, limit: number): void {
    this.#expire(now);
    if (count > 0) this.#push(now, count, limit);
  }

  entries(now: number): Admitted[] {
    this.#expire(now);
    return Array.from({ length: this.#size }, (_, i) => ({ ageMs: now - this.#timeOf(i), count: this.#countOf(i) }));
  }

  countAt(time: number): number {
    const span = Math.floor(time / this.#spanMs);
    for (let i = this.#size - 1; i >= 0; i--) {
      const other = Math.floor(this.#timeOf(i) / this.#spanMs);
      if (other <= span) return other === span ? this.#countOf(i) : 0;
    }
    return 0;
  }

  #index(i: number): number {
    return (this.#first + 2 * i) & (this.#ring.length - 1);
  }

  #timeOf(i: number): number {
    return this.#ring[this.#index(i)] as number;
  }

  #countOf(i: number): number {
    return this.#ring[this.#index(i) + 1] as number;
  }

  /**
   * Returns the entry that must expire before the next request is allowed. If the limit was lowered, this is not
   * necessarily the oldest entry.
   */
  #blocking(limit: number): number {
    let i = 0;
    for (let excess = this.#total - limit; i < this.#size - 1; i++) {
      excess -= this.#countOf(i);
      if (excess < 0) break;
    }
    return i;
  }

  #expire(now: number): void {
    // The condition uses the same sum as `resetMs`, so that both are rounded in the same way.
    while (this.#size > 0 && (this.#ring[this.#first] as number) + this.#windowMs <= now) {
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
