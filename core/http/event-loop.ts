/** What Node tells of its event loop: when a turn ends, what was worked, and what time there was to spare. */

export interface EventLoop {
  /** Calls back when the running turn ends. */
  atEndOfTurn(callback: () => void): void;
  /** Milliseconds of processor time that the process has used. */
  worked(): number;
  /** Milliseconds in which the loop has had nothing to do. */
  idle(): number;
}

export const nodeEventLoop: EventLoop = {
  atEndOfTurn: setImmediate,
  worked: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  idle: () => performance.nodeTiming.idleTime,
};

/** A loop that is idle for this share of a window at least has time to spare. */
const SPARE_SHARE = 0.1;
const WINDOW_MS = 500;

/** Watches, from one turn to the next, for time to spare. */
export class SpareTime {
  readonly #loop: EventLoop;
  #windowSince: number;
  #idleBefore: number;
  #idle: number;
  #hungry = false;

  constructor(loop: EventLoop, now: number) {
    this.#loop = loop;
    this.#windowSince = now;
    this.#idle = loop.idle();
    this.#idleBefore = this.#idle;
  }

  /** Whether the loop had nothing to do just before the turn that was looked at last. */
  get hungry(): boolean {
    return this.#hungry;
  }

  /** To be asked as a turn begins. @returns whether a window has passed in which there was time to spare */
  look(now: number): boolean {
    const idle = this.#loop.idle();
    this.#hungry = idle > this.#idle;
    this.#idle = idle;
    const passed = now - this.#windowSince;
    if (passed < WINDOW_MS) return false;
    const spare = idle - this.#idleBefore > SPARE_SHARE * passed;
    this.#windowSince = now;
    this.#idleBefore = idle;
    return spare;
  }
}
