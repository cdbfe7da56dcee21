/** Days have the format `YYYY-MM-DD`. Quarters are counted from year 0, so that they can be subtracted. */
import { type Cadence, periods } from 'metro-forecast-api/plugin';

const { monthsIn, nextPeriod } = periods;

export const quarterName = (index: number): string => `${Math.floor(index / 4)}Q${(index % 4) + 1}`;

export const parseQuarter = (text: string): number | undefined => {
  const [, year, quarter] = /^(\d{4})Q([1-4])$/i.exec(text) ?? [];
  return year && quarter ? quarterIndex(Number(year), Number(quarter)) : undefined;
};

const DAY_MS = 86_400_000;

export const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // `Date.parse` accepts 31 June as 1 July.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
};

export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;

const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** @param quarter 1 to 4 */
export const quarterIndex = (year: number, quarter: number): number => year * 4 + quarter - 1;

export const quarterStart = (index: number): string => {
  const year = String(Math.floor(index / 4)).padStart(4, '0');
  return `${year}-${String((index % 4) * 3 + 1).padStart(2, '0')}-01`;
};

export const quarterOf = (day: string): number =>
  quarterIndex(Number(day.slice(0, 4)), Math.floor((Number(day.slice(5, 7)) - 1) / 3) + 1);

export const monthOf = (day: string): number => 12 * Number(day.slice(0, 4)) + Number(day.slice(5, 7)) - 1;

export const addDays = (day: string, days: number): string => toDay((dayNumber(day) + days) * DAY_MS);

export const periodEnd = (start: string, cadence: Cadence): string => addDays(nextPeriod(start, cadence), -1);

/**
 * Returns the last day of a period. The value of the period cannot be known earlier. Periods of a month or longer are
 * dated by their first day, and all others by their last day.
 */
export const lastDay = (day: string, cadence: Cadence): string => (monthsIn(cadence) ? periodEnd(day, cadence) : day);

export const lookAhead = (day: string, cadence: Cadence, created: string): string | undefined => {
  if (Number(day.slice(0, 4)) < Number(created.slice(0, 4)) - 5) return undefined;
  const last = lastDay(day, cadence);
  return last > created.slice(0, 10)
    ? `ends on ${last}, after the dataset was created (${created.slice(0, 10)})`
    : undefined;
};

/** Maximum number of days by which a holiday shifts an observation. */
const SHIFTS: ReadonlyMap<Cadence, number> = new Map([
  ['weekly', 3],
  ['biweekly', 3],
]);

/**
 * Returns whether an observation belongs to the period after another one. In daily and irregular series, every later
 * observation qualifies.
 */
export const isNextPeriod = (day: string, next: string, cadence: Cadence): boolean => {
  if (monthsIn(cadence)) return nextPeriod(day, cadence) === next;
  const shift = SHIFTS.get(cadence);
  return shift === undefined || Math.abs(dayNumber(nextPeriod(day, cadence)) - dayNumber(next)) <= shift;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

const fits = (gaps: readonly number[], step: number, shift = 0): boolean =>
  gaps.every((gap) => gap >= step - shift && Math.abs(gap - Math.round(gap / step) * step) <= shift);

/**
 * Infers the cadence of a series from its days in ascending order. Observations can be missing, so gaps can be
 * multiples of the usual gap. Returns `irregular` for fewer than two days, or if no cadence matches.
 */
export const inferCadence = (days: readonly string[]): Cadence => {
  if (days.length < 2) return 'irregular';
  const gapsOf = (numbers: readonly number[]) => numbers.slice(1).map((number, i) => number - numbers[i]!);
  if (days.every((day) => day.endsWith('-01'))) {
    const gaps = gapsOf(days.map(monthOf));
    const step = median(gaps);
    const cadence = periods.cadenceOfMonths(step);
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
