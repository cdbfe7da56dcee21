/** The clock, the logger and the health type that every part of a service uses. */
import type { Logger as PinoLogger } from 'pino';

export interface Logger extends Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'> {
  /**
   * Like `info`, but faster, for messages that are logged often. Optional.
   * @param members the text of a JSON object without its braces: `"status":200,"ms":0.1`
   * @param message text that contains no characters that JSON must escape
   */
  infoJson?(members: string, message: string): void;
  /** Writes a line at the level `info` in its own format, even if the log is human-readable. Optional. */
  infoLine?(line: string): void;
  /** Sets the lowest level that is logged, also for child loggers. Optional. */
  setLevel?(level: string): void;
}

export interface Clock {
  /** Milliseconds since 1970, from the system clock, which may jump. */
  now(): number;
  /** Milliseconds since an arbitrary point in time. This clock never jumps. */
  monotonic(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: performance.now.bind(performance) };

/**
 * The health of a part of the service. `message` is shown on `/status`, so it must contain no host names and no error
 * messages of dependencies.
 */
export interface Health {
  readonly ok: boolean;
  readonly message: string | null;
}
