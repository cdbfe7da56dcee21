/** Change streams as a hint to poll: reopened forever, and never relied upon. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'metro-forecast-api/adapter';
import { type ChangeStream, type ChangeStreamDocument, MongoServerError } from 'mongodb';

export interface ChangeWatch {
  /** Does not wait for a running request to the server: closing the client ends that. */
  stop(): void;
}

/** A standalone server has no change streams. */
const UNSUPPORTED = new Set([40573, 40324]);

/**
 * @param open begins a change stream
 * @param on.change is called for each change, `on.open` each time a stream has begun: it does not report earlier
 * changes
 * @param retryMs the pause after a stream has failed
 */
export const watchChanges = (
  open: () => ChangeStream,
  on: { change(change: ChangeStreamDocument): void; open?(): void },
  retryMs: number,
  logger: Logger,
): ChangeWatch => {
  const stopping = new AbortController();
  let stream: ChangeStream | undefined;

  const follow = async (): Promise<void> => {
    stream = open();
    for (let opened = false; !stopping.signal.aborted; opened = true) {
      const change = await stream.tryNext();
      if (!opened) on.open?.();
      if (change) on.change(change);
      // The watched collection was dropped. `tryNext` of an ended stream returns at once, forever.
      if (change?.operationType === 'invalidate' || stream.closed) return;
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (error instanceof MongoServerError && UNSUPPORTED.has(Number(error.code))) {
          logger.info('this MongoDB has no change streams: changes are noticed by polling');
          return;
        }
        if (!stopping.signal.aborted) logger.debug({ err: error }, 'the change stream ended and is opened again');
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
