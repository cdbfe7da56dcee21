/**
 * Measures the event loop, and splits long work into short pieces so that other requests can run in between. Work for
 * requests takes turns. Background work pauses while the loop is busy.
 */
import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  atEndOfTurn(callback: () => void): void;
  /** CPU time in milliseconds: for this thread if Node can measure it, otherwise for the whole process. */
  worked(): number;
  /** Total idle time in milliseconds. */
  idle(): number;
}

/** Long work awaits `pause` between pieces. */
export interface Pauses {
  pause(): Promise<void>;
}

/** Waits only if work has run for `piecesMs` since the last wait. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

/** Runs concurrent tasks in rotation: one per turn of the loop, for `turnMs` each. All callers get equal shares. */
export class TurnQueue {
  readonly #turnMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** The most recently queued turn of each caller with waiting tasks. */
  readonly #lastOf = new Map<string, Promise<void>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /**
   * Adds a task. `pause` waits for the caller's next turn: before the task starts, and again whenever it has run for
   * `turnMs`.
   * @param caller default: this process
   */
  join(caller = 'local'): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#nextOf(caller)) };
  }

  /** A caller has at most one task in the shared queue at a time, however many tasks it has. */
  #nextOf(caller: string): Promise<void> {
    const turn = (this.#lastOf.get(caller) ?? Promise.resolve()).then(() => this.#next());
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

/** Shared by all requests whose responses take long to compute, because a process has one event loop. */
export const longWork = new TurnQueue(2);

/** Excludes V8's other threads if Node supports that. They compile and collect garbage long after a publication. */
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

/** The loop has spare time if it is idle for at least this share of a window. */
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

  /** @returns whether a window has just ended and the loop had spare time during it */
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
 * The pause while the loop is busy, so that background work and garbage collection use only a small part of each
 * second. It halves after HALVED_AFTER_MS, falls to a third after twice that time, and so on, so that long work still
 * finishes.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
/** The loop counts as idle if it was idle for more than this share of a pause. */
const IDLE_SHARE = 0.9;
/** How long work continues without pauses once the loop has been found to be idle. */
const UNDISTURBED_MS = 30;

/**
 * Paces background work, such as loading a new version of the data. The pieces are too short to delay requests, but the
 * garbage collection that they cause can take long enough to do so. Spreading the work over seconds limits how many
 * requests it affects.
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
   * Await this after every piece of work. Pieces should take less than a millisecond. Rejects if the signal is aborted.
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
