/** The messages between the primary process and its workers, and the worker's side of them. */
import { EventEmitter, once } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { KeyRecord } from '../contracts/keys.js';
import type { DayUsage } from '../contracts/limiter.js';
import { type Ask, type Grant, WorkerLimiter } from '../limiter/worker-limiter.js';

/** All workers run the configuration that the primary process read, even if the file has changed since. */
export interface Assignment {
  readonly loaded: LoadedConfig;
  /** The record of the demo key, which has only the key's hash. */
  readonly demo: KeyRecord | null;
}

export type ToWorker =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  | { readonly kind: 'granted'; readonly grants: readonly Grant[] }
  | { readonly kind: 'used'; readonly call: number; readonly days: readonly DayUsage[] }
  /** The worker replies with `metrics`. */
  | { readonly kind: 'measure'; readonly scrape: number }
  | { readonly kind: 'reload'; readonly loaded: LoadedConfig }
  | { readonly kind: 'stop'; readonly delayMs: number };

export interface Listening {
  readonly url: string;
  readonly port: number;
}

export type ToPrimary =
  /** Requests the assignment: the worker misses messages that were sent before it listens. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly listening: Listening }
  | { readonly kind: 'metrics'; readonly scrape: number; readonly page: string }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] }
  /** The primary replies with `used`. */
  | { readonly kind: 'usage'; readonly call: number; readonly caller: string };

export interface PrimaryLink {
  readonly assignment: Promise<Assignment>;
  /** Resolves when the primary process ends the worker, with the delay before the listener closes. */
  readonly stopped: Promise<number>;
  /** Replies to each scrape with the current metrics. */
  onMeasure(read: () => string): void;
  /** Called with each configuration that the primary process has read again. */
  onReload(listener: (loaded: LoadedConfig) => void): void;
  /** Asks the primary process, which decides for all workers. */
  readonly limiter: WorkerLimiter;
  listening(at: Listening): void;
  /** Lets the process end while the channel to the primary process is open. */
  release(): void;
}

/** To be called once, by a worker. */
export const linkToPrimary = (): PrimaryLink => {
  const messages = new EventEmitter<{ [M in ToWorker as M['kind']]: [message: M] }>();
  process.on('message', (message: ToWorker) => void messages.emit(message.kind, message as never));
  const openCalls = new Map<number, (days: readonly DayUsage[]) => void>();
  let calls = 0;
  messages.on('used', ({ call, days }) => {
    openCalls.get(call)?.(days);
    openCalls.delete(call);
  });
  // Errors are ignored: if the primary process has ended, node:cluster ends this worker.
  const send = (message: ToPrimary) => process.send?.(message, undefined, undefined, () => undefined);
  send({ kind: 'ready' });
  const askUsage = (caller: string): Promise<readonly DayUsage[]> => {
    const call = ++calls;
    return new Promise((resolve) => {
      openCalls.set(call, resolve);
      send({ kind: 'usage', call, caller });
    });
  };
  const limiter = new WorkerLimiter((asks) => {
    send({ kind: 'ask', asks });
    return new Promise((resolve) => messages.once('granted', ({ grants }) => resolve(grants)));
  }, askUsage);
  return {
    assignment: once(messages, 'start').then(([{ assignment }]) => assignment),
    stopped: once(messages, 'stop').then(([{ delayMs }]) => delayMs),
    onMeasure: (read) => void messages.on('measure', ({ scrape }) => send({ kind: 'metrics', scrape, page: read() })),
    onReload: (listener) => void messages.on('reload', ({ loaded }) => listener(loaded)),
    limiter,
    listening: (at) => void send({ kind: 'listening', listening: at }),
    release: () => process.channel?.unref(),
  };
};
