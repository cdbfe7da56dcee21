/** The collections of the Metro Forecast dataset, with their document types and JSON Schemas. */
import { type Cadence, type Collection, collection, type FromSchema, schemas } from 'metro-forecast-api/plugin';
import { forecastMeaning, gradeMeaning, lowerMeaning, signalMeaning } from './forecast/default-rules.js';
import { lookAhead } from './periods.js';

const { date, dateTime, nullable, record, text } = schemas;

export { date, dateTime, nullable, record, text };

export const SIGNALS = ['expand', 'hold', 'contract'] as const;
export type Signal = (typeof SIGNALS)[number];

export const RISK_GRADES = ['A', 'B', 'C', 'D', 'F'] as const;
export type RiskGrade = (typeof RISK_GRADES)[number];

/** Whether a run was published at its time, or computed later. */
export const BASES = ['published', 'reconstructed'] as const;
export type Basis = (typeof BASES)[number];

/** The series of the indexes of all metros. Its values are in the collection `hpi`. */
export const METRO_HPI = 'metro_hpi';

// Building blocks of the schemas below; routes use them too.
export const cbsa = { type: 'string', pattern: '^\\d{5}$', description: 'Core-based statistical area code.' } as const;
export const percent = { type: 'number', description: 'In percent.' } as const;
export const rate = { type: 'number', minimum: 0, maximum: 1, description: 'A fraction from 0 to 1.' } as const;
export const standardError = {
  type: 'number',
  minimum: 0,
  description: 'Standard error of `value`, as published.',
} as const;
const count = { type: 'integer', minimum: 1 } as const;
const tally = { type: 'integer', minimum: 0 } as const;
const size = { type: 'number', minimum: 0, description: 'In percentage points.' } as const;
export const signal = { type: ['string', 'null'], enum: [...SIGNALS, null], description: signalMeaning } as const;
export const riskScore = { type: ['string', 'null'], enum: [...RISK_GRADES, null], description: gradeMeaning } as const;
export const forecast12m = { ...percent, description: forecastMeaning } as const;
export const lower80 = { ...percent, description: lowerMeaning } as const;
export const upper80 = { ...percent, description: 'Upper bound of the 80% interval, in percent.' } as const;

export const runAt = {
  ...dateTime,
  description: 'Time that the run represents: when the index of its quarter became known. Runs are ordered by it.',
} as const;

/** The points of the benchmarks from the same data. */
export const benchmarkPoints = {
  benchmark: { ...nullable(percent), description: 'Point of persistence: the last 12-month change, in percent.' },
  ar1_nation: {
    ...nullable(percent),
    description: "Point of a first-order autoregression on the market's growth and the nation's, in percent.",
  },
  shrunk_mean: {
    ...nullable(percent),
    description:
      "0.5 of the market's last 12-month growth, 0.3 of the nation's and 0.2 of the mean of all quarters, in percent.",
  },
} as const;

/** The origin of a run. */
export const runOrigin = {
  basis: {
    type: 'string',
    enum: BASES,
    description:
      '`published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later, from data of `vintage` up to the quarter of the run.',
  },
  vintage: { ...date, description: 'A day on which the data of the run was available.' },
  data_through: { ...date, description: 'First day of the last quarter of the index that the run uses.' },
  computed_at: { ...dateTime, description: 'Time at which the run was computed.' },
  published_at: { ...dateTime, description: 'Time of the first publication.' },
} as const;

/** The rules of signals and grades that a run was made with: see `plugins/metro/forecast/rules.ts`. */
export const runRules = record({
  expand_point: { ...percent, description: 'Lowest `point` of the signal `expand`, in percent.' },
  expand_lower: { ...percent, description: '`lower_80` must be above this for `expand`, in percent.' },
  contract_point: { ...percent, description: 'A `point` below this is the signal `contract`, in percent.' },
  margin: {
    type: 'number',
    minimum: 0,
    description:
      'A market keeps the signal of its previous run while a forecast within this many percentage points has that signal.',
  },
  grades: {
    type: 'array',
    items: rate,
    minItems: 4,
    maxItems: 4,
    description: 'Probabilities of a decline below which the grade is A, B, C and D; F from the last value on.',
  },
});

export const coefficients = {
  type: 'array',
  items: record({ name: text, value: { type: 'number' } }),
  description: 'Coefficients that the run estimated.',
} as const;

export const inputs = {
  type: 'array',
  items: record({ name: text, mean_contribution_pp: { type: 'number' } }),
  description:
    'Inputs of the model, in the order of `contributions`, with their mean contribution to the points in percentage points.',
} as const;

export const signalChangeShare = {
  ...rate,
  description: 'Share of the markets whose signal differs from that of the previous quarter.',
} as const;

export type RunRules = FromSchema<typeof runRules>;

/** The error of a period that ends after its dataset was created. */
const knownIn = (field: string, day: string, cadence: Cadence, created: string) => {
  const rule = lookAhead(day, cadence, created);
  return rule === undefined ? undefined : { field, rule: `${day} ${rule}` };
};

/** The documents of a collection. */
type RowOf<C> = C extends Collection<infer Row> ? Row : never;

/** A metro area with its latest figures. Returns and changes in percent. */
export const markets = collection({
  name: 'markets',
  key: ['cbsa'],
  schema: record({
    id: { type: 'integer' },
    cbsa,
    name: { ...text, description: 'Name of the metro.' },
    signal,
    risk_score: riskScore,
    yoy_price: { ...nullable(percent), description: 'Trailing 12-month change of the index, in percent.' },
    forecast_12m: nullable(forecast12m),
  }),
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

/** A published series, macro or per metro. */
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

/** One run of a model over the markets. Only completed runs are served. */
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

/** The forecast of one run for one market, and the realized value. In percent. */
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
      // What each of the run's `inputs` adds to the point, in percentage points.
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

/** A rolling-realized backtest of a model. */
export const backtests = collection({
  name: 'backtests',
  key: ['as_of', 'model_version'],
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
      direction_hit_rate: { ...rate, description: 'Share of forecasts with the sign of the realized change.' },
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
      brier_score: {
        ...rate,
        description: 'Mean squared difference of `decline_probability` and the outcome (1 for a decline, 0 otherwise).',
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
