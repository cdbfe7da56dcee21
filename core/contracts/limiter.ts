/** The limiter contract. A limiter decides; middleware sets status codes and headers. */
import type { Health } from './runtime.js';

/** Length of the sliding window. A caller never gets more requests than its limit within this time. */
export const WINDOW_MS = 60_000;

/** A caller's quotas: requests per UTC day and per UTC month. null: unlimited. */
export interface Quotas {
  readonly perDay: number | null;
  readonly perMonth: number | null;
}

/** The state of one quota. */
export interface QuotaState {
  readonly name: 'day' | 'month';
  readonly quota: number;
  readonly remaining: number;
  /** Milliseconds until the day or month ends. */
  readonly resetMs: number;
  /** Length of the day or month in milliseconds. */
  readonly lengthMs: number;
}

/** A caller's usage on one UTC day. */
export interface DayUsage {
  /** `2026-11-23` */
  readonly date: string;
  /** Allowed requests, whatever their status. */
  readonly requests: number;
  /** Requests rejected by the limit or a quota. They count against neither. */
  readonly refused: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** How many more requests are allowed now. */
  readonly remaining: number;
  /** Milliseconds until the next permit is free. 0 when the window is empty. */
  readonly resetMs: number;
  /** Absent for a caller without quotas. */
  readonly quotas?: readonly QuotaState[];
}

/** Methods reject with `LimiterUnavailable` when the limiter cannot decide. */
export interface Limiter {
  /**
   * Decides one request, and counts it if it is allowed.
   * @param caller `key:<id>` or `ip:<address or /64 prefix>`, never the key itself. `GET /usage` appends `/usage`, so that
   *   it has its own window.
   * @param limit requests per window
   * @param quotas if given, usage is counted and requests beyond a quota are rejected
   */
  take(caller: string, limit: number, quotas?: Quotas): Decision | Promise<Decision>;
  /**
   * A caller's usage in this month and the previous one: the days with requests, oldest first.
   * Absent if the limiter does not count usage.
   */
  usage?(caller: string): Promise<readonly DayUsage[]>;
  health(): Health;
  close(): Promise<void>;
}
