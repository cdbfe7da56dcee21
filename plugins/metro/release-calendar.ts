/** Defines when publishers release their data, relative to the end of its period. */
import type { Cadence } from 'metro-forecast-api/plugin';
import type { Basis } from './collections.js';
import { addDays, lastDay, periodEnd, quarterStart } from './periods.js';

/**
 * The number of days between two values, and the usual delay between the end of a period and the release of its value.
 */
const SCHEDULES: Readonly<Record<Cadence, { readonly period: number; readonly delay: number }>> = {
  // Daily values are published on the next business day. A holiday weekend and one missed day do not count as late.
  daily: { period: 6, delay: 1 },
  weekly: { period: 7, delay: 10 },
  biweekly: { period: 14, delay: 10 },
  // New home sales take longest, 25 days.
  monthly: { period: 31, delay: 30 },
  // FHFA's index is released after up to 63 days, and GDP after 30 days.
  quarterly: { period: 92, delay: 63 },
  semiannual: { period: 184, delay: 120 },
  annual: { period: 366, delay: 274 },
  'five-year': { period: 1827, delay: 730 },
  // The date of the next value is unknown. After ten years it is certainly late.
  irregular: { period: 3653, delay: 0 },
};

const DAY_SECONDS = 86_400;

/**
 * Returns the ages from which a source is late and stale. It is late when its next value is overdue, and stale when the
 * value after that is also overdue.
 */
export const freshness = (cadence: Cadence): { late_after_seconds: number; stale_after_seconds: number } => {
  const { period, delay } = SCHEDULES[cadence];
  return {
    late_after_seconds: (period + delay) * DAY_SECONDS,
    stale_after_seconds: (2 * period + delay) * DAY_SECONDS,
  };
};

/** Returns the first day of the third month after a quarter, when its index is known. */
export const indexKnownOn = (quarter: number): string =>
  `${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01`;

const TUESDAY = 2;

/** Returns the day on which FHFA releases the index of a quarter: the last Tuesday of the second month after it. */
export const indexReleaseOf = (quarter: number): string => {
  const last = addDays(indexKnownOn(quarter), -1);
  const sinceTuesday = (new Date(last).getUTCDay() - TUESDAY + 7) % 7;
  return addDays(last, -sinceTuesday);
};

/** Returns the day by which the value of a macro series for a period is usually released. */
export const releaseOf = (day: string, cadence: Cadence): string =>
  addDays(lastDay(day, cadence), SCHEDULES[cadence].delay);

/**
 * The run of a quarter is published if it was computed and served before the index of the next quarter was released.
 */
export const basisOf = (quarter: number, ...times: readonly Date[]): Basis =>
  times.every((time) => time.toISOString() < indexReleaseOf(quarter + 1)) ? 'published' : 'reconstructed';
