/** The contract for limiters. A limiter only makes decisions. Middleware sets status codes and headers. */
import type { Health } from './runtime.js';

/** The length of the sliding window. A caller's limit applies to every interval of this length. */
export const WINDOW_MS = 60_000;

/** Requests per UTC day and per UTC month. Null means unlimited. */
export interface Quotas {
  readonly perDay: number | null;
  readonly perMonth: number | null;
}

export interface QuotaState {
  readonly name: 'day' | 'month';
  readonly quota: number;
  readonly remaining: number;
  /** Milliseconds until the current UTC day or month ends. */
  readonly resetMs: number;
  /** The length of the current day or month, in milliseconds. */
  readonly lengthMs: number;
}

export interface DayUsage {
  /** The UTC date, such as `2026-11-23`. */
  readonly date: string;
  /** The number of allowed requests, regardless of response status. */
  readonly requests: number;
  /** The number of requests rejected by the limit or a quota. Rejected requests count towards neither. */
  readonly refused: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** The number of further requests that are allowed now. */
  readonly remaining: number;
  /** Milliseconds until the next permit becomes available. 0 if the window is empty. */
  readonly resetMs: number;
  /** Not set if the caller has no quotas. */
  readonly quotas?: readonly QuotaState[];
}

/** All methods reject with `LimiterUnavailable` if the limiter cannot make a decision. */
export interface Limiter {
  /**
   * Decides whether to allow one request, and counts it if so.
   * @param caller `key:<id>` for an API key, `id:<plugin>:<id>` for a caller identified by a plugin, or `ip:<address or
   * /64 prefix>` for a client without credentials. Never contains the key. For `GET /usage`, which has a separate
   * window, `/usage` is appended.
   * @param limit requests per window
   * @param quotas if given, usage is counted, and requests that exceed a quota are rejected
   */
  take(caller: string, limit: number, quotas?: Quotas): Decision | Promise<Decision>;
  /**
   * Resolves with the usage of this month and last month: an entry for each day with requests, oldest first. Only
   * limiters that count usage have this method.
   */
  usage?(caller: string): Promise<readonly DayUsage[]>;
  /** Makes a decision for a fictitious caller to test the store. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
