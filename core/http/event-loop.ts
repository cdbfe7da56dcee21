/**
 * What Node tells of its event loop: when a turn ends, what was worked, and what time there was to spare. And a queue of
 * those who have long work, which goes on piece by piece, so that short work gets between.
 */
import { setImmediate as laterTurn } from 'node:timers/promises';

export interface EventLoop {
  /** Calls back when the running turn ends. */
  atEndOfTurn(callback: () => void): void;
  /** Milliseconds of processor time that have been used: by this thread, where Node can tell, else by the process. */
  worked(): number;
  /** Milliseconds in which the loop has had nothing to do. */
  idle(): number;
  /** For how many milliseconds the next one in the queue of `nextTurn` has waited; 0 where there is none. */
  queued(): number;
}

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
  queued: () => (waiting.length === 0 ? 0 : performance.now() - waiting[0]!),
};

/** Since when each in the queue has waited. */
const waiting: number[] = [];
let last: Promise<unknown> = Promise.resolve();

/** Resolves in a turn of the loop which nobody else has got here: one after another, in the order in which they asked. */
export const nextTurn = async (): Promise<void> => {
  waiting.push(performance.now());
  const mine = last.then(() => laterTurn());
  last = mine;
  await mine;
  waiting.shift();
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
