/**
 * The limiter of a single process: an exact sliding window for each subject, decided at once. The limiter in Redis keeps
 * the same logs of what it admits, in the same maps.
 */
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';
import { BUCKETS, type Told } from './decide-script.js';
import { DAY_MS, dayOf, KEPT_DAYS, leftOf, quotaStates, UsedDays, usageOf } from './usage.js';

/**
 * A request passes if fewer than the limit passed in the window (now - length, now]; so one that comes exactly a
 * window after another no longer counts it. Memory: what `SlidingLog` says for each subject, given back between one
 * and two windows after its last request, of an address also when `MOST_ADDRESSES` others came since.
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

const FIRST_CAPACITY = 4;
/** Limits above this are counted by whole milliseconds, which bounds the ring by the window's length. */
const WHOLE_MS_ABOVE = 1000;

/**
 * The times at which one subject passed within the last window: a sliding window in a ring of numbers.
 *
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

/**
 * Keeps each value for one span after its last use at least, and two at most: an older map is dropped whole. Where there
 * are more keys than `most`, it keeps those `most` that were used last, and twice as many at most.
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
 * How many addresses are remembered at least, in a process and in Redis. It is above the limits of callers without a key,
 * so that who drops an address by coming from so many others has sent more requests than it may send again.
 */
export const MOST_ADDRESSES = 25_000;

/** What is known of each caller: of every key, since these are as many as the operator makes, and of a bounded number of addresses. */
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
