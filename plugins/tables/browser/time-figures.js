/** @typedef {Readonly<Record<string, string | number | boolean | null>>} Row */

/** @import { Column, Table } from './tables.js' */

const isYear = (/** @type {unknown} */ value) =>
  Number.isInteger(value) && Number(value) >= 1000 && Number(value) < 3000;

/**
 * Returns the time columns: date columns, and integer columns whose values all look like years.
 * @param {readonly Column[]} columns @param {readonly Row[]} rows
 */
export const timesOf = (columns, rows) =>
  columns.filter(({ name, kind, whole }) => {
    const known = rows.map((row) => row[name]).filter((value) => value !== null);
    return known.length > 0 && (kind === 'date' || (whole && known.every(isYear)));
  });

/** @param {Row[string] | undefined} value @returns {string | undefined} */
const dayOf = (value) =>
  isYear(value) ? `${value}-01-01` : typeof value === 'string' ? value.slice(0, 10) : undefined;

/** Each function maps a day to the first day of its period. */
const PERIODS = /** @type {const} */ ([
  ['day', (/** @type {string} */ day) => day],
  ['month', (/** @type {string} */ day) => `${day.slice(0, 7)}-01`],
  ['year', (/** @type {string} */ day) => `${day.slice(0, 4)}-01-01`],
  ['decade', (/** @type {string} */ day) => `${day.slice(0, 3)}0-01-01`],
  ['century', (/** @type {string} */ day) => `${day.slice(0, 2)}00-01-01`],
]);

/** @typedef {(typeof PERIODS)[number][0]} Period */

const MAX_BARS = 60;

/**
 * Returns the shortest period that needs at most `MAX_BARS` bars. If every period needs more, returns `century`.
 * @param {readonly string[]} days @param {boolean} years
 */
const periodOf = (days, years) => {
  const allowed = years ? PERIODS.slice(2) : PERIODS;
  return allowed.find(([, startOf]) => new Set(days.map(startOf)).size <= MAX_BARS) ?? PERIODS[4];
};

/** @param {string} date @param {Period} period */
export const periodText = (date, period) => {
  if (period === 'day') return date;
  if (period === 'month') return date.slice(0, 7);
  const year = String(Number(date.slice(0, 4)));
  return period === 'year' ? year : period === 'decade' ? `${year}s` : `${year}–${Number(year) + 99}`;
};

const DAY_MS = 86_400_000;

/**
 * Intervals at which regular dates repeat. Two successive dates are `least` to `most` days apart. `days` and `months`
 * are added to a date to get the next one.
 */
const STEPS = [
  { least: 1, most: 1, days: 1, months: 0 },
  { least: 7, most: 7, days: 7, months: 0 },
  { least: 28, most: 31, days: 0, months: 1 },
  { least: 90, most: 92, days: 0, months: 3 },
  { least: 365, most: 366, days: 0, months: 12 },
];

/**
 * Dates are regular if at least this share of their intervals matches one step. For dates from Monday to Friday, the
 * share is only 0.8, so charts do not show weekends as gaps.
 */
const REGULAR = 0.9;

/**
 * Adds the missing dates of a regular sequence. A chart shows them as gaps in its line.
 * @param {readonly string[]} dates ascending
 */
export const withGaps = (dates) => {
  const apart = dates.slice(1).map((date, index) => (Date.parse(date) - Date.parse(`${dates[index]}`)) / DAY_MS);
  const step = STEPS.find(
    ({ least, most }) => apart.filter((days) => days >= least && days <= most).length >= REGULAR * apart.length,
  );
  const [first, last] = [dates[0], dates.at(-1)];
  if (!step || first === undefined || last === undefined) return [...dates];
  const all = new Set(dates);
  for (let count = 0, date = first; date < last; count += 1) {
    const time = new Date(`${first}T00:00:00Z`);
    time.setUTCMonth(time.getUTCMonth() + step.months * count, time.getUTCDate() + step.days * count);
    date = time.toISOString().slice(0, 10);
    // Monthly dates can differ in the day of the month. A month that already has a date is not missing.
    if (date < last && !(step.months > 0 && dates.some((each) => each.slice(0, 7) === date.slice(0, 7)))) all.add(date);
  }
  return [...all].sort();
};

/**
 * Returns text such as `peaked at 544 in the 1850s`. If several periods have the largest value, the text names none.
 * @param {Pick<ReturnType<typeof figuresOf>, 'dates' | 'lines' | 'period'>} figures @param {(value: number) => string} text
 */
export const peakText = ({ dates, lines, period }, text) => {
  const all = lines.flatMap(({ label, values }) =>
    values.flatMap((value, at) => (value === null ? [] : [{ label, value, date: `${dates[at]}` }])),
  );
  const most = all.reduce((largest, { value }) => Math.max(largest, value), Number.NEGATIVE_INFINITY);
  const [first, second] = all.filter(({ value }) => value === most);
  if (!first) return '';
  if (second) return `peaked at ${text(most)}`;
  const when = `${period === 'day' ? 'on' : period === 'decade' ? 'in the' : 'in'} ${periodText(first.date, period)}`;
  return `peaked at ${text(most)} ${when}${first.label === '' ? '' : ` (${first.label})`}`;
};

/** An average coordinate is rarely useful, so charts do not show it first. */
const COORDINATE = /^(lat|latitude|lon|lng|long|longitude)$/;

/** @typedef {'line' | 'bars'} Form */

export const MAX_LINES = 8;

/**
 * Computes one figure for each line and period: the number of rows, or the mean of their values.
 * @param {readonly Row[]} totals
 * @param {{ time: string, value: string | null, by: string | null, form: Form }} chosen `value`: a column, or null to
 *   count rows; `by`: a column with one line for each value, or null for a single line
 * @param {Readonly<Record<string, string>>} measures
 * @returns {{ dates: string[], period: Period, lines: { label: string, values: (number | null)[] }[], left: number,
 *   means: boolean, rows: number }} `left`: number of lines that the chart omits; `means`: whether any value is a mean;
 *   `rows`: number of rows in the totals
 */
export const figuresOf = (totals, { time, value, by, form }, measures) => {
  const timed = totals.flatMap((row) => {
    const day = dayOf(row[time]);
    if (day === undefined) return [];
    const [count, sum] = [Number(row[measures['count'] ?? '']), Number(row[measures['sum'] ?? ''])];
    return [{ day, label: by === null ? '' : String(row[by] ?? '–'), count, sum }];
  });
  const years = totals.every((row) => typeof row[time] !== 'string');
  const days = timed.map(({ day }) => day);
  const [period, startOf] = form === 'line' ? PERIODS[years ? 2 : 0] : periodOf(days, years);
  const present = [...new Set(days.map(startOf))].sort();
  const dates = form === 'line' ? withGaps(present) : present;
  /** @type {Map<string, Map<string, { count: number, sum: number }>>} */
  const groups = new Map();
  for (const { day, label, count, sum } of timed) {
    const group = groups.get(label) ?? new Map();
    groups.set(label, group);
    const date = startOf(day);
    const known = group.get(date) ?? { count: 0, sum: 0 };
    group.set(date, { count: known.count + count, sum: known.sum + sum });
  }
  const lines = [...groups]
    .sort(([one], [other]) => one.localeCompare(other, 'en'))
    .map(([label, group]) => ({
      label,
      values: dates.map((date) => {
        const known = group.get(date);
        if (!known) return null;
        return value === null ? known.count : known.sum / known.count;
      }),
    }));
  const means =
    value !== null && [...groups.values()].some((group) => [...group.values()].some(({ count }) => count > 1));
  const rows = timed.reduce((sum, { count }) => sum + count, 0);
  return { dates, period, lines: lines.slice(0, MAX_LINES), left: Math.max(0, lines.length - MAX_LINES), means, rows };
};

/**
 * The chart shows lines if the time column is part of the key, and bars if it is not.
 * @param {Table} table @param {readonly Row[]} rows
 */
export const chartChoices = ({ columns, key }, rows) => {
  const times = timesOf(columns, rows);
  const numbers = columns.filter(
    ({ name, kind }) => kind === 'number' && !key.includes(name) && !times.some((time) => time.name === name),
  );
  const groups = columns.filter(
    ({ name, kind }) =>
      (kind === 'text' || kind === 'boolean') && new Set(rows.map((row) => row[name])).size <= MAX_LINES,
  );
  const time = times.find(({ name }) => key.includes(name)) ?? times[0];
  const inKey = time !== undefined && key.includes(time.name);
  return {
    times,
    numbers,
    groups,
    first: {
      time: time?.name ?? '',
      value: numbers.find(({ name }) => !COORDINATE.test(name))?.name ?? null,
      by: (inKey && groups.find(({ name }) => key.includes(name))?.name) || null,
      form: /** @type {Form} */ (inKey ? 'line' : 'bars'),
    },
  };
};
