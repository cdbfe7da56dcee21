/**
 * The queue for requests whose responses are not cached. Callers take turns, so that a caller's expensive requests do
 * not delay requests from other callers.
 */
import type { Socket } from 'node:net';
import { ApiError, type ErrorKind, errors, StorageError } from '../errors.js';
import { longWork, type Pauses } from '../util/event-loop.js';

/**
 * How many requests from one caller are computed at the same time. With two, one of them can compute while the other
 * waits for a store.
 */
const RUNNING_PER_CALLER = 2;
/** How many requests are computed at the same time. This bounds the memory for unfinished responses. */
const RUNNING = 16;
/** The maximum share of the waiting requests that one caller may have. Further requests are rejected with 503. */
const SHARE_OF_CALLER = 0.5;

/** The outcome in the log and the metrics if the client closed the connection, as in nginx. No client receives it. */
const CLIENT_CLOSED: ErrorKind = {
  code: 'client_closed_request',
  status: 499,
  sentence: 'The client has closed the connection.',
  when: 'The client closes the connection while its request waits.',
};

interface Waiting {
  readonly connection: Socket | undefined;
  start(): void;
  reject(error: ApiError | StorageError): void;
}

interface CallerQueue {
  readonly caller: string;
  running: number;
  readonly waiting: Waiting[];
}

export class WorkQueue {
  /** The number of requests that are waiting or being computed. */
  size = 0;
  /** The number of requests that were rejected. */
  rejected = 0;
  readonly #maxWaiting: number;
  readonly #maxRunning: number;
  /** The callers that have running or waiting requests. The first caller that can start a request is next. */
  readonly #callers = new Map<string, CallerQueue>();
  /** The connections that have a listener. Each has only one, since clients can pipeline many requests. */
  readonly #watched = new WeakSet<Socket>();
  #running = 0;

  /**
   * @param maxWaiting the maximum number of waiting requests from all callers together; default: no maximum
   * @param maxRunning the maximum number of running requests from all callers together
   */
  constructor(maxWaiting = Number.POSITIVE_INFINITY, maxRunning = RUNNING) {
    this.#maxWaiting = maxWaiting;
    this.#maxRunning = maxRunning;
  }

  /**
   * Runs `work` as soon as it is the caller's turn.
   * @param work awaits `pauses` from time to time, so that cached responses can be sent in between
   * @param connection if it closes before the caller's turn, `work` does not run
   * @throws ApiError `service_unavailable` if too many requests are waiting
   * @throws StorageError `unavailable` if another request of the caller fails with this error before the caller's turn
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
      // The caller's other requests wait for the same storage. If they ran one after another, each would time out.
      if (error instanceof StorageError && error.code === 'unavailable') this.#remove(queue, [...queue.waiting], error);
      throw error;
    } finally {
      this.#end(queue);
    }
  }

  #queueOf(caller: string): CallerQueue {
    const known = this.#callers.get(caller);
    if (known) return known;
    const queue: CallerQueue = { caller, running: 0, waiting: [] };
    this.#callers.set(caller, queue);
    return queue;
  }

  #canStart({ running }: CallerQueue): boolean {
    return running < RUNNING_PER_CALLER && this.#running < this.#maxRunning;
  }

  #start(queue: CallerQueue): void {
    queue.running++;
    this.#running++;
  }

  #wait(queue: CallerQueue, connection: Socket | undefined): Promise<void> {
    if (queue.waiting.length >= SHARE_OF_CALLER * this.#maxWaiting) throw this.#rejection();
    if (this.size - this.#running >= this.#maxWaiting) this.#makeRoom(queue);
    if (connection) this.#watch(connection);
    return new Promise<void>((resolve, reject) => {
      this.size++;
      const start = () => {
        this.#start(queue);
        resolve();
      };
      queue.waiting.push({ connection, start, reject });
    });
  }

  /** Rejects the newest request of the longest queue. It may be the request that needs the room. */
  #makeRoom(own: CallerQueue): void {
    let longest = own;
    for (const queue of this.#callers.values()) if (queue.waiting.length > longest.waiting.length) longest = queue;
    const newest = longest === own ? undefined : longest.waiting.at(-1);
    if (newest) this.#remove(longest, [newest], this.#rejection());
    else {
      this.#forgetIdle(own);
      throw this.#rejection();
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
      waiting.reject(error);
    }
    this.#forgetIdle(queue);
  }

  #forgetIdle({ caller, running, waiting }: CallerQueue): void {
    if (running === 0 && waiting.length === 0) this.#callers.delete(caller);
  }

  #rejection(): ApiError {
    this.rejected++;
    return new ApiError(errors.service_unavailable);
  }

  #end(queue: CallerQueue): void {
    queue.running--;
    this.#running--;
    this.size--;
    this.#forgetIdle(queue);
    for (const [name, next] of this.#callers) {
      if (next.waiting.length === 0 || !this.#canStart(next)) continue;
      // Moves the caller to the end of the map, behind all other callers.
      this.#callers.delete(name);
      this.#callers.set(name, next);
      next.waiting.shift()!.start();
      return;
    }
  }
}

/** The maximum number of lists that are read or sent at the same time. */
const MOST_LISTS = 64;

/** The two queues of a service. */
export class WorkQueues {
  readonly responses: WorkQueue;
  /** Lists have their own queue, because sending a list takes as long as its client needs to read it. */
  readonly lists: WorkQueue;

  /** @param maxWaiting the maximum number of waiting requests in each queue; default: no maximum */
  constructor(maxWaiting?: number) {
    this.responses = new WorkQueue(maxWaiting);
    this.lists = new WorkQueue(maxWaiting, MOST_LISTS);
  }
}
