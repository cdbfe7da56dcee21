/** Defines how long after the end of a period its data is released. */
import type { Cadence } from 'metro-forecast-api/plugin';
import type { Basis } from './collections.js';
import { addDays, lastDay, periodEnd, quarterStart } from './periods.js';

/**
 * In days: the time between two values, and the usual delay between the end of a period and the release of its value.
 */
const SCHEDULES: Readonly<Record<Cadence, { readonly period: number; readonly delay: number }>> = {
  // Daily values are published on the next business day. The period of 6 days tolerates a holiday weekend and one
  // missed day.
  daily: { period: 6, delay: 1 },
  weekly: { period: 7, delay: 10 },
  biweekly: { period: 14, delay: 10 },
  // New home sales have the longest delay, 25 days.
  monthly: { period: 31, delay: 30 },
  // FHFA's index takes up to 63 days, and GDP takes 30 days.
  quarterly: { period: 92, delay: 63 },
  semiannual: { period: 184, delay: 120 },
  annual: { period: 366, delay: 274 },
  'five-year': { period: 1827, delay: 730 },
  // The date of the next value is unknown, but after ten years it is certainly late.
  irregular: { period: 3653, delay: 0 },
};

const DAY_SECONDS = 86_400;

/**
 * Returns the ages at which a source becomes late and stale. A source is late when its next value is overdue, and stale
 * when the value after that is also overdue.
 */
export const freshness = (cadence: Cadence): { late_after_seconds: number; stale_after_seconds: number } => {
  const { period, delay } = SCHEDULES[cadence];
  return {
    late_after_seconds: (period + delay) * DAY_SECONDS,
    stale_after_seconds: (2 * period + delay) * DAY_SECONDS,
  };
};

/** Returns the day from which a quarter's index counts as known: the first day of the third month after the quarter. */
export const indexKnownOn = (quarter: number): string =>
  `${periodEnd(quarterStart(quarter + 1), 'quarterly').slice(0, 7)}-01`;

const TUESDAY = 2;

/** Returns the day on which FHFA releases a quarter's index: the last Tuesday of the second month after the quarter. */
export const indexReleaseOf = (quarter: number): string => {
  const last = addDays(indexKnownOn(quarter), -1);
  const sinceTuesday = (new Date(last).getUTCDay() - TUESDAY + 7) % 7;
  return addDays(last, -sinceTuesday);
};

/** Returns the day by which a macro value is usually released. */
export const releaseOf = (day: string, cadence: Cadence): string =>
  addDays(lastDay(day, cadence), SCHEDULES[cadence].delay);

/** A quarter's run counts as published if all `times` are before the release of the next quarter's index. */
export const basisOf = (quarter: number, ...times: readonly Date[]): Basis =>
  times.every((time) => time.toISOString() < indexReleaseOf(quarter + 1)) ? 'published' : 'reconstructed';
