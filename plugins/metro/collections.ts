import { type Cadence, type Collection, collection, schemas } from 'metro-forecast-api/plugin';
import {
  BASES,
  benchmarkPoints,
  cbsa,
  coefficients,
  count,
  date,
  dateTime,
  declineProbability,
  forecast12m,
  inputs,
  lower80,
  nullable,
  percent,
  rate,
  record,
  riskScore,
  runAt,
  runOrigin,
  runRules,
  scores,
  signal,
  signalChangeShare,
  size,
  standardError,
  tally,
  targetPeriod,
  text,
  upper80,
} from './fields.js';
import { lookAhead } from './periods.js';

export * from './fields.js';

/** Rejects a period that had not ended when the dataset was created. */
const knownIn = (field: string, day: string, cadence: Cadence, created: string) => {
  const rule = lookAhead(day, cadence, created);
  return rule === undefined ? undefined : { field, rule: `${day} ${rule}` };
};

type RowOf<C> = C extends Collection<infer Row> ? Row : never;

export const markets = collection({
  name: 'markets',
  key: ['cbsa'],
  schema: record(
    {
      id: { type: 'integer' },
      cbsa,
      name: { ...text, description: 'Name of the area.' },
      signal,
      risk_score: riskScore,
      yoy_price: { ...nullable(percent), description: 'Change in the index over the last 12 months, in percent.' },
      forecast_12m: nullable(forecast12m),
    },
    // These properties are copied from the newest forecast. They are null if the area has no forecast.
    {
      lower_80: nullable(lower80),
      upper_80: nullable(upper80),
      decline_probability: declineProbability,
      target_period: { ...nullable(targetPeriod), description: targetPeriod.description },
      run_id: { type: ['integer', 'null'], description: 'Run that computed the forecast.' },
      basis: { ...runOrigin.basis, type: ['string', 'null'], enum: [...BASES, null] },
    },
  ),
});
export type Market = RowOf<typeof markets>;

export const hpi = collection({
  name: 'hpi',
  key: ['cbsa', 'period_start'],
  references: [{ fields: ['cbsa'], to: 'markets' }],
  schema: record({ cbsa, period_start: date, value: { type: 'number' } }, { standard_error: standardError }),
  check: ({ period_start }, { created }) => knownIn('period_start', period_start, 'quarterly', created),
});
export type Hpi = RowOf<typeof hpi>;

export const series = collection({
  name: 'series',
  key: ['series_id'],
  schema: record({
    series_id: text,
    title: text,
    kind: { type: 'string', enum: ['macro', 'metro'] },
    geography: text,
    cadence: schemas.cadence,
    source: text,
    units: text,
    seasonal_adjustment: { type: ['string', 'null'], enum: ['SA', 'NSA', 'SAAR', null] },
    observation_start: nullable(date),
    observation_end: nullable(date),
    last_updated: nullable(dateTime),
    notes: nullable({ type: 'string' }),
  }),
  check: ({ observation_end, cadence }, { created }) =>
    observation_end === null ? undefined : knownIn('observation_end', observation_end, cadence, created),
});
export type Series = RowOf<typeof series>;

export const observations = collection({
  name: 'observations',
  key: ['series_id', 'period_start'],
  references: [{ fields: ['series_id'], to: 'series' }],
  schema: record({ series_id: text, period_start: date, value: { type: 'number' } }),
  // The row does not contain the cadence, so the last day of the period is unknown. This check covers only the first
  // day. The check of `observation_end` in `series` covers the last day.
  check: ({ period_start }, { created }) => knownIn('period_start', period_start, 'daily', created),
});
export type Observation = RowOf<typeof observations>;

/** A run contains the forecasts of a model for all markets and one horizon. The API returns only completed runs. */
export const forecastRuns = collection({
  name: 'forecast_runs',
  key: ['id'],
  orders: [['run_at', 'id']],
  schema: record(
    {
      id: { type: 'integer' },
      status: { type: 'string', enum: ['completed', 'running', 'failed'] },
      model_version: text,
      run_at: runAt,
      horizon_months: { type: 'integer', minimum: 1 },
      features: { type: ['array', 'null'], items: text },
      notes: nullable({ type: 'string' }),
    },
    // An older run without `basis` counts as reconstructed.
    { ...runOrigin, rules: runRules, coefficients, inputs, signal_change_share: signalChangeShare },
  ),
});
export type ForecastRun = RowOf<typeof forecastRuns>;

export const forecasts = collection({
  name: 'forecasts',
  key: ['run_id', 'cbsa'],
  orders: [['cbsa', 'run_at', 'run_id']],
  // Forecasts cannot reference `markets`: an area is no longer a market if its boundaries change, but its published
  // forecasts are kept.
  references: [{ fields: ['run_id'], to: 'forecast_runs' }],
  schema: record(
    {
      run_id: { type: 'integer' },
      cbsa,
      run_at: dateTime,
      model_version: text,
      horizon_months: { type: 'integer', minimum: 1 },
      // First day of the last quarter of the forecast horizon.
      target_period: date,
      point: percent,
      lower_80: nullable(lower80),
      upper_80: nullable(upper80),
      signal,
      risk_score: riskScore,
      // Actual change over the forecast horizon, and the vintage of the index from which it was computed.
      realized: nullable(percent),
      realized_as_of: nullable(date),
    },
    {
      decline_probability: nullable(rate),
      ...benchmarkPoints,
      // Contribution of each input of the run to `point`, in percentage points.
      contributions: { type: 'array', items: { type: 'number' } },
    },
  ),
  check({ lower_80, point, upper_80 }) {
    if (lower_80 !== null && lower_80 > point) return { field: 'lower_80', rule: 'must not be above point' };
    if (upper_80 !== null && upper_80 < point) return { field: 'upper_80', rule: 'must not be below point' };
    return undefined;
  },
});
export type Forecast = RowOf<typeof forecasts>;

export const backtests = collection({
  name: 'backtests',
  key: ['as_of', 'model_version', 'horizon_months'],
  schema: record(
    {
      as_of: { ...dateTime, description: 'Time of the newest completed run.' },
      model_version: text,
      horizon_months: { type: 'integer', minimum: 1 },
      window_start: { ...date, description: 'Earliest target that was scored.' },
      window_end: { ...date, description: 'Latest target that was scored.' },
      n: { ...count, description: 'Number of scored forecasts.' },
      n_metros: count,
      n_runs: count,
      mae_pp: scores.mae_pp,
      rmse_pp: { ...size, description: 'Root mean squared error, in percentage points.' },
      bias_pp: scores.bias_pp,
      coverage_80: scores.coverage_80,
      interval_score_80: scores.interval_score_80,
      direction_hit_rate: scores.direction_hit_rate,
      benchmark: {
        ...record({ name: text, mae_pp: size }),
        description: 'Persistence: the latest 12-month change known at run time, scored on the same forecasts.',
      },
      skill_mae: { type: 'number', description: 'Skill relative to persistence: 1 - mae_pp / benchmark.mae_pp.' },
      realized_vintage: { ...date, description: 'Vintage of the realized values.' },
    },
    {
      base_rate_up: {
        ...rate,
        description: 'Share of realized values above 0: the hit rate of always forecasting "up".',
      },
      declines: { ...tally, description: 'Number of scored forecasts with a realized value below 0.' },
      declines_called: { ...tally, description: 'Number of declines with a point forecast below 0.' },
      n_published: { ...tally, description: 'Number of scored forecasts from published runs.' },
      n_reconstructed: { ...tally, description: 'Number of scored forecasts from reconstructed runs.' },
      brier_score: scores.brier_score,
      benchmarks: {
        type: 'array',
        items: record({ name: text, mae_pp: size, direction_hit_rate: rate, skill_mae: { type: 'number' } }),
        description:
          'All benchmarks, scored on the same forecasts, most accurate first. `skill_mae` is the skill of the model relative to that benchmark.',
      },
    },
  ),
});
export type Backtest = RowOf<typeof backtests>;

export const collections = [markets, hpi, series, observations, forecastRuns, forecasts, backtests] as const;
