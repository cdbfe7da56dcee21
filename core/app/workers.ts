/** The primary process of several workers on one port: starts, replaces and ends them, and decides their limits. */

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

/** A worker that ends sooner lengthens the pause before the next one, which may fail in the same way. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A scrape omits a worker that has not replied in this time. */
const SCRAPE_MS = 2000;

/** How a worker ended. */
interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
}

const isClean = ({ code, signal }: Ending): boolean => code === 0 || signal === 'SIGTERM' || signal === 'SIGINT';

/** Workers are replicas too: while Redis is away each applies its share of the limits. */
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
  /** Each worker with its number: the least free one, from 1. */
  readonly #running = new Map<Worker, number>();
  readonly #pages = new EventEmitter<{ page: [scrape: number, worker: number, page: string] }>();
  #scrape = 0;
  #assignment: Assignment;
  #port = 0;
  /** How many workers in a row ended soon after their start. */
  #shortLived = 0;
  #started = false;
  #stopping = false;
  #failed = false;

  constructor(count: number, assignment: Assignment, logger: Logger) {
    if (!cluster.isPrimary) {
      throw new OperatorError('This process is itself a worker of a process manager: set server.workers to 1.');
    }
    this.#count = count;
    this.#assignment = { ...assignment, loaded: asShare(assignment.loaded, count) };
    this.#logger = logger;
    // Workers accept connections themselves. If this process handed them out in turn, a connection that every worker
    // refuses by `server.maxConnections` would be passed around for as long as it is open.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
  }

  /**
   * Starts one, and the others when it listens: so a fault of the configuration is told once, by the first.
   * @returns where they listen; undefined when the first one has told why it does not
   * @throws OperatorError if the first ended without telling why
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

  /** Sends all workers a configuration that was read again; later workers start with it. */
  reload(loaded: LoadedConfig): void {
    const shared = asShare(loaded, this.#count);
    this.#assignment = { ...this.#assignment, loaded: shared };
    for (const worker of this.#running.keys()) this.#tell(worker, { kind: 'reload', loaded: shared });
  }

  /** The metrics of all workers that reply in time, as one page. */
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
      for (const worker of asked) this.#tell(worker, { kind: 'measure', scrape });
    });
    return mergePages(new Map([...pages].sort(([a], [b]) => a - b)));
  }

  #freeNumber(): number {
    const taken = new Set(this.#running.values());
    for (let number = 1; ; number++) if (!taken.has(number)) return number;
  }

  /** Ends all workers; rejects if one of them did not end cleanly. */
  async stop(delayMs: number): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#running.keys()].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of this.#running.keys()) this.#tell(worker, { kind: 'stop', delayMs });
    await Promise.all(ends);
    if (this.#failed) throw new Error('A worker did not end cleanly.');
  }

  /** Resolves when the worker listens, or has ended. */
  #fork(): Promise<Listening | Ending> {
    // A port that the system chose is requested by its number only once no process uses it any more.
    if (this.#running.size === 0 && this.#port > 0) this.#assignment = onPort(this.#assignment, this.#port);
    const since = performance.now();
    const worker = cluster.fork({ [WORKER_VARIABLE]: '1' });
    const number = this.#freeNumber();
    this.#running.set(worker, number);
    const assignment = this.#assignment;
    return new Promise((resolve) => {
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'ask') {
          this.#tell(worker, { kind: 'granted', grants: grantAll(this.#limiter, message.asks) });
        } else if (message.kind === 'usage') {
          const { call, caller } = message;
          void this.#limiter.usage(caller).then((days) => this.#tell(worker, { kind: 'used', call, days }));
        } else if (message.kind === 'metrics') this.#pages.emit('page', message.scrape, number, message.page);
        else if (message.kind === 'listening') resolve(message.listening);
        else {
          this.#tell(worker, { kind: 'start', assignment });
          if (this.#stopping) this.#tell(worker, { kind: 'stop', delayMs: 0 });
        }
      });
      const ended = (ending: Ending, error?: Error) => {
        if (!this.#running.delete(worker)) return;
        resolve(ending);
        this.#onEnd(ending, performance.now() - since, { workerPid: worker.process.pid, ...ending, err: error });
      };
      worker.once('exit', (code: number | null, signal: string | null) => ended({ code, signal }));
      // A worker that the system could not start has no pid, and emits `error` but no `exit`.
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
      this.#logger.error({ ...details, pauseMs }, 'a worker ended, and another one takes its place');
      setTimeout(() => {
        if (!this.#stopping) void this.#fork();
      }, pauseMs);
    }
  }

  /** Sending fails only for a worker that has ended, whose `exit` is handled. */
  #tell(worker: Worker, message: ToWorker): void {
    worker.send(message, () => undefined);
  }
}
