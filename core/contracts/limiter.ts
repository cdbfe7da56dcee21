/** The limiter contract. A limiter only decides; middleware sets status codes and headers. */
import type { Health } from './runtime.js';

/** The length of the sliding window. In any window of this length, a caller gets no more requests than its limit. */
export const WINDOW_MS = 60_000;

/** A caller's quotas: requests per UTC day and per UTC month. Null means unlimited. */
export interface Quotas {
  readonly perDay: number | null;
  readonly perMonth: number | null;
}

/** The state of one quota. */
export interface QuotaState {
  readonly name: 'day' | 'month';
  readonly quota: number;
  readonly remaining: number;
  /** Milliseconds until the current day or month ends. */
  readonly resetMs: number;
  /** The length of the day or month in milliseconds. */
  readonly lengthMs: number;
}

/** The usage of one caller on one UTC day. */
export interface DayUsage {
  /** The date, such as `2026-11-23`. */
  readonly date: string;
  /** The number of allowed requests, whatever the status of their responses. */
  readonly requests: number;
  /** The number of requests that the limit or a quota rejected. They count against neither. */
  readonly refused: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** How many more requests are allowed now. */
  readonly remaining: number;
  /** Milliseconds until another permit becomes free. 0 if the window is empty. */
  readonly resetMs: number;
  /** Absent if the caller has no quotas. */
  readonly quotas?: readonly QuotaState[];
}

/** The methods reject with `LimiterUnavailable` if the limiter cannot decide. */
export interface Limiter {
  /**
   * Decides one request, and counts the request if it is allowed.
   * @param caller `key:<id>` or `ip:<address or /64 prefix>`, never the key itself. `GET /usage` appends `/usage`, so
   *   that it has its own window.
   * @param limit requests per window
   * @param quotas if given, usage is counted, and requests that exceed a quota are rejected
   */
  take(caller: string, limit: number, quotas?: Quotas): Decision | Promise<Decision>;
  /**
   * Resolves with a caller's usage in this month and the previous one: the days that have requests, oldest first. The
   * method is absent if the limiter does not count usage.
   */
  usage?(caller: string): Promise<readonly DayUsage[]>;
  /** Makes a decision for a caller that does not exist, to test the store. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
