/**
 * Loaded into the process of the server before the service (`node --expose-gc --import`). Collects garbage and counts
 * memory and handles when its parent asks.
 */
import { readdirSync } from 'node:fs';

/** Memory and handles after a full garbage collection. Sizes in bytes. */
export interface Holdings {
  readonly rss: number;
  readonly heapUsed: number;
  /** Memory outside the heap, such as buffers. */
  readonly external: number;
  readonly fds: number;
  /** Handles and requests that keep the event loop alive, timers included. */
  readonly resources: number;
  /** Of the process and its standard streams. */
  readonly listeners: number;
  /** Warnings of Node, such as MaxListenersExceededWarning. */
  readonly warnings: readonly string[];
}

const warnings: string[] = [];
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));

const collectGarbage = (globalThis as { gc?: () => void }).gc;

const emitters = (): readonly NodeJS.EventEmitter[] => [process, process.stdin, process.stdout, process.stderr];

const holdings = (): Holdings => {
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    rss,
    heapUsed,
    external,
    fds: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
    listeners: emitters().reduce(
      (sum, emitter) => sum + emitter.eventNames().reduce((count, name) => count + emitter.listenerCount(name), 0),
      0,
    ),
    warnings,
  };
};

process.on('message', () => {
  // What the first one finalises is free for the second.
  collectGarbage?.();
  setImmediate(() => {
    collectGarbage?.();
    process.send?.(holdings());
  });
});
process.on('disconnect', () => process.exit(1));
// It must not keep a server alive that is done.
process.channel?.unref();
