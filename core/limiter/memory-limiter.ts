import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';
import { CallerMap } from './caller-map.js';
import { DAY_MS, dayOf, KEPT_DAYS, quotaLeft, quotaStates, UsageByDay, usageReport } from './quotas.js';
import { SlidingWindow } from './window.js';

/** The window of an idle caller is dropped after 60 to 120 seconds. */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #windows = new CallerMap(WINDOW_MS, () => new SlidingWindow(WINDOW_MS));
  readonly #usage = new CallerMap(KEPT_DAYS * DAY_MS, () => new UsageByDay(KEPT_DAYS));

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    this.#clock = clock;
  }

  take(caller: string, limit: number, quotas?: Quotas): Decision {
    const now = this.#clock.monotonic();
    const window = this.#windows.get(caller, now);
    if (quotas === undefined) return window.take(now, limit);
    const time = this.#clock.now();
    const today = dayOf(time);
    const usage = this.#usage.get(caller, now);
    const decision = window.take(now, limit, quotaLeft(quotas, usage.used(today)) > 0);
    usage.add(today, decision.allowed);
    return { ...decision, quotas: quotaStates(quotas, usage.used(today), time) };
  }

  async usage(caller: string): Promise<readonly DayUsage[]> {
    return usageReport(this.#usage.get(caller, this.#clock.monotonic()).all, this.#clock.now());
  }

  get size(): number {
    return this.#windows.size;
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async close(): Promise<void> {}
}
