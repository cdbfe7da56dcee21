/** When a source is late or stale, by its cadence. */
import type { Cadence } from 'metro-forecast-api/plugin';

/**
 * Days after the end of the newest period. Late: the next value is due, which is after one period and the usual
 * publication delay. Stale: the value after the next one is due.
 */
const DAYS: Readonly<Record<Cadence, { readonly late: number; readonly stale: number }>> = {
  // Published on the next business day; allows for a holiday weekend and one missed day.
  daily: { late: 7, stale: 14 },
  // 7 days and a delay of up to 10.
  weekly: { late: 17, stale: 24 },
  // 31 days and a delay of up to 30 (new home sales come last, after 25).
  monthly: { late: 61, stale: 92 },
  // 92 days and a delay of up to 63 (FHFA publishes on the last Tuesday of the quarter's second month; GDP after 30).
  quarterly: { late: 155, stale: 247 },
  // 366 days and a delay of up to nine months.
  annual: { late: 640, stale: 1006 },
};

const DAY_SECONDS = 86_400;

export const freshness = (cadence: Cadence): { late_after_seconds: number; stale_after_seconds: number } => ({
  late_after_seconds: DAYS[cadence].late * DAY_SECONDS,
  stale_after_seconds: DAYS[cadence].stale * DAY_SECONDS,
});
