/**
 * The queue for requests whose responses are not cached. Callers take turns, so that the expensive requests of a caller
 * delay its own requests and not the requests of other callers.
 */
import { ApiError, errors } from '../errors.js';
import { longWork, type Pauses } from '../util/event-loop.js';

/** How many requests of one caller are computed at once: two, so that one can wait for a store while one computes. */
const RUNNING_PER_CALLER = 2;
/** How many are computed at once in all. This bounds the memory for unfinished responses. */
const RUNNING = 16;
/** The share of the waiting requests that may be of one caller. Further ones are rejected with 503. */
const SHARE_OF_CALLER = 0.5;

interface Waiting {
  start(): void;
  reject(error: ApiError): void;
}

interface CallerQueue {
  running: number;
  readonly waiting: Waiting[];
}

export class WorkQueue {
  /** How many requests were rejected. */
  rejected = 0;
  readonly #maxWaiting: number;
  /** Callers with running or waiting requests. The first one whose request can start is the next. */
  readonly #callers = new Map<string, CallerQueue>();
  #running = 0;
  #waiting = 0;

  /** @param maxWaiting how many requests of all callers may wait; default: any number */
  constructor(maxWaiting = Number.POSITIVE_INFINITY) {
    this.#maxWaiting = maxWaiting;
  }

  /** Requests that wait or are computed. */
  get size(): number {
    return this.#running + this.#waiting;
  }

  /**
   * Runs `work` when it is the caller's turn.
   * @param work awaits `pauses` between its pieces, so that cached responses are sent in between
   * @throws ApiError `service_unavailable` if too many requests wait
   */
  async run<Result>(caller: string, work: (pauses: Pauses) => Promise<Result>): Promise<Result> {
    const queue = this.#queueOf(caller);
    if (this.#canStart(queue)) this.#start(queue);
    else await this.#wait(queue);
    try {
      const pauses = longWork.join();
      await pauses.pause();
      return await work(pauses);
    } finally {
      this.#end(caller, queue);
    }
  }

  #queueOf(caller: string): CallerQueue {
    const known = this.#callers.get(caller);
    if (known) return known;
    const queue: CallerQueue = { running: 0, waiting: [] };
    this.#callers.set(caller, queue);
    return queue;
  }

  #canStart({ running }: CallerQueue): boolean {
    return running < RUNNING_PER_CALLER && this.#running < RUNNING;
  }

  #start(queue: CallerQueue): void {
    queue.running++;
    this.#running++;
  }

  #wait(queue: CallerQueue): Promise<void> {
    if (queue.waiting.length >= SHARE_OF_CALLER * this.#maxWaiting) throw this.#rejection();
    if (this.#waiting >= this.#maxWaiting) this.#makeRoom(queue);
    return new Promise<void>((resolve, reject) => {
      this.#waiting++;
      const start = () => {
        this.#waiting--;
        this.#start(queue);
        resolve();
      };
      queue.waiting.push({ start, reject });
    });
  }

  /** Rejects the newest request of the longest queue, which may be the one that is about to wait. */
  #makeRoom(own: CallerQueue): void {
    let longest = own;
    for (const queue of this.#callers.values()) if (queue.waiting.length > longest.waiting.length) longest = queue;
    const newest = longest === own ? undefined : longest.waiting.pop();
    if (!newest) throw this.#rejection();
    this.#waiting--;
    newest.reject(this.#rejection());
  }

  #rejection(): ApiError {
    this.rejected++;
    return new ApiError(errors.service_unavailable);
  }

  #end(caller: string, queue: CallerQueue): void {
    queue.running--;
    this.#running--;
    if (queue.running === 0 && queue.waiting.length === 0) this.#callers.delete(caller);
    for (const [name, next] of this.#callers) {
      if (next.waiting.length === 0 || !this.#canStart(next)) continue;
      // Moves the caller to the end of the map, after the other callers.
      this.#callers.delete(name);
      this.#callers.set(name, next);
      next.waiting.shift()!.start();
      return;
    }
  }
}
