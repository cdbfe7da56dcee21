import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  atEndOfTurn(callback: () => void): void;
  /** CPU time in milliseconds, of this thread if Node supports that, otherwise of the whole process. */
  worked(): number;
  /** Total idle time in milliseconds. */
  idle(): number;
}

/** Passed to long computations, which must await `pause` after each step. */
export interface Pauses {
  pause(): Promise<void>;
}

/** Returns a function that waits only if `piecesMs` milliseconds have passed since the last pause. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

const afterCallbacks = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/**
 * Divides time fairly among callers. A task runs for up to `turnMs`. Only short tasks share a turn of the event loop.
 */
export class TurnQueue {
  readonly #turnMs: number;
  readonly #sharedMs: number;
  #sharedUntil = Number.NEGATIVE_INFINITY;
  #last: Promise<unknown> = Promise.resolve();
  readonly #lastOf = new Map<string, Promise<void>>();

  /**
   * @param sharedMs Several tasks share a turn of the event loop until this time has passed. Without sharing, each task
   *   would wait for a turn of its own, which costs almost as much as reading a row.
   */
  constructor(turnMs: number, sharedMs = turnMs / 8) {
    this.#turnMs = turnMs;
    this.#sharedMs = sharedMs;
  }

  /** Adds a task, which must await `pause` before it starts and after each step. */
  join(caller = 'local'): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#nextOf(caller)) };
  }

  /** Queues at most one turn per caller, so that a caller with many tasks does not get a larger share. */
  #nextOf(caller: string): Promise<void> {
    const previous = this.#lastOf.get(caller);
    const turn = previous ? previous.then(() => this.#next()) : this.#next();
    this.#lastOf.set(caller, turn);
    return turn.then(() => {
      if (this.#lastOf.get(caller) === turn) this.#lastOf.delete(caller);
    });
  }

  #next(): Promise<void> {
    const turn = this.#last.then(() => this.#sharedOrLaterTurn());
    this.#last = turn;
    return turn;
  }

  async #sharedOrLaterTurn(): Promise<void> {
    if (performance.now() < this.#sharedUntil) await afterCallbacks();
    if (performance.now() < this.#sharedUntil) return;
    await laterTurn();
    this.#sharedUntil = performance.now() + this.#sharedMs;
  }
}

/**
 * All requests with long computations share this queue, because a process has only one event loop. Turns of 2 ms would
 * triple the latency of other requests.
 */
export const longWork = new TurnQueue(0.5, 0.25);

/**
 * Measures the CPU time of only this thread if Node supports it. After a publication, V8's other threads compile code
 * and collect garbage for a long time.
 */
const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage };
const cpuUsage = threadCpuUsage?.bind(process) ?? (() => process.cpuUsage());

export const nodeEventLoop: EventLoop = {
  atEndOfTurn: setImmediate,
  worked: () => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  },
  idle: () => performance.nodeTiming.idleTime,
};

const SPARE_SHARE = 0.1;
const WINDOW_MS = 500;

export class SpareTime {
  readonly #loop: EventLoop;
  #since: number;
  #idle: number;

  constructor(loop: EventLoop, now: number) {
    this.#loop = loop;
    this.#since = now;
    this.#idle = loop.idle();
  }

  /** @returns true if a window has just ended and the loop was idle for at least SPARE_SHARE of it */
  poll(now: number): boolean {
    const passed = now - this.#since;
    if (passed < WINDOW_MS) return false;
    const idle = this.#loop.idle();
    const spare = idle - this.#idle > SPARE_SHARE * passed;
    this.#since = now;
    this.#idle = idle;
    return spare;
  }
}

const PIECES_MS = 0.1;
/**
 * The length of the first pause of background work while the event loop is busy. Later pauses are shorter, so that long
 * work finishes. After HALVED_AFTER_MS, a pause is half as long.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
const IDLE_SHARE = 0.9;
/** Milliseconds of work between pauses while the event loop is otherwise idle. */
const UNDISTURBED_MS = 10;

/**
 * Spreads background work, such as loading a new version of the data, over several seconds. Otherwise, garbage
 * collection would delay requests, although each step of the work is short.
 */
export class BackgroundPacing implements Pauses {
  readonly #loop: Pick<EventLoop, 'idle'>;
  readonly #begun = performance.now();
  readonly #pause = pauseAfter(PIECES_MS, (signal) => this.#wait(signal));
  #undisturbedUntil = 0;

  constructor(loop: Pick<EventLoop, 'idle'> = nodeEventLoop) {
    this.#loop = loop;
  }

  /**
   * Pauses background work. Must be awaited at least once per millisecond of work. Rejects if the signal is aborted.
   */
  pause(signal?: AbortSignal): Promise<void> {
    return this.#pause(signal);
  }

  async #wait(signal?: AbortSignal): Promise<void> {
    const since = performance.now();
    if (since < this.#undisturbedUntil) {
      await laterTurn(undefined, { signal });
      return;
    }
    const idle = this.#loop.idle();
    await delay(PAUSE_MS / (1 + (since - this.#begun) / HALVED_AFTER_MS), undefined, { signal });
    const now = performance.now();
    if (this.#loop.idle() - idle > IDLE_SHARE * (now - since)) this.#undisturbedUntil = now + UNDISTURBED_MS;
  }
}
