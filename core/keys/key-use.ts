/** Notes in memory when keys are used, and tells the store rarely. */
import type { Logger } from '../contracts/runtime.js';
import { within } from '../within.js';

const WRITE_EVERY_MS = 5 * 60_000;
/** A store that is away must not keep the process from ending: what it was to be told is lost then. */
const LAST_WRITE_MS = 500;

export interface KeyUseOptions {
  /** As `KeyStore.noteUse`. */
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  /** Milliseconds between two writes. Default: five minutes. */
  readonly everyMs?: number;
}

/** Holds one number for each key that was used since the last write, of keys that the store holds in memory anyway. */
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

  /** Tells the store once more, but does not wait for long. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await within(this.#write(), LAST_WRITE_MS).catch(() => undefined);
  }

  async #write(): Promise<void> {
    if (this.#times.size === 0) return;
    const times = this.#times;
    this.#times = new Map();
    try {
      await this.#tell(times);
    } catch (error) {
      for (const [id, time] of times) if (!this.#times.has(id)) this.#times.set(id, time);
      // No warning: where a replica may only read, it is so by intention and at each write.
      this.#logger.debug({ err: error }, 'when keys were used last could not be written');
    }
  }
}
