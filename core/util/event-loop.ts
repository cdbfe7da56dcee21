import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  atEndOfTurn(callback: () => void): void;
  /** CPU time in milliseconds: of this thread if Node can measure it, otherwise of the whole process. */
  worked(): number;
  /** Total idle time in milliseconds. */
  idle(): number;
}

/** A long computation awaits `pause` after each piece. */
export interface Pauses {
  pause(): Promise<void>;
}

/** Waits only if the work has run for `piecesMs` without a pause. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

/** Each turn of the event loop runs one task for `turnMs`, and all callers get an equal share. */
export class TurnQueue {
  readonly #turnMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** The last turn in the queue of each caller with waiting tasks. */
  readonly #lastOf = new Map<string, Promise<void>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** The task awaits `pause` before it starts and after each piece. */
  join(caller = 'local'): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#nextOf(caller)) };
  }

  /** Each caller has at most one turn in the queue, so a caller with many tasks does not get a larger share. */
  #nextOf(caller: string): Promise<void> {
    const previous = this.#lastOf.get(caller);
    const turn = previous ? previous.then(() => this.#next()) : this.#next();
    this.#lastOf.set(caller, turn);
    return turn.then(() => {
      if (this.#lastOf.get(caller) === turn) this.#lastOf.delete(caller);
    });
  }

  #next(): Promise<void> {
    const turn = this.#last.then(() => laterTurn());
    this.#last = turn;
    return turn;
  }
}

/** All requests with long computations share this queue, because a process has only one event loop. */
export const longWork = new TurnQueue(2);

/** V8's other threads compile and collect garbage long after a publication, so only this thread is measured. */
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
 * While the event loop is busy, background work pauses for this long. To let long work finish, the pause halves after
 * HALVED_AFTER_MS, falls to a third after twice that time, and so on.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
const IDLE_SHARE = 0.9;
/** After the event loop was found idle, work continues without pauses for this long. */
const UNDISTURBED_MS = 30;

/**
 * Spreads background work, such as loading a new version of the data, over several seconds. Each piece is too short to
 * delay requests, but the garbage collection that it causes is not.
 */
export class BackgroundPacing implements Pauses {
  readonly #loop: Pick<EventLoop, 'idle'>;
  readonly #begun = performance.now();
  readonly #pause = pauseAfter(PIECES_MS, (signal) => this.#wait(signal));
  #undisturbedUntil = 0;

  constructor(loop: Pick<EventLoop, 'idle'> = nodeEventLoop) {
    this.#loop = loop;
  }

  /** Must be awaited after every piece of less than a millisecond. Rejects if the signal is aborted. */
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
