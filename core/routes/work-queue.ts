/** A queue in which callers take turns, so that expensive requests of one caller do not delay other callers. */
import type { Socket } from 'node:net';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, type ErrorKind, errors, StorageError } from '../errors.js';
import type { ApiContext } from '../pipeline/api-koa.js';
import { longWork, type Pauses } from '../util/event-loop.js';

/** With two running requests per caller, one can compute while the other waits for a store. */
const RUNNING_PER_CALLER = 2;
const RUNNING = 16;
/** A caller can fill at most this share of a queue. Any further requests are rejected with a 503. */
const SHARE_OF_CALLER = 0.5;

/**
 * The client has closed the connection and receives no response. The status 499 is only for logs and metrics, as in
 * nginx.
 */
const CLIENT_CLOSED: ErrorKind = {
  code: 'client_closed_request',
  status: 499,
  sentence: 'The client has closed the connection.',
  when: 'The client closes the connection while its request is waiting.',
};

interface Waiting {
  readonly connection: Socket | undefined;
  start(): void;
  reject(error: ApiError | StorageError): void;
}

interface CallerQueue {
  readonly caller: string;
  running: number;
  outOfTurn: number;
  readonly waiting: Waiting[];
}

export class WorkQueue {
  /** The number of running and waiting requests. */
  size = 0;
  rejected = 0;
  readonly #maxWaiting: number;
  readonly #maxRunning: number;
  /** Callers with running or waiting requests. The next turn goes to the first caller that can start a request. */
  readonly #callers = new Map<string, CallerQueue>();
  /** Connections that have a listener. Pipelined requests on one connection share the listener. */
  readonly #watched = new WeakSet<Socket>();
  #running = 0;
  #waiting = 0;

  constructor(maxWaiting = Number.POSITIVE_INFINITY, maxRunning = RUNNING) {
    this.#maxWaiting = maxWaiting;
    this.#maxRunning = maxRunning;
  }

  /**
   * @param work must await `pauses` from time to time, so that cached responses can be sent in between
   * @param connection if it closes before the caller's turn, `work` does not run
   * @throws StorageError `unavailable` if another request of the caller fails with this error before this request
   *   starts
   */
  async run<Result>(caller: string, work: (pauses: Pauses) => Promise<Result>, connection?: Socket): Promise<Result> {
    if (connection?.destroyed) throw new ApiError(CLIENT_CLOSED);
    const queue = this.#queueOf(caller);
    if (this.#canStart(queue)) {
      this.size++;
      this.#start(queue);
    } else await this.#wait(queue, connection);
    try {
      const pauses = longWork.join(caller);
      await pauses.pause();
      return await work(pauses);
    } catch (error) {
      // While the store is unavailable, the caller's waiting requests would time out one after another. Instead, all of
      // them fail immediately.
      if (error instanceof StorageError && error.code === 'unavailable') this.#remove(queue, [...queue.waiting], error);
      throw error;
    } finally {
      this.#end(queue);
    }
  }

  /**
   * Counts a request as waiting until an earlier response on its connection has been sent. The request gets no turn in
   * the meantime.
   */
  async waitOutOfTurn(caller: string, wait: () => Promise<void>): Promise<void> {
    const queue = this.#queueOf(caller);
    if (this.#hasFullShare(queue)) throw this.rejection();
    queue.outOfTurn++;
    this.size++;
    try {
      await wait();
    } finally {
      queue.outOfTurn--;
      this.size--;
      this.#forgetIdle(queue);
    }
  }

  #queueOf(caller: string): CallerQueue {
    const known = this.#callers.get(caller);
    if (known) return known;
    const queue: CallerQueue = { caller, running: 0, outOfTurn: 0, waiting: [] };
    this.#callers.set(caller, queue);
    return queue;
  }

  #canStart({ running }: CallerQueue): boolean {
    return running < RUNNING_PER_CALLER && this.#running < this.#maxRunning;
  }

  #hasFullShare({ waiting, outOfTurn }: CallerQueue): boolean {
    return waiting.length + outOfTurn >= SHARE_OF_CALLER * this.#maxWaiting;
  }

  #start(queue: CallerQueue): void {
    queue.running++;
    this.#running++;
  }

  #wait(queue: CallerQueue, connection: Socket | undefined): Promise<void> {
    if (this.#hasFullShare(queue)) throw this.rejection();
    if (this.#waiting >= this.#maxWaiting) this.#makeRoom(queue);
    if (connection) this.#watch(connection);
    return new Promise<void>((resolve, reject) => {
      this.size++;
      this.#waiting++;
      const start = () => {
        this.#waiting--;
        this.#start(queue);
        resolve();
      };
      queue.waiting.push({ connection, start, reject });
    });
  }

  /** If the queue is full, rejects the newest request in the longest queue, which can be the new request. */
  #makeRoom(own: CallerQueue): void {
    let longest = own;
    for (const queue of this.#callers.values()) if (queue.waiting.length > longest.waiting.length) longest = queue;
    const newest = longest === own ? undefined : longest.waiting.at(-1);
    if (newest) this.#remove(longest, [newest], this.rejection());
    else {
      this.#forgetIdle(own);
      throw this.rejection();
    }
  }

  #watch(connection: Socket): void {
    if (this.#watched.has(connection)) return;
    this.#watched.add(connection);
    connection.once('close', () => {
      for (const queue of this.#callers.values()) {
        const left = queue.waiting.filter((waiting) => waiting.connection === connection);
        this.#remove(queue, left, new ApiError(CLIENT_CLOSED));
      }
    });
  }

  #remove(queue: CallerQueue, removed: readonly Waiting[], error: ApiError | StorageError): void {
    for (const waiting of removed) {
      queue.waiting.splice(queue.waiting.lastIndexOf(waiting), 1);
      this.size--;
      this.#waiting--;
      waiting.reject(error);
    }
    this.#forgetIdle(queue);
  }

  #forgetIdle({ caller, running, outOfTurn, waiting }: CallerQueue): void {
    if (running === 0 && outOfTurn === 0 && waiting.length === 0) this.#callers.delete(caller);
  }

  rejection(): ApiError {
    this.rejected++;
    return new ApiError(errors.service_unavailable);
  }

  #end(queue: CallerQueue): void {
    queue.running--;
    this.#running--;
    this.size--;
    this.#forgetIdle(queue);
    if (this.#waiting === 0) return;
    for (const [name, next] of this.#callers) {
      if (next.waiting.length === 0 || !this.#canStart(next)) continue;
      // Moves the caller behind all other callers.
      this.#callers.delete(name);
      this.#callers.set(name, next);
      next.waiting.shift()!.start();
      return;
    }
  }
}

/** The caller of requests from this process without a caller. */
export const LOCAL = 'local';

const MOST_LISTS = 64;
/** Handlers have this long to end after their client has closed the connection. */
const ABANDONED_MS = 30_000;

interface WorkQueuesOptions {
  readonly maxWaiting?: number | undefined;
  readonly abandonedMs?: number;
  readonly logger: Pick<Logger, 'warn'>;
}

export class WorkQueues {
  /** The number of requests in flight that are in a queue, or whose client has closed the connection. */
  queuedOrAbandoned = 0;
  readonly responses: WorkQueue;
  /** Lists have a separate queue, because a slow client can make sending a list take a long time. */
  readonly lists: WorkQueue;

  readonly #abandonedMs: number;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #mostOfCaller: number;
  /** The number of running handlers of each caller, for mounts and service routes. */
  readonly #handling = new Map<string, number>();
  /** Endpoints whose handlers have been reported. */
  readonly #reported = new Set<string>();

  constructor({ maxWaiting = Number.POSITIVE_INFINITY, abandonedMs = ABANDONED_MS, logger }: WorkQueuesOptions) {
    this.#abandonedMs = abandonedMs;
    this.#logger = logger;
    this.#mostOfCaller = SHARE_OF_CALLER * maxWaiting;
    this.responses = new WorkQueue(maxWaiting);
    this.lists = new WorkQueue(maxWaiting, MOST_LISTS);
  }

  /**
   * Runs the handler of a mount or service route. Handlers can take any time, so a caller can run only a limited number
   * of them. If the connection closes before the handler ends, the request no longer counts as in flight. After another
   * 30 seconds, the handler no longer counts for the caller either. Otherwise, handlers that never end would lock the
   * caller out. The caller can then start at most that limited number of further handlers per 30 seconds.
   */
  async handle<Result>(
    { req: { socket }, requestState: { isAdmitted, caller, match } }: ApiContext,
    run: () => Result | Promise<Result>,
  ): Promise<Result> {
    if (!isAdmitted) return run();
    const leave = this.#enter(caller?.id ?? LOCAL);
    let timer: NodeJS.Timeout | undefined;
    const onClose = () => {
      this.queuedOrAbandoned++;
      timer = setTimeout(() => {
        leave();
        this.#report(match?.endpoint?.pattern);
      }, this.#abandonedMs).unref();
    };
    if (socket.destroyed) onClose();
    // Each pipelined request adds a listener to the connection. By default, Node warns if there are more than 10.
    else socket.setMaxListeners(0).once('close', onClose);
    try {
      return await run();
    } finally {
      socket.off('close', onClose);
      clearTimeout(timer);
      if (timer) this.queuedOrAbandoned--;
      leave();
    }
  }

  /** @returns a function that removes the handler from the count. Further calls have no effect. */
  #enter(caller: string): () => void {
    const running = this.#handling.get(caller) ?? 0;
    if (running >= this.#mostOfCaller) throw this.responses.rejection();
    this.#handling.set(caller, running + 1);
    let isRunning = true;
    return () => {
      if (!isRunning) return;
      isRunning = false;
      const left = this.#handling.get(caller)! - 1;
      if (left === 0) this.#handling.delete(caller);
      else this.#handling.set(caller, left);
    };
  }

  #report(endpoint = ''): void {
    if (this.#reported.has(endpoint)) return;
    this.#reported.add(endpoint);
    const seconds = this.#abandonedMs / 1000;
    this.#logger.warn({ endpoint }, `a handler still runs ${seconds} s after its client closed the connection`);
  }
}
