/**
 * Measures the event loop, and splits long work into pieces so that short requests run between the pieces. Work for
 * requests takes turns. Background work pauses while the loop is busy.
 */
import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  /** Calls the function at the end of this turn of the loop. */
  atEndOfTurn(callback: () => void): void;
  /** CPU time in milliseconds: of this thread if Node can measure that, otherwise of the process. */
  worked(): number;
  /** Total idle time of the loop in milliseconds. */
  idle(): number;
}

/** Long work awaits `pause` between its pieces. */
export interface Pauses {
  pause(): Promise<void>;
}

/** Waits only if pieces have run for `piecesMs` since the last wait. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

/** Lets concurrent tasks run in turn, one per turn of the loop, for `turnMs` each. Callers have equal shares. */
export class TurnQueue {
  readonly #turnMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** The last turn of each caller whose tasks wait. */
  readonly #lastOf = new Map<string, Promise<void>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /**
   * Adds a task. Its `pause` waits for the caller's next turn: before the task starts, and then each time `turnMs` has
   * passed.
   * @param caller default: this process itself
   */
  join(caller = 'local'): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#nextOf(caller)) };
  }

  /** If a caller has many tasks, only one of them is in the queue at a time. */
  #nextOf(caller: string): Promise<void> {
    const turn = (this.#lastOf.get(caller) ?? Promise.resolve()).then(() => this.#next());
    this.#lastOf.set(caller, turn);
    return turn.then(() => {
      if (this.#lastOf.get(caller) === turn) this.#lastOf.delete(caller);
    });
  }

  /** First come, first served. */
  #next(): Promise<void> {
    const turn = this.#last.then(() => laterTurn());
    this.#last = turn;
    return turn;
  }
}

/** The turns for requests whose responses are being computed. */
export const longWork = new TurnQueue(2);

/** If Node can, this excludes V8's other threads, which compile and collect garbage long after a publication. */
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

/** The loop has spare time if it is idle for this share of a window. */
const SPARE_SHARE = 0.1;
const WINDOW_MS = 500;

/** Detects whether the loop has spare time, one window at a time. */
export class SpareTime {
  readonly #loop: EventLoop;
  #since: number;
  #idle: number;

  constructor(loop: EventLoop, now: number) {
    this.#loop = loop;
    this.#since = now;
    this.#idle = loop.idle();
  }

  /** @returns true if a window has ended that had spare time */
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

/** How long pieces run without a pause. */
const PIECES_MS = 0.1;
/**
 * The pause between pieces while the loop is busy, so that work and garbage collection use only a small part of any
 * second. After HALVED_AFTER_MS the pause is halved, then reduced to a third, and so on, so that long work also ends.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
/** The loop counts as idle if it was idle for this share of a pause. */
const IDLE_SHARE = 0.9;
/** If so, work continues for this time before the next measurement. */
const UNDISTURBED_MS = 30;

/**
 * Paces background work, such as loading a new version of the data. The pieces are too short to delay requests, but
 * garbage collection does delay them. Spread over seconds, it affects few requests.
 */
export class BackgroundPacing implements Pauses {
  readonly #loop: Pick<EventLoop, 'idle'>;
  readonly #begun = performance.now();
  readonly #pause = pauseAfter(PIECES_MS, (signal) => this.#wait(signal));
  #undisturbedUntil = 0;

  constructor(loop: Pick<EventLoop, 'idle'> = nodeEventLoop) {
    this.#loop = loop;
  }

  /** Await it after each piece of less than a millisecond. Rejects when the signal is aborted. */
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
