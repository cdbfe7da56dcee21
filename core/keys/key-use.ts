/** Notes in memory when keys are used, and writes it to the store every few minutes. */
import type { Logger } from '../contracts/runtime.js';
import { withTimeout } from '../scheduling/with-timeout.js';

const WRITE_EVERY_MS = 5 * 60_000;
/** How long the last write may take: a store that is away must not keep the process from ending. */
const LAST_WRITE_MS = 500;

export interface KeyUseOptions {
  /** As `KeyStore.noteUse`. */
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  /** Milliseconds between two writes. Default: five minutes. */
  readonly everyMs?: number;
}

/** Holds one number for each key used since the last write. */
export class KeyUse {
  readonly #tell: KeyUseOptions['write'];
  readonly #logger: Pick<Logger, 'debug'>;
  readonly #timer: NodeJS.Timeout;
  #times = new Map<string, number>();

  constructor({ write, logger, everyMs = WRITE_EVERY_MS }: KeyUseOptions) {
    this.#tell = write;
    this.#logger = logger;
    this.#timer = setInterval(() => void this.#write(), everyMs).unref();
  }

  /** @param time milliseconds since 1970 */
  note(id: string, time: number): void {
    this.#times.set(id, time);
  }

  /** Writes what is pending, waiting LAST_WRITE_MS at most. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await withTimeout(this.#write(), LAST_WRITE_MS).catch(() => undefined);
  }

  async #write(): Promise<void> {
    if (this.#times.size === 0) return;
    const times = this.#times;
    this.#times = new Map();
    try {
      await this.#tell(times);
    } catch (error) {
      for (const [id, time] of times) if (!this.#times.has(id)) this.#times.set(id, time);
      // Not a warning: a replica that may only read fails at every write, and by intention.
      this.#logger.debug({ err: error }, 'when keys were used last could not be written');
    }
  }
}
