/** The limiter of a single process: an exact sliding window for each subject, decided at once. */
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';
import { Callers } from './callers.js';
import { SlidingLog } from './sliding-log.js';
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
