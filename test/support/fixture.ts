/** A small fictional dataset with every kind of row, null value and edge case that endpoints handle. */
import type { Document, Manifest } from '../../core/contracts/dataset.js';
import type {
  Backtest,
  Forecast,
  ForecastRun,
  Hpi,
  Market,
  Observation,
  Series,
} from '../../plugins/metro/collections.js';

export const ATLANTA = '12060';
export const DETROIT = '19820';
export const HOUSTON = '26420';
export const TUCSON = '46060';

export const manifest: Manifest = {
  format: 1,
  version: 'fixture-1',
  created: '2026-03-02T12:00:00Z',
  vintage: '2025-12-31',
  synthetic: true,
  sources: [
    {
      id: 'hpi',
      title: 'House price index',
      cadence: 'quarterly',
      latest_period: '2025-10-01',
      last_loaded_at: '2026-03-01T00:00:00Z',
      late_after_seconds: 100 * 86_400,
      stale_after_seconds: 200 * 86_400,
    },
    {
      id: 'unused',
      title: 'Never loaded',
      cadence: 'monthly',
      latest_period: null,
      last_loaded_at: null,
      late_after_seconds: 0,
      stale_after_seconds: 0,
    },
  ],
};

/** Fields of a market that are copied from the newest forecast. */
const newest = (point: number | null) => ({
  forecast_12m: point,
  lower_80: point === null ? null : point - 4,
  upper_80: point === null ? null : point + 4,
  decline_probability: null,
  target_period: point === null ? null : '2026-10-01',
  run_id: point === null ? null : 5,
  basis: point === null ? null : ('reconstructed' as const),
});

const markets: Market[] = [
  { id: 1, cbsa: ATLANTA, name: 'Atlanta, GA', signal: 'expand', risk_score: 'A', yoy_price: 4.5, ...newest(5.25) },
  // Detroit has an index but no forecast.
  { id: 2, cbsa: DETROIT, name: 'Detroit, MI', signal: null, risk_score: null, yoy_price: -1.25, ...newest(null) },
  { id: 3, cbsa: HOUSTON, name: 'Houston, TX', signal: 'hold', risk_score: 'C', yoy_price: 2, ...newest(1.5) },
  // Tucson has no rows in other collections.
  { id: 4, cbsa: TUCSON, name: 'Tucson, AZ', signal: null, risk_score: null, yoy_price: null, ...newest(null) },
];

const hpi: Hpi[] = [
  { cbsa: ATLANTA, period_start: '2025-01-01', value: 200 },
  { cbsa: ATLANTA, period_start: '2025-04-01', value: 202.5 },
  // The quarter that starts on 2025-07-01 is missing.
  { cbsa: ATLANTA, period_start: '2025-10-01', value: 209 },
  { cbsa: DETROIT, period_start: '2025-10-01', value: 98.76 },
  { cbsa: HOUSTON, period_start: '2025-07-01', value: 300.1 },
  { cbsa: HOUSTON, period_start: '2025-10-01', value: 306.12 },
];

const series: Series[] = [
  {
    series_id: 'EMPTY',
    title: 'A series without observations',
    kind: 'macro',
    geography: 'United States',
    cadence: 'annual',
    source: 'Nobody',
    units: 'Percent',
    seasonal_adjustment: null,
    observation_start: null,
    observation_end: null,
    last_updated: null,
    notes: 'Synthetic.',
  },
  {
    series_id: 'UNRATE',
    title: 'Unemployment Rate',
    kind: 'macro',
    geography: 'United States',
    cadence: 'monthly',
    source: 'FRED',
    units: 'Percent',
    seasonal_adjustment: 'SA',
    observation_start: '2025-08-01',
    observation_end: '2025-11-01',
    last_updated: '2026-01-09T00:00:00Z',
    notes: 'Synthetic.',
  },
  {
    series_id: 'metro_hpi',
    title: 'House Price Index',
    kind: 'metro',
    geography: 'US metros',
    cadence: 'quarterly',
    source: 'Nobody',
    units: 'Index',
    seasonal_adjustment: 'NSA',
    observation_start: '2025-01-01',
    observation_end: '2025-10-01',
    last_updated: '2026-03-01T00:00:00Z',
    notes: 'Synthetic.',
  },
];

const observations: Observation[] = [
  { series_id: 'UNRATE', period_start: '2025-08-01', value: 4.3 },
  { series_id: 'UNRATE', period_start: '2025-09-01', value: 4.4 },
  // The month that starts on 2025-10-01 is missing.
  { series_id: 'UNRATE', period_start: '2025-11-01', value: 4.5 },
];

const MODEL = 'test-1.0';

const run = (id: number, run_at: string, status: ForecastRun['status'] = 'completed'): ForecastRun => ({
  id,
  status,
  model_version: MODEL,
  run_at,
  horizon_months: 12,
  features: id === 1 ? null : ['g4'],
  notes: null,
});

const inputs = [
  { name: 'intercept', mean_contribution_pp: 1 },
  { name: 'growth_4q', mean_contribution_pp: 2 },
];

const runs: ForecastRun[] = [
  // Only this run has the basis `published`. Runs without a basis count as reconstructed.
  {
    ...run(1, '2024-11-26T14:00:00Z'),
    basis: 'published',
    vintage: '2024-11-26',
    data_through: '2024-07-01',
    computed_at: '2024-11-26T14:00:00Z',
    published_at: '2024-11-26T14:00:00Z',
    rules: { expand_point: 4, expand_lower: 0, contract_point: -1, margin: 1, grades: [0.1, 0.2, 0.35, 0.5] },
    coefficients: [{ name: 'growth_4q', value: 0.5 }],
  },
  run(2, '2025-06-01T00:00:00Z'),
  run(3, '2025-09-01T00:00:00Z', 'failed'),
  { ...run(4, '2025-12-01T00:00:00Z'), inputs },
  { ...run(5, '2026-03-01T00:00:00Z'), inputs },
  run(6, '2026-03-02T00:00:00Z', 'running'),
];

const forecast = (run_id: number, cbsa: string, point: number, more: Partial<Forecast> = {}): Forecast => ({
  run_id,
  cbsa,
  run_at: runs.find(({ id }) => id === run_id)!.run_at,
  model_version: MODEL,
  horizon_months: 12,
  target_period: '2026-10-01',
  point,
  lower_80: point - 4,
  upper_80: point + 4,
  signal: 'hold',
  risk_score: 'C',
  realized: null,
  realized_as_of: null,
  ...more,
});

const due = { target_period: '2025-10-01', realized_as_of: '2025-12-31' };

const benchmarks = (benchmark: number, ar1_nation: number, shrunk_mean: number) => ({
  benchmark,
  ar1_nation,
  shrunk_mean,
});

const forecasts: Forecast[] = [
  forecast(1, ATLANTA, 3.1, { ...due, realized: 4.5, decline_probability: 0.2, ...benchmarks(1.5, 2, 3) }),
  forecast(1, HOUSTON, 7.5, {
    ...due,
    realized: -2,
    decline_probability: 0.1,
    risk_score: 'B',
    ...benchmarks(-1, 1, 2),
  }),
  forecast(2, HOUSTON, 2.5, { lower_80: null, upper_80: null, signal: null, risk_score: null }),
  // The API never returns this forecast, because its run failed.
  forecast(3, HOUSTON, 99),
  forecast(4, ATLANTA, 4.25),
  forecast(4, HOUSTON, 3.5, { signal: 'contract', contributions: [1, 2.5] }),
  forecast(5, ATLANTA, 5.25, { signal: 'expand', risk_score: 'A' }),
  forecast(5, HOUSTON, 1.5, { contributions: [1.1, 0.4] }),
  // The API never returns this forecast, because its run is unfinished.
  forecast(6, HOUSTON, -99),
];

const backtests: Backtest[] = [
  {
    as_of: '2026-03-01T00:00:00Z',
    model_version: MODEL,
    horizon_months: 12,
    window_start: '2025-10-01',
    window_end: '2025-10-01',
    n: 2,
    n_metros: 2,
    n_runs: 1,
    mae_pp: 3.45,
    rmse_pp: 4.0131,
    bias_pp: -2.05,
    coverage_80: 0.5,
    interval_score_80: 15.5,
    direction_hit_rate: 1,
    benchmark: { name: 'persistence', mae_pp: 4 },
    skill_mae: 0.1375,
    realized_vintage: '2025-12-31',
  },
];

export const collections = {
  markets,
  hpi,
  series,
  observations,
  forecast_runs: runs,
  forecasts,
  backtests,
} as const;

export const documents = collections as unknown as Readonly<Record<string, readonly Document[]>>;
