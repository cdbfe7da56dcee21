import cluster, { type Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { realpathSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/load.js';
import type { Logger } from '../contracts/runtime.js';
import { OperatorError } from '../errors.js';
import { MemoryLimiter } from '../limiter/memory-limiter.js';
import { grantAll } from '../limiter/worker-limiter.js';
import { mergePages } from '../observe/metric.js';
import { reloadMetrics } from '../observe/reload-metrics.js';
import { WORKER_NUMBER, WORKER_VARIABLE } from '../util/is-worker.js';
import { withTimeout } from '../util/with-timeout.js';
import { type Assignment, asShare, type Listening, onPort, type ToPrimary, type ToWorker } from './worker-link.js';

/**
 * If a worker exits within this time, its replacement will probably exit too. The delay before the replacement starts
 * is therefore doubled.
 */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Time for workers to close their stores after `server.drainMs`, in milliseconds. */
const CLOSE_MS = 2000;
/** Time for workers to send their metrics, in milliseconds. The response to a scrape omits slower workers. */
const SCRAPE_MS = 2000;
const READY_MS = 120_000;
/**
 * How long replaced workers keep idle connections open, in milliseconds. A client might be sending a request on such a
 * connection, and the request would fail if the worker closed it at once.
 */
const IDLE_MS = 10_000;

const STORES = ['storage', 'keys'] as const;

interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason?: string | undefined;
}

interface Generation {
  readonly count: number;
  assignment: Assignment;
  readonly workers: Map<Worker, number>;
}

const isClean = ({ code, signal }: Ending): boolean => code === 0 || signal === 'SIGTERM' || signal === 'SIGINT';

export class Workers {
  readonly #logger: Logger;
  readonly #limiter = new MemoryLimiter();
  #running: Generation;
  readonly #alive = new Set<Worker>();
  readonly #pages = new EventEmitter<{ page: [scrape: number, worker: number, page: string] }>();
  #scrape = 0;
  #configuredPort: number;
  #port = 0;
  #retired: Promise<unknown> = Promise.resolve();
  /** Number of workers in a row that exited shortly after they started. */
  #shortLived = 0;
  #started = false;
  #stopping = false;
  #failed = false;

  constructor(count: number, assignment: Assignment, logger: Logger) {
    if (!cluster.isPrimary) {
      throw new OperatorError('This process is already a worker of a process manager: set server.workers to 1.');
    }
    const loaded = asShare(assignment.loaded, count);
    this.#running = { count, assignment: { ...assignment, loaded }, workers: new Map() };
    this.#configuredPort = assignment.loaded.config.server.port;
    this.#logger = logger;
    // Workers accept connections themselves. With `SCHED_RR`, the primary process would pass a connection from worker
    // to worker while all of them have `maxConnections` connections.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({
      // New workers run the same version as this process, even if a symbolic link now points to another version.
      exec: realpathSync(process.argv[1]!),
      // Workers write only to stderr. When a Node process exits, it resets O_NONBLOCK on its outputs. If workers shared
      // stdout with this process, a full pipe would block this process after a worker has exited.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    // `SIGKILL` also stops workers that no longer respond to messages.
    process.once('exit', () => this.#kill());
  }

  /** The port of the running workers. 0 before the first worker is listening. */
  get port(): number {
    return this.#port;
  }

  async start(): Promise<Listening | undefined> {
    const first = await this.#fork();
    if (!('url' in first)) {
      if (first.code !== null || this.#stopping) return undefined;
      throw new OperatorError(
        `The first worker was killed by ${first.signal ?? 'the system'} before it was listening.`,
      );
    }
    this.#started = true;
    this.#port = first.port;
    if (this.#stopping) return first;
    const { count, workers } = this.#running;
    await Promise.all(Array.from({ length: count - workers.size }, () => this.#fork()));
    return first;
  }

  /** @throws OperatorError that explains why the old workers keep running */
  async reload(loaded: LoadedConfig, count: number): Promise<void> {
    await this.#retired;
    const { assignment } = this.#running;
    const before = assignment.loaded.config;
    const { redis, server } = loaded.config;
    if (server.port === this.#configuredPort && server.host !== before.server.host)
      throw new OperatorError('server.host: a change needs a restart, unless server.port changes too.');
    const needs = isDeepStrictEqual(redis, before.redis) ? STORES : ([...STORES, 'limiter'] as const);
    const changed: Assignment = { ...assignment, loaded: asShare(loaded, count), needs };
    const next: Generation = { count, assignment: changed, workers: new Map() };
    if (server.port === this.#configuredPort) next.assignment = onPort(next.assignment, before.server.port);
    try {
      const listening = await this.#listening(next);
      await Promise.all(Array.from({ length: count - 1 }, () => this.#listening(next)));
      if (this.#stopping) throw new OperatorError('The service is shutting down.');
      this.#port = listening.port;
    } catch (error) {
      this.#retired = this.#retire(next);
      throw error;
    }
    this.#retired = this.#retire(this.#running);
    this.#configuredPort = server.port;
    // `needs` applies only to the reload. If a worker exits later, its replacement listens even if a store is
    // unavailable.
    this.#running = { ...next, assignment: { ...next.assignment, needs: undefined } };
    for (let missing = count - next.workers.size; missing > 0; missing--) void this.#fork();
  }

  async metrics(): Promise<string> {
    const scrape = ++this.#scrape;
    const pages = new Map<number, string>();
    const asked = [...this.#running.workers.keys()];
    if (asked.length === 0) return reloadMetrics();
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(deadline);
        this.#pages.off('page', onPage);
        resolve();
      };
      const onPage = (of: number, worker: number, page: string) => {
        if (of === scrape) pages.set(worker, page);
        if (pages.size === asked.length) done();
      };
      const deadline = setTimeout(done, SCRAPE_MS);
      this.#pages.on('page', onPage);
      for (const worker of asked) this.#send(worker, { kind: 'measure', scrape });
    });
    return mergePages(new Map([...pages].sort(([a], [b]) => a - b))) + reloadMetrics();
  }

  #kill(): void {
    for (const worker of this.#alive) worker.process.kill('SIGKILL');
  }

  async stop(delayMs: number): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#alive].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of this.#alive) this.#send(worker, { kind: 'stop', delayMs });
    const { drainMs } = this.#running.assignment.loaded.config.server;
    const deadline = setTimeout(
      () => {
        const workerPids = [...this.#alive].map((worker) => worker.process.pid);
        this.#logger.error({ workerPids }, 'workers did not exit in time; killing them');
        this.#kill();
      },
      delayMs + drainMs + CLOSE_MS,
    );
    await Promise.all(ends);
    clearTimeout(deadline);
    if (this.#failed) throw new Error('A worker did not exit cleanly.');
  }

  async #listening(generation: Generation): Promise<Listening> {
    const result = await withTimeout(this.#fork(generation), READY_MS).catch((cause: Error) => {
      throw new OperatorError(`A new worker did not start listening within ${READY_MS / 1000} s.`, [], { cause });
    });
    if ('url' in result) return result;
    const { reason, signal, code } = result;
    throw new OperatorError(
      reason ?? `A new worker exited (${signal ?? `exit code ${code}`}) before it was listening.`,
    );
  }

  #retire({ workers, assignment }: Generation): Promise<unknown> {
    const { keepAliveTimeoutMs, drainMs } = assignment.loaded.config.server;
    const idleMs = Math.min(keepAliveTimeoutMs, IDLE_MS);
    const ends = [...workers.keys()].map((worker) => {
      this.#send(worker, { kind: 'stop', delayMs: 0, idleMs });
      const deadline = setTimeout(() => worker.process.kill('SIGKILL'), idleMs + drainMs + CLOSE_MS);
      return new Promise<void>((resolve) => {
        worker.once('exit', () => {
          clearTimeout(deadline);
          resolve();
        });
      });
    });
    return Promise.all(ends);
  }

  #fork(generation: Generation = this.#running): Promise<Listening | Ending> {
    const { count, workers } = generation;
    if (this.#alive.size === 0 && this.#port > 0) generation.assignment = onPort(generation.assignment, this.#port);
    const { assignment } = generation;
    const since = performance.now();
    const number = freeNumber(workers);
    let worker: Worker;
    try {
      worker = cluster.fork({ [WORKER_VARIABLE]: String(count), [WORKER_NUMBER]: String(number) });
    } catch (error) {
      // Node throws some spawn errors, such as ENOMEM. Workers emit the others.
      const ending = { code: null, signal: null };
      if (workers === this.#running.workers) this.#onEnd(ending, 0, { ...ending, err: error });
      return Promise.resolve({ ...ending, reason: `A new worker could not be started: ${(error as Error).message}.` });
    }
    workers.set(worker, number);
    this.#alive.add(worker);
    let reason: string | undefined;
    return new Promise((resolve) => {
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'ask') {
          this.#send(worker, { kind: 'granted', grants: grantAll(this.#limiter, message.asks) });
        } else if (message.kind === 'usage') {
          const { call, caller } = message;
          void this.#limiter.usage(caller).then((days) => this.#send(worker, { kind: 'used', call, days }));
        } else if (message.kind === 'metrics') this.#pages.emit('page', message.scrape, number, message.page);
        else if (message.kind === 'listening') resolve(message.listening);
        else if (message.kind === 'failed') reason = message.reason;
        else {
          this.#send(worker, { kind: 'start', assignment });
          if (this.#stopping) this.#send(worker, { kind: 'stop', delayMs: 0 });
        }
      });
      const ended = (ending: Ending, error?: Error) => {
        if (!this.#alive.delete(worker)) return;
        workers.delete(worker);
        resolve({ ...ending, reason });
        const details = { workerPid: worker.process.pid, ...ending, err: error };
        if (workers === this.#running.workers || this.#stopping)
          this.#onEnd(ending, performance.now() - since, details);
      };
      worker.once('exit', (code: number | null, signal: string | null) => ended({ code, signal }));
      // A worker that cannot be spawned has no pid, and emits `error` but not `exit`.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) ended({ code: null, signal: null }, error);
      });
    });
  }

  #onEnd(ending: Ending, livedMs: number, details: object): void {
    if (this.#stopping) this.#failed ||= !isClean(ending);
    else if (this.#started) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#shortLived, LONGEST_PAUSE_MS);
      this.#shortLived = livedMs < STEADY_MS ? this.#shortLived + 1 : 0;
      this.#logger.error({ ...details, pauseMs }, 'a worker exited; starting a replacement');
      setTimeout(() => {
        if (!this.#stopping && this.#running.workers.size < this.#running.count) void this.#fork();
      }, pauseMs);
    }
  }

  /** Sending fails only if the worker has exited, which the `exit` listener handles. */
  #send(worker: Worker, message: ToWorker): void {
    worker.send(message, () => undefined);
  }
}

const freeNumber = (workers: Generation['workers']): number => {
  const taken = new Set(workers.values());
  for (let number = 1; ; number++) if (!taken.has(number)) return number;
};
