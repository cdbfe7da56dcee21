/** The contract for rate limiters. A limiter only makes decisions. Middleware sets status codes and headers. */
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
  /** Milliseconds until the quota is reset, at the end of the UTC day or month. */
  readonly resetMs: number;
  /** The length of the current day or month, in milliseconds. */
  readonly lengthMs: number;
}

export interface DayUsage {
  /** A UTC date, such as `2026-11-23`. */
  readonly date: string;
  /** The number of requests that the limiter allowed, regardless of their response status. */
  readonly requests: number;
  /** The number of requests rejected by the rate limit or a quota. Rejected requests count towards neither. */
  readonly refused: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly limit: number;
  /** The number of further requests that the caller can make now. */
  readonly remaining: number;
  /** Milliseconds until `remaining` increases, or 0 if the caller has made no request in the window. */
  readonly resetMs: number;
  /** The state of each quota. Not set if the caller has no quotas. */
  readonly quotas?: readonly QuotaState[];
}

/** A rate limiter. All methods reject with `LimiterUnavailable` if the limiter cannot make a decision. */
export interface Limiter {
  /**
   * Decides whether to allow one request. Allowed requests are counted.
   * @param caller `key:<id>` for an API key, `id:<plugin>:<id>` for a caller identified by a plugin, or `ip:<address or
   *   /64 prefix>` for a client without credentials. Never contains the key. `GET /usage` has a separate window, so the
   *   framework appends `/usage` to the caller of such requests.
   * @param limit requests per window
   * @param quotas if given, usage is counted, and requests that exceed a quota are rejected
   */
  take(caller: string, limit: number, quotas?: Quotas): Decision | Promise<Decision>;
  /**
   * Resolves with a caller's usage in this month and last month: one entry for each day with requests, oldest first.
   * Only limiters that count usage have this method.
   */
  usage?(caller: string): Promise<readonly DayUsage[]>;
  /** Tests the limiter's store by making a decision for a fictitious caller. Rejects with the error of the store. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
