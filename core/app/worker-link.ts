/** The messages between the primary process and its workers, and the worker's side of them. */
import { EventEmitter, once } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { KeyRecord } from '../contracts/keys.js';
import type { DayUsage } from '../contracts/limiter.js';
import { type Ask, type Grant, WorkerLimiter } from '../limiter/worker-limiter.js';

/** Set by `Workers` only: `cluster.isWorker` is also true under a process manager. */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

/** All workers run the configuration that the primary has read, also if the file has changed before a worker starts. */
export interface Assignment {
  readonly loaded: LoadedConfig;
  /** The demo key's record: its hash is all that workers need. */
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
  /** Asks for the assignment: messages that were sent before the worker listens are lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly listening: Listening }
  | { readonly kind: 'metrics'; readonly scrape: number; readonly page: string }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] }
  /** The primary replies with `used`. */
  | { readonly kind: 'usage'; readonly call: number; readonly subject: string };

export interface PrimaryLink {
  readonly assignment: Promise<Assignment>;
  /** Resolves with the delay before the listener closes, when the primary wants the worker to end. */
  readonly stopped: Promise<number>;
  /** Replies to each scrape with the metrics of this moment. */
  onMeasure(read: () => string): void;
  /** Called with each configuration that the primary has read again. */
  onReload(listener: (loaded: LoadedConfig) => void): void;
  /** Asks the primary, which decides for all workers. */
  readonly limiter: WorkerLimiter;
  listening(at: Listening): void;
  /** Lets the process end while the channel to the primary is open. */
  release(): void;
}

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

/** To be called once, by a worker. It ignores signals: a terminal sends them to all processes, and the primary acts. */
export const linkToPrimary = (): PrimaryLink => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const messages = new EventEmitter<{ [M in ToWorker as M['kind']]: [message: M] }>();
  process.on('message', (message: ToWorker) => void messages.emit(message.kind, message as never));
  const openCalls = new Map<number, (days: readonly DayUsage[]) => void>();
  let calls = 0;
  messages.on('used', ({ call, days }) => {
    openCalls.get(call)?.(days);
    openCalls.delete(call);
  });
  // Errors of sending are ignored: when the primary has ended, `node:cluster` ends this worker.
  const tell = (message: ToPrimary) => process.send?.(message, undefined, undefined, () => undefined);
  tell({ kind: 'ready' });
  const askUsage = (subject: string): Promise<readonly DayUsage[]> => {
    const call = ++calls;
    return new Promise((resolve) => {
      openCalls.set(call, resolve);
      tell({ kind: 'usage', call, subject });
    });
  };
  const limiter = new WorkerLimiter((asks) => {
    tell({ kind: 'ask', asks });
    return new Promise((resolve) => messages.once('granted', ({ grants }) => resolve(grants)));
  }, askUsage);
  return {
    assignment: once(messages, 'start').then(([{ assignment }]) => assignment),
    stopped: once(messages, 'stop').then(([{ delayMs }]) => delayMs),
    onMeasure: (read) => void messages.on('measure', ({ scrape }) => tell({ kind: 'metrics', scrape, page: read() })),
    onReload: (listener) => void messages.on('reload', ({ loaded }) => listener(loaded)),
    limiter,
    listening: (at) => void tell({ kind: 'listening', listening: at }),
    release: () => process.channel?.unref(),
  };
};
