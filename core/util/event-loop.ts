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

/** Resolves once all promise callbacks have run, before the event loop handles other events. */
const atEndOfCallbacks = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Divides time fairly among callers. In each turn of the event loop, tasks run for `turnMs` in total, one by one. */
export class TurnQueue {
  readonly #turnMs: number;
  #turnEnds = Number.NEGATIVE_INFINITY;
  #last: Promise<unknown> = Promise.resolve();
  /** The last queued task of each caller that has waiting tasks. */
  readonly #lastOf = new Map<string, Promise<void>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** Adds a task, which must await `pause` before it starts and after each step. */
  join(caller = 'local'): Pauses {
    let until = Number.NEGATIVE_INFINITY;
    return {
      pause: async () => {
        if (performance.now() < until) return;
        await this.#nextOf(caller);
        until = this.#turnEnds;
      },
    };
  }

  /** Queues at most one task per caller, so that a caller with many tasks does not get a larger share. */
  #nextOf(caller: string): Promise<void> {
    const previous = this.#lastOf.get(caller);
    const next = previous ? previous.then(() => this.#next()) : this.#next();
    this.#lastOf.set(caller, next);
    return next.then(() => {
      if (this.#lastOf.get(caller) === next) this.#lastOf.delete(caller);
    });
  }

  #next(): Promise<void> {
    const next = this.#last.then(() => this.#continueOrWait());
    this.#last = next;
    return next;
  }

  /** Short tasks share a turn, because a turn costs as much as reading a row. */
  async #continueOrWait(): Promise<void> {
    if (performance.now() < this.#turnEnds) await atEndOfCallbacks();
    if (performance.now() < this.#turnEnds) return;
    await laterTurn();
    this.#turnEnds = performance.now() + this.#turnMs;
  }
}

/** All requests with long computations share this queue, because a process has only one event loop. */
export const longWork = new TurnQueue(2);

/** Measures only this thread, because V8's other threads compile code and collect garbage long after a publication. */
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
 * How long background work pauses while the event loop is busy. So that long work finishes eventually, the pause is
 * halved after HALVED_AFTER_MS, reduced to a third after twice that time, and so on.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
const IDLE_SHARE = 0.9;
/** How long work continues without pauses once the event loop is idle. */
const UNDISTURBED_MS = 30;

/**
 * Spreads background work, such as loading a new version of the data, over several seconds. Each step is too short to
 * delay requests, but the resulting garbage collection is not.
 */
export class BackgroundPacing implements Pauses {
  readonly #loop: Pick<EventLoop, 'idle'>;
  readonly #begun = performance.now();
  #until = Number.NEGATIVE_INFINITY;
  #undisturbedUntil = 0;

  constructor(loop: Pick<EventLoop, 'idle'> = nodeEventLoop) {
    this.#loop = loop;
  }

  /** Must be awaited at least once per millisecond of work. Rejects if the signal is aborted. */
  async pause(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (performance.now() < this.#until) return;
    await this.#wait(signal);
    this.#until = performance.now() + PIECES_MS;
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
