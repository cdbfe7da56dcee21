/** What the primary process and its workers say to each other, and a worker's end of the line. */
import { EventEmitter, once } from 'node:events';
import type { LoadedConfig } from '../core/config/load.js';
import type { KeyRecord } from '../core/contracts/keys.js';
import { type Ask, type Grant, WorkerLimiter } from '../core/limiter/worker-limiter.js';

/** Set for the workers of `Workers` alone: a process manager may have made this process a worker of its own. */
export const WORKER_MARK = 'METRO_FORECAST_WORKER';

/** All workers run the configuration that the primary has read, also those that start when the file has changed. */
export interface Assignment {
  readonly loaded: LoadedConfig;
  /** Of the demo key, whose hash is all that workers need of it. */
  readonly demo: KeyRecord | null;
}

export type ToWorker =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  | { readonly kind: 'granted'; readonly grants: readonly Grant[] }
  | { readonly kind: 'stop'; readonly delayMs: number };

export interface Listening {
  readonly url: string;
  readonly port: number;
}

export type ToPrimary =
  /** What was sent to a process before it could read is lost, so it asks for its assignment. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly listening: Listening }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] };

export interface PrimaryLink {
  readonly assignment: Promise<Assignment>;
  /** Resolves with the delay before the listener closes, when the primary wants the worker to end. */
  readonly stopped: Promise<number>;
  /** Decides in the primary, for all workers. */
  readonly limiter: WorkerLimiter;
  listening(at: Listening): void;
  /** Lets the process end although the primary is there. */
  release(): void;
}

export const isWorker = (): boolean => process.env[WORKER_MARK] !== undefined;

/** To be called once, by a worker. Signals are the primary's to act on: a terminal sends them to all at once. */
export const linkToPrimary = (): PrimaryLink => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
  const told = new EventEmitter<{ start: [Assignment]; granted: [readonly Grant[]]; stop: [delayMs: number] }>();
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'start') told.emit('start', message.assignment);
    else if (message.kind === 'granted') told.emit('granted', message.grants);
    else told.emit('stop', message.delayMs);
  });
  // A primary that has gone takes its workers along (`node:cluster`), so nothing is to be done about it here.
  const tell = (message: ToPrimary) => process.send?.(message, undefined, undefined, () => undefined);
  tell({ kind: 'ready' });
  const limiter = new WorkerLimiter((asks) => {
    tell({ kind: 'ask', asks });
    return new Promise((resolve) => told.once('granted', resolve));
  });
  return {
    assignment: once(told, 'start').then(([assignment]) => assignment as Assignment),
    stopped: once(told, 'stop').then(([delayMs]) => delayMs as number),
    limiter,
    listening: (at) => void tell({ kind: 'listening', listening: at }),
    release: () => process.channel?.unref(),
  };
};
