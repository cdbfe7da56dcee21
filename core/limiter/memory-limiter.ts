/** The limiter of a single process: an exact sliding window for each subject, decided at once. */
import { type Decision, type Limiter, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';
import { Generations } from './generations.js';
import { SlidingLog } from './sliding-log.js';

/**
 * A request passes if fewer than the limit passed in the window (now - length, now]; so one that comes exactly a
 * window after another no longer counts it. Memory: what `SlidingLog` says for each subject, given back between one
 * and two windows after its last request.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #logs: Generations<SlidingLog>;

  constructor({ clock = systemClock, windowMs = WINDOW_MS }: { clock?: Clock; windowMs?: number } = {}) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#logs = new Generations(windowMs, () => new SlidingLog());
  }

  take(subject: string, limit: number): Decision {
    const now = this.#clock.monotonic();
    return this.#logs.get(subject, now).take(now, limit, this.#windowMs);
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
