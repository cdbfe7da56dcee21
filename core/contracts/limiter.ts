/** The limiter contract: it decides, middleware owns status codes and headers. */
import type { Health } from './runtime.js';

/** The window's length. In no span of this many milliseconds does a subject pass more often than its limit. */
export const WINDOW_MS = 60_000;

/** How many requests a caller has in a UTC day and a UTC month, beside its limit; null: any number. */
export interface Quotas {
  readonly perDay: number | null;
  readonly perMonth: number | null;
}

/** One of a caller's quotas, and what is left of it. */
export interface QuotaState {
  readonly name: 'day' | 'month';
  readonly quota: number;
  readonly remaining: number;
  /** Milliseconds until the day or month ends, and how long all of it is. */
  readonly resetMs: number;
  readonly lengthMs: number;
}

/** What a caller has sent on a UTC day. */
export interface DayUsage {
  /** `2026-11-23` */
  readonly date: string;
  /** Those that passed, whatever their status. */
  readonly requests: number;
  /** Those refused by the limit or a quota, which neither of them counts. */
  readonly refused: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** How many more requests would pass now. */
  readonly remaining: number;
  /** Milliseconds until another slot becomes free: 0 when nothing is counted. */
  readonly resetMs: number;
  /** The caller's quotas; absent where it has none. */
  readonly quotas?: readonly QuotaState[];
}

/** A limiter that cannot decide (policy `closed` while its store is away) rejects with `LimiterUnavailable`. */
export interface Limiter {
  /**
   * Counts one request of a subject if it passes; a refused one is not counted.
   * @param subject `key:<id>` or `ip:<address or /64 prefix>`, followed by `/usage` for what a caller asks of its own usage;
   *   never a key itself
   * @param limit requests per window
   * @param quotas given: its usage is counted too, and past a quota it is refused
   */
  take(subject: string, limit: number, quotas?: Quotas): Decision | Promise<Decision>;
  /**
   * What a subject has used, of those days of this month and the one before on which it sent anything, oldest first.
   * Absent: usage is not counted. Rejects with `LimiterUnavailable` while its store is away.
   */
  usage?(subject: string): Promise<readonly DayUsage[]>;
  health(): Health;
  close(): Promise<void>;
}
