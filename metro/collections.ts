/** The Metro Forecast dataset: every collection, its document type and its JSON Schema. */
import { CADENCES, type Cadence } from '../core/contracts/dataset.js';
import { date, dateTime, nullable, record, text } from '../core/contracts/json-schema.js';
import { collection } from '../core/contracts/plugin.js';

export { CADENCES, date, dateTime, nullable, record, text };

export const SIGNALS = ['expand', 'hold', 'contract'] as const;
export type Signal = (typeof SIGNALS)[number];

export const RISK_GRADES = ['A', 'B', 'C', 'D', 'F'] as const;
export type RiskGrade = (typeof RISK_GRADES)[number];

/** A metro area with its latest figures. Returns and changes in percent. */
export interface Market {
  readonly id: number;
  readonly cbsa: string;
  readonly name: string;
  readonly signal: Signal | null;
  readonly risk_score: RiskGrade | null;
  /** Change of the index over its last 12 months. */
  readonly yoy_price: number | null;
  /** The newest completed run's 12-month forecast return. */
  readonly forecast_12m: number | null;
}

/** One quarter of a metro's house price index. */
export interface Hpi {
  readonly cbsa: string;
  /** First day of the quarter. */
  readonly period_start: string;
  readonly value: number;
}

/** One observation of a macro series. */
export interface Observation {
  readonly series_id: string;
  readonly period_start: string;
  readonly value: number;
}

/** A published series, macro or per metro. */
export interface Series {
  readonly series_id: string;
  readonly title: string;
  readonly kind: 'macro' | 'metro';
  readonly geography: string;
  readonly cadence: Cadence;
  readonly source: string;
  readonly units: string;
  readonly seasonal_adjustment: 'SA' | 'NSA' | 'SAAR' | null;
  readonly observation_start: string | null;
  readonly observation_end: string | null;
  readonly last_updated: string | null;
  readonly notes: string | null;
}

/** One run of a model over the markets. Only completed runs are served. */
export interface ForecastRun {
  readonly id: number;
  readonly status: 'completed' | 'running' | 'failed';
  readonly model_version: string;
  readonly run_at: string;
  readonly horizon_months: number;
  readonly features: readonly string[] | null;
  readonly notes: string | null;
}

/** What one run said of one market, and what came true. In percent. */
export interface Forecast {
  readonly run_id: number;
  readonly cbsa: string;
  readonly run_at: string;
  readonly model_version: string;
  readonly horizon_months: number;
  /** First day of the quarter whose 12-month change is forecast. */
  readonly target_period: string;
  readonly point: number;
  readonly lower_80: number | null;
  readonly upper_80: number | null;
  readonly signal: Signal | null;
  readonly risk_score: RiskGrade | null;
  /** The published 12-month change at `target_period`. */
  readonly realized: number | null;
  /** The vintage that `realized` was read from. */
  readonly realized_as_of: string | null;
}

/** A rolling-realized backtest of a model. Field meanings: see the API's reference. */
export interface Backtest {
  readonly as_of: string;
  readonly model_version: string;
  readonly horizon_months: number;
  readonly window_start: string;
  readonly window_end: string;
  readonly n: number;
  readonly n_metros: number;
  readonly n_runs: number;
  readonly mae_pp: number;
  readonly rmse_pp: number;
  readonly bias_pp: number;
  readonly coverage_80: number;
  readonly interval_score_80: number;
  readonly direction_hit_rate: number;
  readonly benchmark: { readonly name: string; readonly mae_pp: number };
  readonly skill_mae: number;
  readonly realized_vintage: string;
}

/** The series of all metros' indexes, which are a collection of their own. */
export const METRO_HPI = 'metro_hpi';

// Building blocks of the schemas below; routes use them too.
export const cbsa = { type: 'string', pattern: '^\\d{5}$', description: 'Core-based statistical area code.' };
export const percent = { type: 'number', description: 'In percent.' };
export const rate = { type: 'number', minimum: 0, maximum: 1, description: 'A fraction from 0 to 1.' };
const count = { type: 'integer', minimum: 1 };
const size = { type: 'number', minimum: 0, description: 'In percentage points.' };
export const signal = { type: ['string', 'null'], enum: [...SIGNALS, null] };
export const riskScore = { type: ['string', 'null'], enum: [...RISK_GRADES, null] };

export const markets = collection<Market>({
  name: 'markets',
  key: ['cbsa'],
  schema: record({
    id: { type: 'integer' },
    cbsa,
    name: { ...text, description: 'Name of the metro.' },
    signal: { ...signal, description: 'Signal of the newest run.' },
    risk_score: { ...riskScore, description: 'Risk grade of the newest run, from A (low) to F.' },
    yoy_price: { ...nullable(percent), description: 'Trailing 12-month change of the index, in percent.' },
    forecast_12m: { ...nullable(percent), description: 'Forecast 12-month return, in percent.' },
  }),
});

export const hpi = collection<Hpi>({
  name: 'hpi',
  key: ['cbsa', 'period_start'],
  references: [{ fields: ['cbsa'], to: 'markets' }],
  schema: record({ cbsa, period_start: date, value: { type: 'number' } }),
});

export const series = collection<Series>({
  name: 'series',
  key: ['series_id'],
  schema: record({
    series_id: text,
    title: text,
    kind: { type: 'string', enum: ['macro', 'metro'] },
    geography: text,
    cadence: { type: 'string', enum: CADENCES },
    source: text,
    units: text,
    seasonal_adjustment: { type: ['string', 'null'], enum: ['SA', 'NSA', 'SAAR', null] },
    observation_start: nullable(date),
    observation_end: nullable(date),
    last_updated: nullable(dateTime),
    notes: nullable({ type: 'string' }),
  }),
});

export const observations = collection<Observation>({
  name: 'observations',
  key: ['series_id', 'period_start'],
  references: [{ fields: ['series_id'], to: 'series' }],
  schema: record({ series_id: text, period_start: date, value: { type: 'number' } }),
});

export const forecastRuns = collection<ForecastRun>({
  name: 'forecast_runs',
  key: ['id'],
  orders: [['run_at', 'id']],
  schema: record({
    id: { type: 'integer' },
    status: { type: 'string', enum: ['completed', 'running', 'failed'] },
    model_version: text,
    run_at: dateTime,
    horizon_months: { type: 'integer', minimum: 1 },
    features: { type: ['array', 'null'], items: text },
    notes: nullable({ type: 'string' }),
  }),
});

export const forecasts = collection<Forecast>({
  name: 'forecasts',
  key: ['run_id', 'cbsa'],
  orders: [['cbsa', 'run_at', 'run_id']],
  references: [
    { fields: ['run_id'], to: 'forecast_runs' },
    { fields: ['cbsa'], to: 'markets' },
  ],
  schema: record({
    run_id: { type: 'integer' },
    cbsa,
    run_at: dateTime,
    model_version: text,
    horizon_months: { type: 'integer', minimum: 1 },
    target_period: date,
    point: percent,
    lower_80: nullable(percent),
    upper_80: nullable(percent),
    signal,
    risk_score: riskScore,
    realized: nullable(percent),
    realized_as_of: nullable(date),
  }),
  check({ lower_80, point, upper_80 }) {
    if (lower_80 !== null && lower_80 > point) return { field: 'lower_80', rule: 'must not be above point' };
    if (upper_80 !== null && upper_80 < point) return { field: 'upper_80', rule: 'must not be below point' };
    return undefined;
  },
});

export const backtests = collection<Backtest>({
  name: 'backtests',
  key: ['as_of', 'model_version'],
  schema: record({
    as_of: { ...dateTime, description: 'When the backtest was computed.' },
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
    interval_score_80: { ...size, description: 'Mean of the width + 10 times the miss.' },
    direction_hit_rate: { ...rate, description: 'Share of forecasts with the sign of the realized change.' },
    benchmark: {
      ...record({ name: text, mae_pp: size }),
      description: 'Persistence: the last 12-month change known at run time, on the same pairs.',
    },
    skill_mae: { type: 'number', description: '1 - mae_pp / benchmark.mae_pp.' },
    realized_vintage: { ...date, description: 'Vintage of the realized values.' },
  }),
});

export const collections = [markets, hpi, series, observations, forecastRuns, forecasts, backtests] as const;
