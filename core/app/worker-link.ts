import { EventEmitter, once } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { KeyRecord } from '../contracts/keys.js';
import type { DayUsage } from '../contracts/limiter.js';
import type { ServiceState } from '../contracts/state.js';
import { type WorkerAsk, type WorkerGrant, WorkerLimiter } from '../limiter/worker-limiter.js';

/**
 * What the primary process sends to a worker at startup. Workers do not read the configuration file, because it can
 * have changed since the service started.
 */
export interface Assignment {
  readonly loaded: LoadedConfig;
  /**
   * Parts that must be available before a worker listens. Set only for a reload, which fails if a part is still
   * unavailable after 5 seconds. Without this property, a worker listens after 5 seconds at the latest.
   */
  readonly needs?: readonly (keyof ServiceState['health'])[] | undefined;
  readonly demo: KeyRecord | null;
}

/**
 * Multiplies `limits.replicas` by the number of workers, so that each worker applies only its share of the limits while
 * Redis is unreachable.
 */
export const asShare = (loaded: LoadedConfig, workers: number): LoadedConfig => {
  const { config } = loaded;
  const limits = { ...config.limits, replicas: config.limits.replicas * workers };
  return { ...loaded, config: { ...config, limits } };
};

export const onPort = (assignment: Assignment, port: number): Assignment => {
  const { loaded } = assignment;
  const server = { ...loaded.config.server, port };
  return { ...assignment, loaded: { ...loaded, config: { ...loaded.config, server } } };
};

export type ToWorker =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  | { readonly kind: 'granted'; readonly grants: readonly WorkerGrant[] }
  | { readonly kind: 'used'; readonly call: number; readonly days: readonly DayUsage[] }
  | { readonly kind: 'measure'; readonly scrape: number }
  | ({ readonly kind: 'stop' } & Stop);

export interface Stop {
  /** How long the worker continues to listen, in milliseconds. */
  readonly delayMs: number;
  /** How long idle connections stay open, in milliseconds. Set only if other workers have taken over the port. */
  readonly idleMs?: number;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
}

export type ToPrimary =
  /** The worker can receive messages. Messages that the primary process sends earlier would be lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly listening: Listening }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'metrics'; readonly scrape: number; readonly page: string }
  | { readonly kind: 'ask'; readonly asks: readonly WorkerAsk[] }
  | { readonly kind: 'usage'; readonly call: number; readonly caller: string };

interface PrimaryLink {
  readonly assignment: Promise<Assignment>;
  /** Sets the listener for stop messages. The listener is called twice if the service shuts down during a reload. */
  onStop(listener: (stop: Stop) => void): void;
  onMeasure(read: () => string): void;
  readonly limiter: WorkerLimiter;
  listening(at: Listening): void;
  failed(reason: string): void;
  /** Allows this process to exit while its channel to the primary process is open. */
  release(): void;
}

/**
 * Connects a worker to the primary process. Must be called only once, because two links would receive each other's
 * messages.
 */
export const linkToPrimary = (): PrimaryLink => {
  const messages = new EventEmitter<{ [M in ToWorker as M['kind']]: [message: M] }>();
  process.on('message', (message: ToWorker) => void messages.emit(message.kind, message as never));
  // The primary process can send `stop` directly after `start`. Stop messages are kept until `onStop` sets a listener.
  const earlyStops: Stop[] = [];
  let stop = (message: Stop): void => void earlyStops.push(message);
  messages.on('stop', (message) => stop(message));
  const openCalls = new Map<number, (days: readonly DayUsage[]) => void>();
  let calls = 0;
  messages.on('used', ({ call, days }) => {
    openCalls.get(call)?.(days);
    openCalls.delete(call);
  });
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
    onStop: (listener) => {
      stop = listener;
      earlyStops.forEach(listener);
    },
    onMeasure: (read) => void messages.on('measure', ({ scrape }) => send({ kind: 'metrics', scrape, page: read() })),
    limiter,
    listening: (at) => void send({ kind: 'listening', listening: at }),
    failed: (reason) => void send({ kind: 'failed', reason }),
    release: () => process.channel?.unref(),
  };
};
