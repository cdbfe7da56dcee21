/** Polls MongoDB for changes. Polling alone finds every change. A change stream only triggers polls sooner. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'metro-forecast-api/adapter';
import { type ChangeStream, type ChangeStreamDocument, MongoServerError } from 'mongodb';

export class Poller {
  readonly #task: () => Promise<void>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stopped = false;

  constructor(intervalMs: number, task: () => Promise<void>) {
    this.#intervalMs = intervalMs;
    this.#task = task;
  }

  /** Starts a poll, after the current poll if one is running. Resolves when the new poll is complete. */
  poll(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (!this.#running) return this.#run();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.poll();
    });
    return this.#next;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#running = this.#task().finally(() => {
      this.#running = undefined;
      if (!this.#stopped) this.#timer = setTimeout(() => void this.poll(), this.#intervalMs);
    });
    return this.#running;
  }
}

export interface ChangeWatch {
  /** Stops watching. Does not wait for a pending request, because closing the client ends it. */
  stop(): void;
}

/** Error codes of standalone servers, which do not support change streams. */
const UNSUPPORTED = new Set([40573, 40324]);

/** @param on.open called after a change stream has been opened; the stream does not report earlier changes */
export const watchChanges = (
  open: () => Promise<ChangeStream>,
  on: { change(change: ChangeStreamDocument): void; open?(): void },
  retryMs: number,
  logger: Logger,
): ChangeWatch => {
  const stopping = new AbortController();
  let stream: ChangeStream | undefined;

  const follow = async (): Promise<void> => {
    stream = await open();
    for (let opened = false; !stopping.signal.aborted; opened = true) {
      const change = await stream.tryNext();
      if (!opened) on.open?.();
      if (change) on.change(change);
      // The stream ends if the watched collection is dropped. `tryNext` would then return immediately.
      if (change?.operationType === 'invalidate' || stream.closed) return;
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (error instanceof MongoServerError && UNSUPPORTED.has(Number(error.code))) {
          logger.info('this MongoDB server has no change streams: polling for changes instead');
          return;
        }
        if (!stopping.signal.aborted) logger.debug({ err: error }, 'the change stream ended; reopening it');
      }
      await stream?.close().catch(() => undefined);
      await delay(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };

  void run();
  return {
    stop() {
      stopping.abort();
      stream?.close().catch(() => undefined);
    },
  };
};
