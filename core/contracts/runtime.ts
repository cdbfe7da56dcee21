import type { Logger as PinoLogger } from 'pino';

export interface Logger extends Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'> {
  /**
   * Like `info`, but faster, for frequent messages. Optional.
   * @param members a JSON object without its braces, such as `"status":200,"ms":0.1`
   * @param message text without characters that must be escaped in JSON
   */
  infoJson?(members: string, message: string): void;
  /** Writes a preformatted line at level `info`, even if the log is in human-readable format. Optional. */
  infoLine?(line: string): void;
  /** Sets the minimum level of this logger and its child loggers. Optional. */
  setLevel?(level: string): void;
}

export interface Clock {
  /** Milliseconds since 1970, from the system clock, which can jump. */
  now(): number;
  /** Milliseconds since an arbitrary time, from a clock that never jumps. */
  monotonic(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: performance.now.bind(performance) };

/**
 * The health of part of the service. `message` is shown on `/status`, so it must not contain host names or error
 * messages from dependencies.
 */
export interface Health {
  readonly ok: boolean;
  readonly message: string | null;
}
