/** A circuit breaker: after one failure nobody waits for a store any more until a probe has been answered in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './contracts/runtime.js';
import { within } from './within.js';

const PROBE_EVERY_MS = 200;
/** A probe without an answer is given up after this, so that a dead connection cannot stop the probing. */
const PROBE_LIMIT_MS = 1000;

export interface BreakerOptions {
  /** For the log: who does without what. */
  readonly name: string;
  /** Asks the store. It is called again only when the last one has ended. */
  readonly probe: () => Promise<unknown>;
  /** The store counts as back when the probe is answered within this time. */
  readonly timeoutMs: number;
  /** Called each time that it is back. */
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
      const inTime = await within(answer, this.#options.timeoutMs).then(
        () => true,
        () => false,
      );
      if (inTime) break;
      await within(answer, PROBE_LIMIT_MS).catch(() => undefined);
    }
    if (this.#stop.signal.aborted) return;
    this.#open = false;
    const awayMs = Math.round(performance.now() - since);
    this.#options.logger.info({ awayMs }, `${this.#options.name}: the shared store is back`);
    this.#options.onClose?.();
  }
}
