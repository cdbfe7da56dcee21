import { list, quarter } from '../../../../core/pages/shared/format.js';

/** @import { ForecastTrack as Track } from '../../client/api-types.js' */

/** @typedef {{ period_start: string, value: number }} Observation @typedef {ReadonlyMap<string, number>} Values */

/** @param {string} date @param {number} months */
export const addMonths = (date, months) => {
  const time = new Date(`${date}T00:00:00Z`);
  time.setUTCMonth(time.getUTCMonth() + months);
  return time.toISOString().slice(0, 10);
};

/** @param {string} from @param {string} to @param {number} step */
export const monthsBetween = (from, to, step) => {
  const dates = [];
  for (let date = from; date <= to; date = addMonths(date, step)) dates.push(date);
  return dates;
};

/** @param {string} date @param {number} days */
const addDays = (date, days) => new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);

/** @param {string} date */
const yearBefore = (date) => addMonths(date.replace('02-29', '02-28'), -12);

/**
 * Ranges of dates that can contain the observation one year earlier. The API uses the same ranges for `units=yoy`,
 * except that it accepts any earlier observation of an irregular series.
 * @type {Record<string, (date: string) => string[]>}
 */
const YEAR_EARLIER = {
  daily: (date) => [addDays(yearBefore(date), -7), yearBefore(date)],
  weekly: (date) => [addDays(date, -52 * 7 - 3), addDays(date, -52 * 7 + 3)],
  biweekly: (date) => [addDays(date, -52 * 7 - 3), addDays(date, -52 * 7 + 3)],
};

/** Returns the observation one year before the last one. @param {readonly Observation[]} rows @param {string} cadence */
export const yearEarlier = (rows, cadence) => {
  const last = rows.at(-1)?.period_start;
  if (last === undefined) return undefined;
  const [since = '', until = since] = YEAR_EARLIER[cadence]?.(last) ?? [yearBefore(last)];
  return rows.findLast(({ period_start }) => period_start >= since && period_start <= until);
};

const QUARTER = 3;

/** @param {string} from @param {string} to */
export const quartersBetween = (from, to) => monthsBetween(from, to, QUARTER);

/** @param {readonly Observation[]} rows @returns {Map<string, number>} */
export const valuesOf = (rows) => new Map(rows.map(({ period_start, value }) => [period_start, value]));

/** @param {string} date */
const quarterOf = (date) =>
  `${date.slice(0, 4)}-${String(Math.floor((Number(date.slice(5, 7)) - 1) / 3) * 3 + 1).padStart(2, '0')}-01`;

/** @param {readonly Observation[]} rows @param {number} [least] @returns {Map<string, number>} */
export const quarterMeans = (rows, least = 1) => {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const { period_start, value } of rows) {
    const quarter = quarterOf(period_start);
    groups.set(quarter, [...(groups.get(quarter) ?? []), value]);
  }
  return new Map(
    [...groups]
      .filter(([, all]) => all.length >= least)
      .map(([quarter, all]) => [quarter, all.reduce((sum, one) => sum + one, 0) / all.length]),
  );
};

/** @param {Values} values @param {(value: number, before: number) => number} compare @returns {Map<string, number>} */
const comparedToYearBefore = (values, compare) => {
  const changes = new Map();
  for (const [date, value] of values) {
    const before = values.get(addMonths(date, -12));
    if (before !== undefined) changes.set(date, compare(value, before));
  }
  return changes;
};

/** Returns changes in percent. @param {Values} values */
export const yearlyChange = (values) => {
  const changes = comparedToYearBefore(values, (value, before) => (value / before - 1) * 100);
  return new Map([...changes].filter(([, change]) => Number.isFinite(change)));
};

/** Returns changes of percentages, in percentage points. @param {Values} values */
export const yearlyDifference = (values) => comparedToYearBefore(values, (value, before) => value - before);

/**
 * Returns the first date on or after `from` for which all lines have a value, or undefined if there is none. Lines
 * without a value since `from` are ignored.
 * @param {readonly Values[]} lines @param {string} from
 */
export const commonStart = (lines, from) => {
  const known = lines.filter((values) => [...values.keys()].some((date) => date >= from));
  const dates = [...(known[0]?.keys() ?? [])].filter((date) => date >= from).sort();
  return dates.find((date) => known.every((values) => values.has(date)));
};

/** Scales values so that the value at `start` is 100. @param {Values} values @param {string} start */
export const rebased = (values, start) => {
  const base = values.get(start);
  return base ? new Map([...values].map(([date, value]) => [date, (value / base) * 100])) : new Map();
};

/** @param {Iterable<Values>} areas @returns {Map<string, number>} */
export const medianOf = (areas) => {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const values of areas) {
    for (const [date, value] of values) {
      const group = groups.get(date);
      if (group) group.push(value);
      else groups.set(date, [value]);
    }
  }
  return new Map(
    [...groups].map(([date, all]) => {
      const sorted = all.sort((a, b) => a - b);
      const half = sorted.length >> 1;
      const middle = sorted.length % 2 === 1 ? sorted[half] : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
      return [date, middle ?? 0];
    }),
  );
};

/**
 * Converts a forecast and its 80% interval to index levels for a chart. The model forecasts only the target quarter, so
 * the quarters in between are interpolated. Returns undefined without a forecast, or if the index has no value for the
 * quarter in which the forecast starts.
 * @param {Values} index @param {Track | undefined} forecast
 */
export const fanOf = (index, forecast) => {
  const start = forecast && addMonths(forecast.target_period, -forecast.horizon_months);
  const base = start === undefined ? undefined : index.get(start);
  if (!forecast || start === undefined || base === undefined) return undefined;
  const dates = quartersBetween(start, forecast.target_period);
  /** @param {number | null} percent @returns {Map<string, number>} */
  const towards = (percent) =>
    new Map(
      percent === null
        ? []
        : dates.map((date, done) => [date, base * (1 + ((percent / 100) * done * QUARTER) / forecast.horizon_months)]),
    );
  return {
    start,
    target: forecast.target_period,
    point: towards(forecast.point),
    lower: towards(forecast.lower_80),
    upper: towards(forecast.upper_80),
  };
};

/** @param {readonly Track[]} track */
export const scoreOf = (track) => {
  const due = track.filter(({ realized }) => realized !== null);
  const banded = due.filter(({ within_80 }) => within_80 !== null);
  return {
    due: due.length,
    meanError: due.reduce((sum, { error_pp }) => sum + Math.abs(error_pp ?? 0), 0) / due.length,
    inside: banded.filter(({ within_80 }) => within_80).length / banded.length,
  };
};

/**
 * Returns the quarters that have a nominal value, but no real value because consumer prices are missing. Quarters
 * before the first real value are not included.
 * @param {ReadonlyMap<string, number>} nominal @param {ReadonlyMap<string, number>} real @param {string} [from]
 */
export const withoutPrices = (nominal, real, from = '') => {
  const first = [...real.keys()].sort()[0];
  return first === undefined
    ? []
    : [...nominal.keys()].filter((date) => date >= from && date > first && !real.has(date));
};

/** @param {readonly string[]} gaps */
export const gapsText = (gaps) => {
  const quarters = [...new Set(gaps)].sort().map(quarter);
  return quarters.length > 0 ? `; without consumer prices for ${list(quarters)}` : '';
};
