/**
 * The primary process for several workers on one port. It starts, replaces and stops them, and decides their limits.
 */
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
 * If a worker ends sooner than this, the delay before the next start doubles, since the new worker may fail for the
 * same reason.
 */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** How long workers may take to close their stores at shutdown, after `server.drainMs`. */
const CLOSE_MS = 2000;
/** A scrape does not include workers that have not replied after this time. */
const SCRAPE_MS = 2000;
/** How long new workers may take to start listening during a reload. */
const READY_MS = 120_000;
/**
 * After a reload, the maximum time during which old workers keep idle connections open. If a connection is closed just
 * as its client sends a request, that request fails.
 */
const IDLE_MS = 10_000;

/** During a reload, new workers do not listen until these services are available. */
const STORES = ['storage', 'keys'] as const;

/** How a worker ended. */
interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** The reason that the worker gave before it ended. */
  readonly reason?: string | undefined;
}

/** Workers that run the same configuration. */
interface Generation {
  readonly count: number;
  assignment: Assignment;
  /** The number of each worker, counted from 1. A replacement gets the lowest free number. */
  readonly workers: Map<Worker, number>;
}

const isClean = ({ code, signal }: Ending): boolean => code === 0 || signal === 'SIGTERM' || signal === 'SIGINT';

export class Workers {
  readonly #logger: Logger;
  readonly #limiter = new MemoryLimiter();
  /** The workers that accept connections. */
  #running: Generation;
  /** All workers, including the ones that a reload is starting or ending. */
  readonly #alive = new Set<Worker>();
  readonly #pages = new EventEmitter<{ page: [scrape: number, worker: number, page: string] }>();
  #scrape = 0;
  /** The port in the configuration. */
  #configuredPort: number;
  /** The port on which the workers listen. */
  #port = 0;
  /** Resolves when the workers of the previous configuration have ended. */
  #retired: Promise<unknown> = Promise.resolve();
  /** How many workers in a row have ended soon after they started. */
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
    // Workers accept connections themselves. If this process distributed them, a connection that all workers refuse
    // because of `server.maxConnections` would be passed from worker to worker for as long as it is open.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({
      // All workers run the version of this process, even if a symbolic link points to another version later.
      exec: realpathSync(process.argv[1]!),
      // A worker that exits resets O_NONBLOCK on a shared standard output, and then a full pipe would block this process.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    // Workers that do not react to messages must not outlive this process.
    process.once('exit', () => this.#kill());
  }

  /**
   * Starts the first worker and, once it is listening, the others. If the start fails, the reason is thus logged only
   * once.
   * @returns the URLs; undefined if the first worker failed and has logged the reason
   * @throws OperatorError if a signal ended the first worker
   */
  async start(): Promise<Listening | undefined> {
    const first = await this.#fork();
    if (!('url' in first)) {
      if (first.code !== null || this.#stopping) return undefined;
      throw new OperatorError(`The first worker was ended by ${first.signal ?? 'the system'} before it listened.`);
    }
    this.#started = true;
    this.#port = first.port;
    const { count, workers } = this.#running;
    await Promise.all(Array.from({ length: count - workers.size }, () => this.#fork()));
    return first;
  }

  /**
   * Replaces all workers. The new ones share the port with the old ones, which end when all new ones are listening. If
   * a new worker cannot listen, the new workers end instead.
   * @param count the new number of workers
   * @throws OperatorError with the reason why the previous workers stay
   */
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
    // With port 0, the new workers use the port that the first worker chose.
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
    // Replacements for these workers listen even while a store is unavailable, like workers after startup.
    this.#running = { ...next, assignment: { ...next.assignment, needs: undefined } };
    while (next.workers.size < count) void this.#fork();
  }

  /** Returns the metrics of all workers that reply in time, merged into one page. */
  async metrics(): Promise<string> {
    const scrape = ++this.#scrape;
    const pages = new Map<number, string>();
    const asked = [...this.#running.workers.keys()];
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

  /**
   * Stops all workers. A worker is killed if it takes longer than the sum of the delay, `server.drainMs` and 2 seconds.
   * @throws Error if a worker did not end cleanly
   */
  async stop(delayMs: number): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#alive].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of this.#alive) this.#send(worker, { kind: 'stop', delayMs });
    const { drainMs } = this.#running.assignment.loaded.config.server;
    const deadline = setTimeout(
      () => {
        const workerPids = [...this.#alive].map((worker) => worker.process.pid);
        this.#logger.error({ workerPids }, 'workers did not end in time and are killed');
        this.#kill();
      },
      delayMs + drainMs + CLOSE_MS,
    );
    await Promise.all(ends);
    clearTimeout(deadline);
    if (this.#failed) throw new Error('A worker did not end cleanly.');
  }

  /** Starts a worker during a reload. @throws OperatorError if it cannot listen */
  async #listening(generation: Generation): Promise<Listening> {
    const result = await withTimeout(this.#fork(generation), READY_MS).catch((cause: Error) => {
      throw new OperatorError(`A new worker did not listen within ${READY_MS / 1000} s.`, [], { cause });
    });
    if ('url' in result) return result;
    const { reason, signal, code } = result;
    throw new OperatorError(reason ?? `A new worker ended (${signal ?? `exit code ${code}`}) before it listened.`);
  }

  /** Ends workers whose port other workers have taken over. Workers that take too long are killed. */
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

  /** Starts a worker. Resolves when it is listening, or when it has ended. */
  #fork(generation: Generation = this.#running): Promise<Listening | Ending> {
    const { count, workers } = generation;
    // Port 0 in the configuration means that the first worker chooses a port. Later workers use the same port.
    if (this.#alive.size === 0 && this.#port > 0) generation.assignment = onPort(generation.assignment, this.#port);
    const { assignment } = generation;
    const since = performance.now();
    const number = freeNumber(workers);
    const worker = cluster.fork({ [WORKER_VARIABLE]: String(count), [WORKER_NUMBER]: String(number) });
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
      // A worker that could not be spawned has no pid and emits `error`, but not `exit`.
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
      this.#logger.error({ ...details, pauseMs }, 'a worker ended; another one replaces it');
      setTimeout(() => {
        // A reload may have replaced the workers in the meantime.
        if (!this.#stopping && this.#running.workers.size < this.#running.count) void this.#fork();
      }, pauseMs);
    }
  }

  /** Sends a message. This fails only if the worker has ended, which the `exit` event handles. */
  #send(worker: Worker, message: ToWorker): void {
    worker.send(message, () => undefined);
  }
}

const freeNumber = (workers: Generation['workers']): number => {
  const taken = new Set(workers.values());
  for (let number = 1; ; number++) if (!taken.has(number)) return number;
};
