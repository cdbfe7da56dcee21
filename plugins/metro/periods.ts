/** Calendar arithmetic. Days are `YYYY-MM-DD`. Quarters are counted from year 0, so that they can be subtracted. */
import { type Cadence, nextPeriod } from 'metro-forecast-api/plugin';

/** Returns the name of a quarter, such as `2005Q4`. */
export const quarterName = (index: number): string => `${Math.floor(index / 4)}Q${(index % 4) + 1}`;

/**
 * Parses a quarter such as `2005Q4`. Returns its number, as computed by `quarterIndex`, or undefined for other text.
 */
export const parseQuarter = (text: string): number | undefined => {
  const [, year, quarter] = /^(\d{4})Q([1-4])$/i.exec(text) ?? [];
  return year && quarter ? quarterIndex(Number(year), Number(quarter)) : undefined;
};

const DAY_MS = 86_400_000;

/** Whether the text is a valid calendar day in the format `YYYY-MM-DD`. */
export const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Compares the result with the text, since `Date.parse` accepts 31 June as 1 July.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
};

/** Returns the number of days since 1970-01-01. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;

const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Returns the number of a quarter, counted from year 0. @param quarter 1 to 4 */
export const quarterIndex = (year: number, quarter: number): number => year * 4 + quarter - 1;

/** Returns the first day of a quarter. */
export const quarterStart = (index: number): string => {
  const year = String(Math.floor(index / 4)).padStart(4, '0');
  return `${year}-${String((index % 4) * 3 + 1).padStart(2, '0')}-01`;
};

/** Returns the number of the quarter that contains a day. */
export const quarterOf = (day: string): number =>
  quarterIndex(Number(day.slice(0, 4)), Math.floor((Number(day.slice(5, 7)) - 1) / 3) + 1);

/** The month of a day, counted from year 0. */
export const monthOf = (day: string): number => 12 * Number(day.slice(0, 4)) + Number(day.slice(5, 7)) - 1;

export const addDays = (day: string, days: number): string => toDay((dayNumber(day) + days) * DAY_MS);

/** Returns the last day of the period that begins on `start`. */
export const periodEnd = (start: string, cadence: Cadence): string => addDays(nextPeriod(start, cadence), -1);

/** The number of months in a period, for cadences whose periods begin with a month. Other cadences are not listed. */
const MONTHS: ReadonlyMap<Cadence, number> = new Map([
  ['monthly', 1],
  ['quarterly', 3],
  ['semiannual', 6],
  ['annual', 12],
  ['five-year', 60],
]);

export const monthsIn = (cadence: Cadence): number | undefined => MONTHS.get(cadence);

/**
 * Returns the last day of a value's period, before which the value cannot be known. Daily and weekly values are dated
 * with the last day of their period, and values of longer periods are dated with the first day.
 */
export const lastDay = (day: string, cadence: Cadence): string => (MONTHS.has(cadence) ? periodEnd(day, cadence) : day);

/**
 * Returns an error if a period ended after its dataset was created, or undefined if it ended before.
 * @param created the time of creation in UTC, in the format of RFC 3339
 */
export const lookAhead = (day: string, cadence: Cadence, created: string): string | undefined => {
  // No period is longer than five years, so the end of the period need not be computed for older values.
  if (Number(day.slice(0, 4)) < Number(created.slice(0, 4)) - 5) return undefined;
  const last = lastDay(day, cadence);
  return last > created.slice(0, 10)
    ? `ends on ${last}, after the dataset was made (${created.slice(0, 10)})`
    : undefined;
};

/** Days by which a holiday may shift an observation of a weekly or biweekly series. */
const SHIFTS: ReadonlyMap<Cadence, number> = new Map([
  ['weekly', 3],
  ['biweekly', 3],
]);

/** Whether `next` is the period after `day`. For daily and irregular series, this is true for any later observation. */
export const isNextPeriod = (day: string, next: string, cadence: Cadence): boolean => {
  if (MONTHS.has(cadence)) return nextPeriod(day, cadence) === next;
  const shift = SHIFTS.get(cadence);
  return shift === undefined || Math.abs(dayNumber(nextPeriod(day, cadence)) - dayNumber(next)) <= shift;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** Whether all gaps are multiples of the step, with a tolerance of `shift`. */
const fits = (gaps: readonly number[], step: number, shift = 0): boolean =>
  gaps.every((gap) => gap >= step - shift && Math.abs(gap - Math.round(gap / step) * step) <= shift);

/**
 * Infers the cadence of a series from its ascending days. Missing observations do not matter, since gaps may be
 * multiples of the usual gap. Returns `irregular` if there are fewer than two days or if they match no cadence.
 */
export const inferCadence = (days: readonly string[]): Cadence => {
  if (days.length < 2) return 'irregular';
  const gapsOf = (numbers: readonly number[]) => numbers.slice(1).map((number, i) => number - (numbers[i] as number));
  if (days.every((day) => day.endsWith('-01'))) {
    const gaps = gapsOf(days.map(monthOf));
    const step = median(gaps);
    const cadence = [...MONTHS].find(([, months]) => months === step)?.[0];
    return cadence !== undefined && fits(gaps, step) ? cadence : 'irregular';
  }
  const gaps = gapsOf(days.map(dayNumber));
  if (median(gaps) === 1) return 'daily';
  const weekly = [...SHIFTS].find(([cadence, shift]) => {
    const step = dayNumber(nextPeriod('1970-01-01', cadence));
    return Math.abs(median(gaps) - step) <= shift && fits(gaps, step, shift);
  });
  return weekly?.[0] ?? 'irregular';
};
