/** A clock, a logger and the health of a part, used by every part of a service. */
import type { Logger as PinoLogger } from 'pino';

export interface Logger extends Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'> {
  /**
   * Like `info`, but faster, for frequent lines. Optional.
   * @param members the text of a JSON object without its braces: `"status":200,"ms":0.1`
   * @param message text without characters that JSON escapes
   */
  infoJson?(members: string, message: string): void;
  /** Sets the lowest level to log, for child loggers too. Optional. */
  setLevel?(level: string): void;
}

export interface Clock {
  /** Milliseconds since 1970 by the system clock, which may jump. */
  now(): number;
  /** Milliseconds since an arbitrary time. Never jumps. */
  monotonic(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: performance.now.bind(performance) };

/**
 * The health of a part of the service. `message` is shown on `/status`, so it has no host names and no error messages
 * of dependencies.
 */
export interface Health {
  readonly ok: boolean;
  readonly message: string | null;
}
