/**
 * What Node tells of its event loop: when a turn ends, what was worked, and what time there was to spare. And how long
 * work goes on piece by piece, so that short work gets between: in a queue, where somebody waits for it, else at a pace
 * that leaves the loop to others while they are busy.
 */
import { setTimeout as delay, setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  /** Calls back when the running turn ends. */
  atEndOfTurn(callback: () => void): void;
  /** Milliseconds of processor time that have been used: by this thread, where Node can tell, else by the process. */
  worked(): number;
  /** Milliseconds in which the loop has had nothing to do. */
  idle(): number;
  /** For how many milliseconds the next one in the queue of long work has waited; 0 where there is none. */
  queued(): number;
}

/** What work that goes on piece by piece awaits in between. */
export interface Pauses {
  pause(): Promise<void>;
}

/** A `pause` that waits only when pieces have taken so long together since it waited last. */
const pauseAfter = (piecesMs: number, wait: (signal?: AbortSignal) => Promise<void>) => {
  let until = Number.NEGATIVE_INFINITY;
  return async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (performance.now() < until) return;
    await wait(signal);
    until = performance.now() + piecesMs;
  };
};

/** Where those who do the like of something at the same time get some milliseconds of a turn of the loop each, in turn. */
export class TurnQueue {
  readonly #turnMs: number;
  /** Since when each has waited. */
  readonly #waiting: number[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** For one of them: its `pause` waits for a turn that nobody else has got here, before the first piece and when one is over. */
  join(): Pauses {
    return { pause: pauseAfter(this.#turnMs, () => this.#next()) };
  }

  /** For how many milliseconds the next one has waited; 0 where there is none. */
  waitedMs(): number {
    return this.#waiting.length === 0 ? 0 : performance.now() - this.#waiting[0]!;
  }

  /** One after another, in the order in which they asked. */
  async #next(): Promise<void> {
    this.#waiting.push(performance.now());
    const mine = this.#last.then(() => laterTurn());
    this.#last = mine;
    await mine;
    this.#waiting.shift();
  }
}

/** Of work that takes many milliseconds and that somebody waits for. Where it waits for long, there is too much of it. */
export const longWork = new TurnQueue(2);

/** Node 23.9 and later: without what V8 compiles and collects on other threads, after a publication above all. */
const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage };
const cpuUsage = threadCpuUsage?.bind(process) ?? (() => process.cpuUsage());

export const nodeEventLoop: EventLoop = {
  atEndOfTurn: setImmediate,
  worked: () => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  },
  idle: () => performance.nodeTiming.idleTime,
  queued: () => longWork.waitedMs(),
};

/** A loop that is idle for this share of a window at least has time to spare. */
const SPARE_SHARE = 0.1;
const WINDOW_MS = 500;

/** Looks for time to spare, from one window to the next. */
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
  look(now: number): boolean {
    const passed = now - this.#since;
    if (passed < WINDOW_MS) return false;
    const idle = this.#loop.idle();
    const spare = idle - this.#idle > SPARE_SHARE * passed;
    this.#since = now;
    this.#idle = idle;
    return spare;
  }
}

/** Pieces go on without a pause until they have taken so long together. */
const PIECES_MS = 0.1;
/**
 * Between pieces, while others are busy: at first. After so long it is half of that, then a third, and so on: much work
 * comes to its end, too. So long that all of it is a small part of any second, and with it what V8 compiles and collects
 * for it, which is longer than any piece.
 */
const PAUSE_MS = 10;
const HALVED_AFTER_MS = 10_000;
/** A loop that is idle for this share of a pause has nobody to wait for. */
const IDLE_SHARE = 0.9;
/** For how long work then goes on without looking again. */
const UNDISTURBED_MS = 30;

/**
 * The pace of work that nobody waits for, such as taking over a new version of the data. Its pieces do not hold up
 * requests, but its garbage is collected in steps that do: few of them are there to notice when it takes seconds.
 */
export class Pace implements Pauses {
  readonly #loop: Pick<EventLoop, 'idle'>;
  readonly #begun = performance.now();
  readonly #pause = pauseAfter(PIECES_MS, (signal) => this.#wait(signal));
  #undisturbedUntil = 0;

  constructor(loop: Pick<EventLoop, 'idle'> = nodeEventLoop) {
    this.#loop = loop;
  }

  /** To be awaited after each piece of less than a millisecond. Rejects when the signal is aborted. */
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
