import { getJson } from '../../../../../core/pages/shared/api.js';
import { onceEach } from '../../../../../core/pages/shared/once.js';
import { allIndexes } from '../index-data.js';
import { addMonths } from '../market-figures.js';

/** @import { AreaForecastTrack as Forecast } from '../../../client/api-types.js' */

/** @import { Market } from '../catalog.js' */

/**
 * @typedef {{ id: number, run_at: string, model_version: string, basis: string, vintage: string | null, target: string,
 *   rules: import('../grades.js').Rules | null }} Run `target`: first day of the target quarter
 * @typedef {{ cbsa: string, name: string, signal: string | null, grade: string | null, forecast: number | null, lower:
 *   number | null, upper: number | null, change: number | null, last: number | null }} Row
 */

/** @param {AbortSignal} signal @param {readonly Market[]} markets @returns {Promise<Run[]>} */
export const runsOf = async (signal, markets) => {
  const scored = markets.find(({ forecast_12m }) => forecast_12m !== null);
  if (!scored) return [];
  const [runs, track] = await Promise.all([
    getJson('/forecast-runs', { signal }),
    // The list of runs does not contain target quarters, but the forecasts for one market do.
    getJson(`/markets/${scored.cbsa}/forecast-track`, { signal }),
  ]);
  const targets = new Map(track.data.map((/** @type {Forecast} */ row) => [row.run_id, row.target_period]));
  return runs.data
    .flatMap((/** @type {{ id: number }} */ run) =>
      targets.has(run.id) ? [{ ...run, target: targets.get(run.id) }] : [],
    )
    .toReversed();
};

/** @param {import('./scales.js').Measure} measure @param {Run | undefined} run */
export const modelOf = (measure, run) => (run && measure !== 'last' ? `forecasts by ${run.model_version}` : undefined);

/** @param {Run} run */
export const lastQuarterOf = ({ target }) => addMonths(target, -12);

/**
 * @param {{ runs: readonly Run[], series?: { observation_end: string | null } | undefined }} loaded
 * @param {{ run: number }} chosen
 */
export const selectedRun = ({ runs, series }, chosen) => {
  const run = runs[chosen.run];
  return { run, until: run ? lastQuarterOf(run) : (series?.observation_end ?? '2020-01-01') };
};

/** @param {AbortSignal} signal @returns {(run: Run | undefined) => Promise<Map<string, Forecast>>} */
export const forecastsBy = (signal) => {
  const once = onceEach();
  return async (run) => {
    if (!run) return new Map();
    return once(run.id, async () => {
      const target = `/forecast-track?since=${run.target}&until=${run.target}`;
      const rows = /** @type {Forecast[]} */ ((await getJson(target, { signal })).data);
      return new Map(rows.filter(({ run_id }) => run_id === run.id).map((row) => [row.cbsa, row]));
    });
  };
};

/**
 * @param {Awaited<ReturnType<typeof allIndexes>>} indexes @param {string} until
 * @returns {(cbsa: string) => number | null}
 */
export const lastYearTo = (indexes, until) => {
  const since = addMonths(until, -12);
  return (cbsa) => {
    const [before, after] = [indexes.get(cbsa)?.get(since), indexes.get(cbsa)?.get(until)];
    return before && after ? (after / before - 1) * 100 : null;
  };
};

/** @param {Run} run @param {AbortSignal} signal @returns {Promise<(cbsa: string) => number | null>} */
const lastYearOf = async (run, signal) => {
  const until = lastQuarterOf(run);
  return lastYearTo(await allIndexes(signal, addMonths(until, -12), until), until);
};

/**
 * @param {{ markets: readonly Market[], runs: readonly Run[], series?: { observation_end: string | null } | undefined }}
 *   loaded
 * @param {ReturnType<typeof forecastsBy>} forecasts @param {AbortSignal} signal
 * @returns {(index: number) => Promise<Row[]>}
 */
export const rowsByRun =
  ({ markets, runs, series }, forecasts, signal) =>
  async (index) => {
    const run = runs[index];
    const isNewest = index === runs.length - 1;
    const [now, before, lastYear] = await Promise.all([
      forecasts(run),
      forecasts(runs[index - 1]),
      // `markets` contains the 12-month change for the newest index quarter. For earlier quarters, the change is
      // computed from the index.
      !run || (isNewest && series?.observation_end === lastQuarterOf(run)) ? undefined : lastYearOf(run, signal),
    ]);
    return markets.map((market) => {
      const { cbsa, name } = market;
      const forecast = now.get(cbsa);
      const previous = before.get(cbsa);
      return {
        cbsa,
        name,
        signal: isNewest ? market.signal : (forecast?.signal ?? null),
        grade: isNewest ? market.risk_score : (forecast?.risk_score ?? null),
        forecast: isNewest ? market.forecast_12m : (forecast?.point ?? null),
        lower: forecast?.lower_80 ?? null,
        upper: forecast?.upper_80 ?? null,
        // The change is rounded like `delta_pp` in the API.
        change: forecast && previous ? Number((forecast.point - previous.point).toFixed(6)) : null,
        last: lastYear ? lastYear(cbsa) : market.yoy_price,
      };
    });
  };
