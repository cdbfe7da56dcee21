/**
 * Measures Node's event loop, and spreads long work over its turns so that short work gets between: in a queue if a
 * request waits for it, otherwise with pauses while the loop is busy.
 */
import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  /** Calls back when the running turn ends. */
  atEndOfTurn(callback: () => void): void;
  /** CPU time in milliseconds: of this thread if Node measures it, otherwise of the process. */
  worked(): number;
  /** Milliseconds for which the loop has been idle. */
  idle(): number;
}

/** What long work awaits between its pieces. */
export interface Pauses {
  pause(): Promise<void>;
}

/** A `pause` that waits only if pieces have run for `piecesMs` since the last wait. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

/** A queue that gives concurrent long tasks some milliseconds of a turn of the loop each, in turn. */
export class TurnQueue {
  readonly #turnMs: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /**
   * For one task: its `pause` waits for a turn of its own, before the first piece and when its time in a turn is over.
   */
  join(): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#next()) };
  }

  /** Gives turns in the order in which they were asked for. */
  #next(): Promise<void> {
    const turn = this.#last.then(() => laterTurn());
    this.#last = turn;
    return turn;
  }
}

/** The turns of requests whose responses are computed. */
export const longWork = new TurnQueue(2);

/** Node 23.9 and later can leave out V8's other threads, which compile and collect much after a publication. */
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

/** A loop that is idle for at least this share of a window has time to spare. */
const SPARE_SHARE = 0.1;
const WINDOW_MS = 500;

/** Finds out whether the loop has time to spare, one window after the other. */
export class SpareTime {
  readonly #loop: EventLoop;
  #since: number;
  #idle: number;

  constructor(loop: EventLoop, now: number) {
    this.#loop = loop;
    this.#since = now;
    this.#idle = loop.idle();
  }

  /** @returns whether a window has passed in which there was time to spare */
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
 * The pause between pieces while the loop is busy. It is half as long after HALVED_AFTER_MS, then a third, and so on,
 * so that much work ends, too. With it, the work and V8's compiling and collecting for it are a small part of any
 * second.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
/** A loop that is idle for this share of a pause counts as undisturbed. */
const IDLE_SHARE = 0.9;
/** How long work then continues before measuring again. */
const UNDISTURBED_MS = 30;

/**
 * Background pacing, for work that no request waits for, such as loading a new version of the data. Its pieces do not
 * delay requests, but collecting its garbage does: spread over seconds, few requests notice.
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
