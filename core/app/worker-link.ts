/** The messages between the primary process and its workers, and the worker's end of the channel. */
import { EventEmitter, once } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { KeyRecord } from '../contracts/keys.js';
import type { DayUsage } from '../contracts/limiter.js';
import { type Ask, type Grant, WorkerLimiter } from '../limiter/worker-limiter.js';

/** What a worker runs: the configuration as the primary process read it, even if the file has changed since then. */
export interface Assignment {
  readonly loaded: LoadedConfig;
  /** The record of the demo key. It contains only the hash of the key. */
  readonly demo: KeyRecord | null;
}

export type ToWorker =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  | { readonly kind: 'granted'; readonly grants: readonly Grant[] }
  | { readonly kind: 'used'; readonly call: number; readonly days: readonly DayUsage[] }
  /** The worker replies with a `metrics` message. */
  | { readonly kind: 'measure'; readonly scrape: number }
  | { readonly kind: 'reload'; readonly loaded: LoadedConfig }
  | { readonly kind: 'stop'; readonly delayMs: number };

export interface Listening {
  readonly url: string;
  readonly port: number;
}

export type ToPrimary =
  /** Requests the assignment. A worker would miss messages that are sent before it listens for them. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly listening: Listening }
  | { readonly kind: 'metrics'; readonly scrape: number; readonly page: string }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] }
  /** The primary process replies with a `used` message. */
  | { readonly kind: 'usage'; readonly call: number; readonly caller: string };

interface PrimaryLink {
  readonly assignment: Promise<Assignment>;
  /** Resolves when the primary process stops the worker. The value is the delay before the listener closes. */
  readonly stopped: Promise<number>;
  /** Sets the function that reads the metrics for each scrape. */
  onMeasure(read: () => string): void;
  /** Registers a listener for configurations that the primary process has reloaded. */
  onReload(listener: (loaded: LoadedConfig) => void): void;
  /** The limiter, which asks the primary process. That process decides for all workers. */
  readonly limiter: WorkerLimiter;
  listening(at: Listening): void;
  /** Allows the process to exit while the channel to the primary process is still open. */
  release(): void;
}

/** Opens the worker's end of the channel. Must be called exactly once per worker. */
export const linkToPrimary = (): PrimaryLink => {
  const messages = new EventEmitter<{ [M in ToWorker as M['kind']]: [message: M] }>();
  process.on('message', (message: ToWorker) => void messages.emit(message.kind, message as never));
  const openCalls = new Map<number, (days: readonly DayUsage[]) => void>();
  let calls = 0;
  messages.on('used', ({ call, days }) => {
    openCalls.get(call)?.(days);
    openCalls.delete(call);
  });
  // Errors can be ignored: if the primary process has ended, node:cluster also ends this worker.
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
