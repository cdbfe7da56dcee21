import type { Cadence } from 'metro-forecast-api/plugin';
import type { Basis } from './collections.js';
import { addDays, lastDay, periodEnd, quarterStart } from './periods.js';

/**
 * `period`: days between two values. `delay`: usual number of days from the end of a period to the release of its
 * value.
 */
const SCHEDULES: Readonly<Record<Cadence, { readonly period: number; readonly delay: number }>> = {
  // Daily values are published on the next business day. A period of 6 days allows for a holiday weekend and one missed
  // day.
  daily: { period: 6, delay: 1 },
  weekly: { period: 7, delay: 10 },
  biweekly: { period: 14, delay: 10 },
  // Of the monthly series, new home sales have the longest delay, 25 days.
  monthly: { period: 31, delay: 30 },
  // FHFA publishes its index up to 63 days after the quarter. GDP is published after 30 days.
  quarterly: { period: 92, delay: 63 },
  semiannual: { period: 184, delay: 120 },
  annual: { period: 366, delay: 274 },
  'five-year': { period: 1827, delay: 730 },
  // Irregular sources have no schedule, but a source without a new value for ten years is certainly late.
  irregular: { period: 3653, delay: 0 },
};

const DAY_SECONDS = 86_400;

/** A source is late when one value is overdue, and stale when two values are overdue. */
export const freshness = (cadence: Cadence): { late_after_seconds: number; stale_after_seconds: number } => {
  const { period, delay } = SCHEDULES[cadence];
  return {
    late_after_seconds: (period + delay) * DAY_SECONDS,
    stale_after_seconds: (2 * period + delay) * DAY_SECONDS,
  };
};

/** The index for a quarter counts as known from the first day of the third month after the quarter. */
export const indexKnownOn = (quarter: number): string =>
  `${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01`;

const TUESDAY = 2;

/** FHFA releases the index on the last Tuesday of the second month after the quarter. */
export const indexReleaseOf = (quarter: number): string => {
  const last = addDays(indexKnownOn(quarter), -1);
  const sinceTuesday = (new Date(last).getUTCDay() - TUESDAY + 7) % 7;
  return addDays(last, -sinceTuesday);
};

export const releaseOf = (day: string, cadence: Cadence): string =>
  addDays(lastDay(day, cadence), SCHEDULES[cadence].delay);

export const basisOf = (quarter: number, ...times: readonly Date[]): Basis =>
  times.every((time) => time.toISOString() < indexReleaseOf(quarter + 1)) ? 'published' : 'reconstructed';
