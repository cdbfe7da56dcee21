/** A circuit breaker: after one failure no request waits for the store until a probe succeeds in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../contracts/runtime.js';
import { withTimeout } from '../util/with-timeout.js';

const PROBE_EVERY_MS = 200;
/** Timeout of a probe, so that a dead connection cannot stop the probing. */
const PROBE_LIMIT_MS = 1000;

interface BreakerOptions {
  /** For the log: what the outage means, and for whom. */
  readonly name: string;
  /** Asks the store. It is called again only when the last one has ended. */
  readonly probe: () => Promise<unknown>;
  /** The store counts as available when the probe succeeds within this time. */
  readonly timeoutMs: number;
  /** Called each time the store is available again. */
  readonly onClose?: () => void;
  readonly logger: Logger;
}

export class Breaker {
  readonly #options: BreakerOptions;
  readonly #stop = new AbortController();
  #open = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get open(): boolean {
    return this.#open;
  }

  /** To be called when the store has failed. */
  trip(error: unknown): void {
    if (this.#open || this.#stop.signal.aborted) return;
    this.#open = true;
    this.#options.logger.warn({ err: error }, `${this.#options.name}: the shared store is away`);
    void this.#probe();
  }

  dispose(): void {
    this.#stop.abort();
  }

  async #probe(): Promise<void> {
    const since = performance.now();
    while (!this.#stop.signal.aborted) {
      await delay(PROBE_EVERY_MS, undefined, { ref: false });
      const answer = this.#options.probe();
      const inTime = await withTimeout(answer, this.#options.timeoutMs).then(
        () => true,
        () => false,
      );
      if (inTime) break;
      await withTimeout(answer, PROBE_LIMIT_MS).catch(() => undefined);
    }
    if (this.#stop.signal.aborted) return;
    this.#open = false;
    const awayMs = Math.round(performance.now() - since);
    this.#options.logger.info({ awayMs }, `${this.#options.name}: the shared store is back`);
    this.#options.onClose?.();
  }
}
