/** Calendar arithmetic. Days are `YYYY-MM-DD`. Quarters are counted from year 0, so that they can be subtracted. */
import { type Cadence, nextPeriod } from 'metro-forecast-api/plugin';

/** The name of a quarter, such as `2005Q4`. */
export const quarterName = (index: number): string => `${Math.floor(index / 4)}Q${(index % 4) + 1}`;

/** The number of a quarter written as `2005Q4`, as counted by `quarterIndex`. Undefined for other text. */
export const parseQuarter = (text: string): number | undefined => {
  const [, year, quarter] = /^(\d{4})Q([1-4])$/i.exec(text) ?? [];
  return year && quarter ? quarterIndex(Number(year), Number(quarter)) : undefined;
};

const DAY_MS = 86_400_000;

/** Whether the text is a day of the calendar, written `YYYY-MM-DD`. */
export const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse accepts 31 June as 1 July.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
};

/** Days since 1970-01-01. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;

const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The number of a quarter since year 0. @param quarter 1 to 4 */
export const quarterIndex = (year: number, quarter: number): number => year * 4 + quarter - 1;

/** The first day of a quarter. */
export const quarterStart = (index: number): string => {
  const year = String(Math.floor(index / 4)).padStart(4, '0');
  return `${year}-${String((index % 4) * 3 + 1).padStart(2, '0')}-01`;
};

/** The quarter that a day is in. */
export const quarterOf = (day: string): number =>
  quarterIndex(Number(day.slice(0, 4)), Math.floor((Number(day.slice(5, 7)) - 1) / 3) + 1);

/** The last day of the period that begins at `start`. */
export const periodEnd = (start: string, cadence: Cadence): string =>
  toDay((dayNumber(nextPeriod(start, cadence)) - 1) * DAY_MS);

/**
 * The last day of the period of a value, before which it cannot be known. Values of days and weeks have the date of the
 * last day, values of longer periods the date of the first.
 */
export const lastDay = (day: string, cadence: Cadence): string =>
  cadence === 'daily' || cadence === 'weekly' ? day : periodEnd(day, cadence);

/** Describes a period that ended after its dataset was created. Undefined otherwise. @param created RFC 3339, UTC */
export const lookAhead = (day: string, cadence: Cadence, created: string): string | undefined => {
  // No period is longer than a year, so the period of most values need not be computed.
  if (Number(day.slice(0, 4)) < Number(created.slice(0, 4)) - 1) return undefined;
  const last = lastDay(day, cadence);
  return last > created.slice(0, 10)
    ? `ends on ${last}, after the dataset was made (${created.slice(0, 10)})`
    : undefined;
};

/** Infers the cadence of a series from the median distance of its days. Undefined for fewer than two days. */
export const inferCadence = (days: readonly string[]): Cadence | undefined => {
  const numbers = days.map(dayNumber).sort((a, b) => a - b);
  const gaps = numbers.slice(1).map((day, i) => day - (numbers[i] as number));
  const median = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  if (median === undefined) return undefined;
  if (median < 5) return 'daily';
  if (median < 20) return 'weekly';
  if (median < 60) return 'monthly';
  return median < 200 ? 'quarterly' : 'annual';
};
