/** The collections of the Metro Forecast dataset, with their document types and JSON Schemas. */
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

/** Returns an error if a period ended after its dataset was created. */
const knownIn = (field: string, day: string, cadence: Cadence, created: string) => {
  const rule = lookAhead(day, cadence, created);
  return rule === undefined ? undefined : { field, rule: `${day} ${rule}` };
};

/** The document type of a collection. */
type RowOf<C> = C extends Collection<infer Row> ? Row : never;

/** A metro area with its latest figures. Returns and changes are in percent. */
export const markets = collection({
  name: 'markets',
  key: ['cbsa'],
  schema: record(
    {
      id: { type: 'integer' },
      cbsa,
      name: { ...text, description: 'Name of the metro.' },
      signal,
      risk_score: riskScore,
      yoy_price: { ...nullable(percent), description: 'Trailing 12-month change of the index, in percent.' },
      forecast_12m: nullable(forecast12m),
    },
    // The remaining values of the newest forecast. Null if there is no forecast.
    {
      lower_80: nullable(lower80),
      upper_80: nullable(upper80),
      decline_probability: declineProbability,
      target_period: { ...nullable(targetPeriod), description: targetPeriod.description },
      run_id: { type: ['integer', 'null'], description: 'The run that made the forecast.' },
      basis: { ...runOrigin.basis, type: ['string', 'null'], enum: [...BASES, null] },
    },
  ),
});
export type Market = RowOf<typeof markets>;

/** One quarter of a metro's house price index. */
export const hpi = collection({
  name: 'hpi',
  key: ['cbsa', 'period_start'],
  references: [{ fields: ['cbsa'], to: 'markets' }],
  schema: record({ cbsa, period_start: date, value: { type: 'number' } }, { standard_error: standardError }),
  check: ({ period_start }, { created }) => knownIn('period_start', period_start, 'quarterly', created),
});
export type Hpi = RowOf<typeof hpi>;

/** A published series: either a macro series, or the index of all metros. */
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

/** One observation of a macro series. */
export const observations = collection({
  name: 'observations',
  key: ['series_id', 'period_start'],
  references: [{ fields: ['series_id'], to: 'series' }],
  schema: record({ series_id: text, period_start: date, value: { type: 'number' } }),
  // The cadence is in the catalogue. Its `observation_end` is checked against the last day of the period.
  check: ({ period_start }, { created }) => knownIn('period_start', period_start, 'daily', created),
});
export type Observation = RowOf<typeof observations>;

/** One run of a model, which forecasts all markets. Only completed runs are served. */
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
    // A run without `basis` is reconstructed.
    { ...runOrigin, rules: runRules, coefficients, inputs, signal_change_share: signalChangeShare },
  ),
});
export type ForecastRun = RowOf<typeof forecastRuns>;

/** The forecast of one run for one market, and the realized value. Both are in percent. */
export const forecasts = collection({
  name: 'forecasts',
  key: ['run_id', 'cbsa'],
  orders: [['cbsa', 'run_at', 'run_id']],
  // No reference to markets: a published run keeps the forecasts of areas that were redrawn later.
  references: [{ fields: ['run_id'], to: 'forecast_runs' }],
  schema: record(
    {
      run_id: { type: 'integer' },
      cbsa,
      run_at: dateTime,
      model_version: text,
      horizon_months: { type: 'integer', minimum: 1 },
      // First day of the quarter whose 12-month change is forecast.
      target_period: date,
      point: percent,
      lower_80: nullable(lower80),
      upper_80: nullable(upper80),
      signal,
      risk_score: riskScore,
      // The published 12-month change at `target_period`, and its vintage.
      realized: nullable(percent),
      realized_as_of: nullable(date),
    },
    {
      // The basis of `risk_score`.
      decline_probability: nullable(rate),
      ...benchmarkPoints,
      // The contribution of each of the run's `inputs` to the point, in percentage points.
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

/** The backtest of a model, which is updated whenever outcomes are published. */
export const backtests = collection({
  name: 'backtests',
  key: ['as_of', 'model_version', 'horizon_months'],
  schema: record(
    {
      as_of: { ...dateTime, description: 'Time at which the backtest was computed.' },
      model_version: text,
      horizon_months: { type: 'integer', minimum: 1 },
      window_start: { ...date, description: 'First target scored.' },
      window_end: { ...date, description: 'Last target scored.' },
      n: { ...count, description: 'Scored forecasts.' },
      n_metros: count,
      n_runs: count,
      mae_pp: { ...size, description: 'Mean absolute error.' },
      rmse_pp: { ...size, description: 'Root mean squared error.' },
      bias_pp: { type: 'number', description: 'Mean of realized - point, in percentage points.' },
      coverage_80: { ...rate, description: 'Share of realized values inside the 80% interval.' },
      interval_score_80: {
        ...size,
        description:
          'Mean interval score: width of the interval + 10 times the distance of the outcome from it. Lower is better.',
      },
      direction_hit_rate: {
        ...rate,
        description: 'Share of forecasts that have the same sign as the realized change.',
      },
      benchmark: {
        ...record({ name: text, mae_pp: size }),
        description: 'Persistence: the last 12-month change known at run time, on the same pairs.',
      },
      skill_mae: { type: 'number', description: '1 - mae_pp / benchmark.mae_pp.' },
      realized_vintage: { ...date, description: 'Vintage of the realized values.' },
    },
    {
      base_rate_up: {
        ...rate,
        description: 'Share of realized values above 0: the hit rate of a constant forecast of "up".',
      },
      declines: { ...tally, description: 'Scored forecasts whose realized value is below 0.' },
      declines_called: { ...tally, description: 'Number of declines whose point forecast was below 0.' },
      n_published: { ...tally, description: 'Number of scored forecasts from published runs.' },
      n_reconstructed: { ...tally, description: 'Number of scored forecasts from reconstructed runs.' },
      brier_score: {
        ...rate,
        description:
          'Mean squared difference between `decline_probability` and the outcome (1 for a decline, 0 otherwise).',
      },
      benchmarks: {
        type: 'array',
        items: record({ name: text, mae_pp: size, direction_hit_rate: rate, skill_mae: { type: 'number' } }),
        description:
          'All benchmarks on the same pairs, the most accurate first. `skill_mae` is the skill relative to that benchmark.',
      },
    },
  ),
});
export type Backtest = RowOf<typeof backtests>;

export const collections = [markets, hpi, series, observations, forecastRuns, forecasts, backtests] as const;
