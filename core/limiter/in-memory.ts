/**
 * The limiter of a single process: an exact sliding window for each subject, decided at once. The limiter in Redis
 * keeps what its replica has admitted in the same `SlidingLog` and `Callers`.
 */
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';
import type { Told } from './decide-script.js';
import { DAY_MS, dayOf, KEPT_DAYS, leftOf, quotaStates, UsedDays, usageOf } from './usage.js';

/**
 * A request passes if fewer than the limit passed in the window (now - length, now]; so one that comes exactly a window
 * after another no longer counts it. Memory: a `SlidingLog` for each subject, dropped one to two windows after its last
 * request or, for an address, once `MOST_ADDRESSES` others have come; where quotas are counted, a subject's usage stays
 * for `KEPT_DAYS`.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #logs: Callers<SlidingLog>;
  readonly #usage = new Callers(KEPT_DAYS * DAY_MS, () => new UsedDays(KEPT_DAYS));

  constructor({ clock = systemClock, windowMs = WINDOW_MS }: { clock?: Clock; windowMs?: number } = {}) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#logs = new Callers(windowMs, () => new SlidingLog());
  }

  take(subject: string, limit: number, quotas?: Quotas): Decision {
    const now = this.#clock.monotonic();
    const log = this.#logs.get(subject, now);
    if (quotas === undefined) return log.take(now, limit, this.#windowMs);
    const time = this.#clock.now();
    const today = dayOf(time);
    const usage = this.#usage.get(subject, now);
    const decision = log.take(now, limit, this.#windowMs, leftOf(quotas, usage.used(today)) > 0);
    usage.add(today, decision.allowed);
    return { ...decision, quotas: quotaStates(quotas, usage.used(today), time) };
  }

  async usage(subject: string): Promise<readonly DayUsage[]> {
    return usageOf(this.#usage.get(subject, this.#clock.monotonic()).all, this.#clock.now());
  }

  /** How many subjects are remembered. */
  get size(): number {
    return this.#logs.size;
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async close(): Promise<void> {}
}

/** Above this limit admissions of one millisecond are counted together, so that a log has a bounded number of entries. */
const TOGETHER_ABOVE = 1000;
/** Entries that the ring of a log has room for, once it has one. */
const FIRST_CAPACITY = 4;
const NO_ENTRIES: number[] = [];

/**
 * The times at which one subject passed within the last window: a sliding window in a ring of numbers.
 *
 * Admissions of one span of time are counted together and dated by the latest of them, so that a slot becomes free up
 * to a span late, never early. Takes 16 bytes for each span in which something passed, rounded up to a power of two:
 * 16 KB where 600 passed at times of their own, 1 KB with spans of a second. Times are in milliseconds and are given in
 * order.
 */
export class SlidingLog {
  /** The newest entry. It stands apart, since most addresses have no other one and so need no ring. */
  #time = 0;
  /** 0: the log is empty. */
  #count = 0;
  /** The entries before the newest: a time and a count each. Of plain numbers, since small typed arrays cost more. */
  #ring = NO_ENTRIES;
  /** Where the oldest of the ring stands, and its time: most requests need the ring for nothing else. */
  #first = 0;
  #oldest = 0;
  /** How many entries the ring has. */
  #size = 0;
  #total = 0;
  readonly #spanMs: number;

  /** @param spanMs what passes within so long is counted together; 0: only above a limit of 1,000, within a millisecond */
  constructor(spanMs = 0) {
    this.#spanMs = spanMs;
  }

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
      resetMs: this.#count === 0 ? 0 : this.#slotAt(limit) + windowMs - now,
    };
  }

  /** Counts requests that Redis has admitted. */
  add(now: number, count: number, limit: number, windowMs: number): void {
    this.#expire(now, windowMs);
    if (count > 0) this.#push(now, count, limit);
  }

  /** The admissions within the window, oldest first. */
  tell(now: number, windowMs: number): Told[] {
    this.#expire(now, windowMs);
    const entries = this.#count > 0 ? this.#size + 1 : 0;
    return Array.from({ length: entries }, (_, i) => ({ ageMs: now - this.#timeOf(i), count: this.#countOf(i) }));
  }

  /** Where entry `i`, counted from the oldest, stands in the ring. */
  #index(i: number): number {
    return (this.#first + 2 * i) & (this.#ring.length - 1);
  }

  #timeOf(i: number): number {
    return i === this.#size ? this.#time : (this.#ring[this.#index(i)] as number);
  }

  #countOf(i: number): number {
    return i === this.#size ? this.#count : (this.#ring[this.#index(i) + 1] as number);
  }

  /**
   * The time of the entry that must leave the window before another request may pass: the oldest, or a later one if the
   * limit was lowered.
   */
  #slotAt(limit: number): number {
    let i = 0;
    for (let excess = this.#total - limit; i < this.#size; i++) {
      excess -= this.#countOf(i);
      if (excess < 0) break;
    }
    return this.#timeOf(i);
  }

  #expire(now: number, windowMs: number): void {
    // The same sum as in resetMs above, so that rounding cannot make the two disagree.
    while (this.#size > 0 && this.#oldest + windowMs <= now) {
      this.#total -= this.#countOf(0);
      this.#first = this.#index(1);
      this.#size -= 1;
      this.#oldest = this.#timeOf(0);
    }
    if (this.#count > 0 && this.#time + windowMs <= now) {
      this.#total = 0;
      this.#count = 0;
    }
  }

  #push(now: number, count: number, limit: number): void {
    this.#total += count;
    if (this.#count > 0 && this.#isOfNewest(now, limit)) this.#count += count;
    else {
      if (this.#count > 0) this.#moveNewestIntoRing();
      this.#count = count;
    }
    this.#time = now;
  }

  /** Whether a moment, which is not before the newest entry, is counted with it. */
  #isOfNewest(now: number, limit: number): boolean {
    const span = limit > TOGETHER_ABOVE ? Math.max(1, this.#spanMs) : this.#spanMs;
    return span === 0 ? now === this.#time : Math.floor(now / span) === Math.floor(this.#time / span);
  }

  #moveNewestIntoRing(): void {
    if (2 * this.#size === this.#ring.length) this.#grow();
    if (this.#size === 0) this.#oldest = this.#time;
    const next = this.#index(this.#size);
    this.#ring[next] = this.#time;
    this.#ring[next + 1] = this.#count;
    this.#size += 1;
  }

  #grow(): void {
    const larger = new Array<number>(Math.max(2 * FIRST_CAPACITY, 2 * this.#ring.length));
    for (let i = 0; i < this.#size; i++) {
      larger[2 * i] = this.#timeOf(i);
      larger[2 * i + 1] = this.#countOf(i);
    }
    this.#ring = larger;
    this.#first = 0;
  }
}

/**
 * Drops a value between one and two spans after its last use, at the next `get`; beyond `most` keys earlier, but never
 * one of the `most` keys used last. Of its two maps the older one is dropped as a whole.
 */
class ExpiringMap<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #turnAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly spanMs: number,
    readonly create: (key: string) => Value,
    readonly most = Number.POSITIVE_INFINITY,
  ) {}

  /** The value of a key, made if there is none. */
  get(key: string, now: number): Value {
    if (now >= this.#turnAt) this.#turn(now);
    let value = this.#young.get(key);
    if (value === undefined) {
      if (this.#young.size >= this.most) this.#turn(now);
      value = this.#old.get(key) ?? this.create(key);
      this.#old.delete(key);
      this.#young.set(key, value);
    }
    return value;
  }

  values(): Value[] {
    return [...this.#old.values(), ...this.#young.values()];
  }

  get size(): number {
    return this.#old.size + this.#young.size;
  }

  #turn(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnAt = now + this.spanMs;
  }
}

/**
 * How many addresses are remembered at least, in a process and in Redis. With a limit below it, dropping one's own
 * address takes more requests, from other addresses, than it wins back.
 */
export const MOST_ADDRESSES = 10_000;

/** One value for each caller: of all keys, whose number the operator decides, and of a bounded number of addresses. */
export class Callers<Value> {
  readonly #keys: ExpiringMap<Value>;
  readonly #addresses: ExpiringMap<Value>;

  constructor(spanMs: number, create: (subject: string) => Value, mostAddresses = MOST_ADDRESSES) {
    this.#keys = new ExpiringMap(spanMs, create);
    this.#addresses = new ExpiringMap(spanMs, create, mostAddresses);
  }

  /** @param subject as `Limiter.take` has it */
  get(subject: string, now: number): Value {
    return (subject.startsWith('ip:') ? this.#addresses : this.#keys).get(subject, now);
  }

  values(): Value[] {
    return [...this.#keys.values(), ...this.#addresses.values()];
  }

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }
}
