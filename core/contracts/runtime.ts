/** What every part of a running service may be given: a clock and a logger; and how it reports its health. */
import type { Logger as PinoLogger } from 'pino';

export interface Logger extends Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'> {
  /**
   * Like `info`, for lines so frequent that they must cost little. A logger may lack it.
   * @param members JSON text of an object, without its braces: `"status":200,"ms":0.1`
   * @param message text that JSON needs no escapes for
   */
  infoJson?(members: string, message: string): void;
  /** Sets the level from which lines are written, for child loggers too. A logger may lack it. */
  setLevel?(level: string): void;
}

export interface Clock {
  /** Milliseconds since 1970 by the system's clock, which may jump. */
  now(): number;
  /** Milliseconds since an arbitrary moment, which never jump. */
  monotonic(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: performance.now.bind(performance) };

/** How a part of the service is doing. `message` is fit for `/status`: no hosts, no foreign error texts. */
export interface Health {
  readonly ok: boolean;
  readonly message: string | null;
}
