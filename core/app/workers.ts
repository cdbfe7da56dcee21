/**
 * The primary process for several workers on one port. It starts, replaces and stops them, and decides their limits.
 */
import cluster, { type Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { Logger } from '../contracts/runtime.js';
import { OperatorError } from '../errors.js';
import { MemoryLimiter } from '../limiter/memory-limiter.js';
import { grantAll } from '../limiter/worker-limiter.js';
import { mergePages } from '../observe/metric.js';
import { WORKER_VARIABLE } from './is-worker.js';
import type { Assignment, Listening, ToPrimary, ToWorker } from './worker-link.js';

/**
 * If a worker ends sooner than this, the delay before its replacement doubles, since that may fail for the same reason.
 */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** How long workers may take to close their stores at shutdown, after `server.drainMs`. */
const CLOSE_MS = 2000;
/** A scrape does not include workers that have not replied after this time. */
const SCRAPE_MS = 2000;

/** How a worker ended. */
interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
}

const isClean = ({ code, signal }: Ending): boolean => code === 0 || signal === 'SIGTERM' || signal === 'SIGINT';

/** Workers count as replicas: while Redis is unreachable, each worker applies its share of the limits. */
const asShare = (loaded: LoadedConfig, workers: number): LoadedConfig => {
  const { config } = loaded;
  const limits = { ...config.limits, replicas: config.limits.replicas * workers };
  return { ...loaded, config: { ...config, limits } };
};

const onPort = (assignment: Assignment, port: number): Assignment => {
  const { loaded } = assignment;
  const server = { ...loaded.config.server, port };
  return { ...assignment, loaded: { ...loaded, config: { ...loaded.config, server } } };
};

export class Workers {
  readonly #count: number;
  readonly #logger: Logger;
  readonly #limiter = new MemoryLimiter();
  /** The number of each running worker, counted from 1. A replacement gets the lowest free number. */
  readonly #running = new Map<Worker, number>();
  readonly #pages = new EventEmitter<{ page: [scrape: number, worker: number, page: string] }>();
  #scrape = 0;
  #assignment: Assignment;
  #port = 0;
  /** How many workers in a row have ended soon after they started. */
  #shortLived = 0;
  #started = false;
  #stopping = false;
  #failed = false;

  constructor(count: number, assignment: Assignment, logger: Logger) {
    if (!cluster.isPrimary) {
      throw new OperatorError('This process is already a worker of a process manager: set server.workers to 1.');
    }
    this.#count = count;
    this.#assignment = { ...assignment, loaded: asShare(assignment.loaded, count) };
    this.#logger = logger;
    // Workers accept connections themselves. If this process distributed them, a connection that all workers refuse
    // because of `server.maxConnections` would be passed from worker to worker for as long as it is open.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // A worker that exits resets O_NONBLOCK on a shared standard output, and then a full pipe would block this process.
    cluster.setupPrimary({ stdio: ['ignore', 2, 2, 'ipc'] });
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
    await Promise.all(Array.from({ length: this.#count - this.#running.size }, () => this.#fork()));
    return first;
  }

  /** Sends a new configuration to all workers. Workers that start later use it from the beginning. */
  reload(loaded: LoadedConfig): void {
    const shared = asShare(loaded, this.#count);
    this.#assignment = { ...this.#assignment, loaded: shared };
    for (const worker of this.#running.keys()) this.#send(worker, { kind: 'reload', loaded: shared });
  }

  /** Returns the metrics of all workers that reply in time, merged into one page. */
  async metrics(): Promise<string> {
    const scrape = ++this.#scrape;
    const pages = new Map<number, string>();
    const asked = [...this.#running.keys()];
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
    return mergePages(new Map([...pages].sort(([a], [b]) => a - b)));
  }

  #freeNumber(): number {
    const taken = new Set(this.#running.values());
    for (let number = 1; ; number++) if (!taken.has(number)) return number;
  }

  #kill(): void {
    for (const worker of this.#running.keys()) worker.process.kill('SIGKILL');
  }

  /**
   * Stops all workers. A worker is killed if it takes longer than the delay, `server.drainMs` and 2 seconds together.
   * @throws Error if a worker did not end cleanly
   */
  async stop(delayMs: number): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#running.keys()].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of this.#running.keys()) this.#send(worker, { kind: 'stop', delayMs });
    const { drainMs } = this.#assignment.loaded.config.server;
    const deadline = setTimeout(
      () => {
        const workerPids = [...this.#running.keys()].map((worker) => worker.process.pid);
        this.#logger.error({ workerPids }, 'workers did not end in time and are killed');
        this.#kill();
      },
      delayMs + drainMs + CLOSE_MS,
    );
    await Promise.all(ends);
    clearTimeout(deadline);
    if (this.#failed) throw new Error('A worker did not end cleanly.');
  }

  /** Starts a worker. Resolves when it is listening, or when it has ended. */
  #fork(): Promise<Listening | Ending> {
    // Port 0 in the configuration means that the first worker chooses a port. Later workers use the same port.
    if (this.#running.size === 0 && this.#port > 0) this.#assignment = onPort(this.#assignment, this.#port);
    const since = performance.now();
    const worker = cluster.fork({ [WORKER_VARIABLE]: String(this.#count) });
    const number = this.#freeNumber();
    this.#running.set(worker, number);
    const assignment = this.#assignment;
    return new Promise((resolve) => {
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'ask') {
          this.#send(worker, { kind: 'granted', grants: grantAll(this.#limiter, message.asks) });
        } else if (message.kind === 'usage') {
          const { call, caller } = message;
          void this.#limiter.usage(caller).then((days) => this.#send(worker, { kind: 'used', call, days }));
        } else if (message.kind === 'metrics') this.#pages.emit('page', message.scrape, number, message.page);
        else if (message.kind === 'listening') resolve(message.listening);
        else {
          this.#send(worker, { kind: 'start', assignment });
          if (this.#stopping) this.#send(worker, { kind: 'stop', delayMs: 0 });
        }
      });
      const ended = (ending: Ending, error?: Error) => {
        if (!this.#running.delete(worker)) return;
        resolve(ending);
        this.#onEnd(ending, performance.now() - since, { workerPid: worker.process.pid, ...ending, err: error });
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
        if (!this.#stopping) void this.#fork();
      }, pauseMs);
    }
  }

  /** Sends a message. This fails only if the worker has ended, which the `exit` event handles. */
  #send(worker: Worker, message: ToWorker): void {
    worker.send(message, () => undefined);
  }
}
