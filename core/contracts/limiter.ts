/** The limiter contract: it decides, middleware owns status codes and headers. */
import type { Health } from './runtime.js';

/** The window's length. In no span of this many milliseconds does a subject pass more often than its limit. */
export const WINDOW_MS = 60_000;

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** How many more would pass now. */
  readonly remaining: number;
  /** Milliseconds until another slot becomes free: 0 when nothing is counted. */
  readonly resetMs: number;
}

/** A limiter that cannot decide (policy `closed` while its store is away) rejects with `LimiterUnavailable`. */
export interface Limiter {
  /**
   * Counts one request of a subject if it passes; a refused one is not counted.
   * @param subject `key:<id>` or `ip:<address or /64 prefix>`; never a key itself
   * @param limit requests per window
   */
  take(subject: string, limit: number): Decision | Promise<Decision>;
  health(): Health;
  close(): Promise<void>;
}
