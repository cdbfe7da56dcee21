/** What a market's charts show, from its history and its past forecasts. */

/**
 * @typedef {{ period_start: string, value: number }} Observation
 * @typedef {{ run_id: number, run_at: string, model_version: string, horizon_months: number, target_period: string,
 *   point: number, lower_80: number | null, upper_80: number | null, signal: string | null,
 *   risk_score: string | null, realized: number | null, error_pp: number | null, within_80: boolean | null,
 *   realized_as_of: string | null, basis: 'published' | 'reconstructed' }} Track a row of `/markets/{cbsa}/forecast-track`, returns in percent
 */

/** @param {string} date @param {number} months */
export const addMonths = (date, months) => {
  const time = new Date(`${date}T00:00:00Z`);
  time.setUTCMonth(time.getUTCMonth() + months);
  return time.toISOString().slice(0, 10);
};

/**
 * Every period's first day, those without a value too: a gap is not a shorter way.
 * @param {string} from @param {string} to both included @param {number} step in months
 */
export const monthsBetween = (from, to, step) => {
  const dates = [];
  for (let date = from; date <= to; date = addMonths(date, step)) dates.push(date);
  return dates;
};

const QUARTER = 3;

/** @param {string} from @param {string} to both included */
const quarters = (from, to) => monthsBetween(from, to, QUARTER);

/**
 * The index, and the newest forecast as index levels: the returns of the forecast, applied to the index at the
 * quarter that it starts from. The model says nothing of the quarters between, so the lines to its end are straight.
 * @param {readonly Observation[]} history oldest first
 * @param {Track | undefined} forecast
 */
export const fanOf = (history, forecast) => {
  const known = new Map(history.map(({ period_start, value }) => [period_start, value]));
  const first = history[0]?.period_start;
  const last = history.at(-1)?.period_start;
  if (first === undefined || last === undefined) return undefined;
  const start = forecast && addMonths(forecast.target_period, -forecast.horizon_months);
  const base = start === undefined ? undefined : known.get(start);
  const target = base === undefined ? undefined : forecast?.target_period;
  const dates = quarters(first, target !== undefined && target > last ? target : last);
  /** @param {number | null | undefined} percent */
  const towards = (percent) =>
    dates.map((date) => {
      if (base === undefined || start === undefined || target === undefined) return null;
      if (percent === null || percent === undefined || date < start || date > target) return null;
      const done = quarters(start, date).length - 1;
      return base * (1 + ((percent / 100) * done * QUARTER) / (forecast?.horizon_months ?? 12));
    });
  return {
    dates,
    index: dates.map((date) => known.get(date) ?? null),
    point: towards(forecast?.point),
    lower: towards(forecast?.lower_80),
    upper: towards(forecast?.upper_80),
    start: base === undefined ? undefined : start,
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
