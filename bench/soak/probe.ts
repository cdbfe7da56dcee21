/**
 * Node loads this module into the server with `--import`. The module replies to each message with the memory,
 * descriptors and listeners of the process.
 */
import { readdirSync } from 'node:fs';

/** Resources in use after a full garbage collection. Sizes are in bytes. */
export interface Holdings {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly fds: number;
  readonly resources: number;
  /** Number of listeners on the process and its standard streams. */
  readonly listeners: number;
  /** Warnings of Node, such as MaxListenersExceededWarning. */
  readonly warnings: readonly string[];
}

const warnings: string[] = [];
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));

const collectGarbage = (globalThis as { gc?: () => void }).gc;

const listenersOf = (emitter: NodeJS.EventEmitter): number =>
  emitter.eventNames().reduce((count, name) => count + emitter.listenerCount(name), 0);

const holdings = (): Holdings => {
  const { rss, heapUsed, external } = process.memoryUsage();
  const emitters: readonly NodeJS.EventEmitter[] = [process, process.stdin, process.stdout, process.stderr];
  return {
    ...{ rss, heapUsed, external, warnings },
    fds: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
    listeners: emitters.reduce((sum, emitter) => sum + listenersOf(emitter), 0),
  };
};

process.on('message', () => {
  // The second collection frees objects that finalizers released during the first collection.
  collectGarbage?.();
  setImmediate(() => {
    collectGarbage?.();
    process.send?.(holdings());
  });
});
process.on('disconnect', () => process.exit(1));
// The message channel must not keep the process alive during a shutdown.
process.channel?.unref();
