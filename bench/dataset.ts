/** Writes a synthetic dataset with 410 metros and 204 quarters, like the FHFA dataset. */
import type { Document, Manifest } from '../core/contracts/dataset.js';
import { writeDirectory } from '../core/data/write-directory.js';
import { randomFrom } from '../plugins/metro/sample/random.js';

const MARKETS = 410;
const QUARTERS = 204;
const FIRST_YEAR = 1975;
const RUNS = 8;
const SERIES = 12;
const OBSERVATIONS = 400;
const BATCH = 2000;

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, i) => make(i));

export const marketCodes = (): string[] => list(MARKETS, (i) => String(10_000 + i * Math.floor(90_000 / MARKETS)));

export const seriesIds = (): string[] => list(SERIES, (i) => `SERIES${String(i).padStart(2, '0')}`);

const month = (index: number): string =>
  `${FIRST_YEAR + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}-01`;
const quarter = (index: number): string => month(index * 3);

const random = randomFrom('dataset');
const figure = (from: number, to: number, digits = 4): number =>
  Number((from + random.uniform() * (to - from)).toFixed(digits));
const rating = (index: number) => ({
  signal: ['expand', 'hold', 'contract', 'hold', null][index % 5],
  risk_score: ['A', 'B', 'C', 'D', 'F', null][index % 6],
});

const market = (cbsa: string, i: number): Document => ({
  ...{ id: Number(cbsa), cbsa, name: `Metro ${cbsa}-Benchmark-Somewhere, ST`, ...rating(i) },
  yoy_price: figure(-8, 14),
  forecast_12m: i % 10 === 0 ? null : figure(-8, 14),
});

const series = (series_id: string): Document => ({
  ...{ series_id, title: `Title of ${series_id}`, kind: 'macro', geography: 'United States', cadence: 'monthly' },
  ...{ source: 'Benchmark', units: 'Index', seasonal_adjustment: 'SA', last_updated: null, notes: null },
  ...{ observation_start: month(0), observation_end: month(OBSERVATIONS - 1) },
});

const run = (index: number) => ({
  run_id: index + 1,
  run_at: `${2024 + Math.floor(index / 4)}-${String((index % 4) * 3 + 3).padStart(2, '0')}-01T00:00:00Z`,
  model_version: 'bench-1.0.0',
  horizon_months: 12,
});

const forecastRun = (index: number): Document => {
  const { run_id, ...rest } = run(index);
  return { id: run_id, status: 'completed', ...rest, features: null, notes: null };
};

const forecast = (cbsa: string, i: number, runIndex: number): Document => {
  const point = figure(-8, 14);
  return {
    ...{ cbsa, ...run(runIndex), target_period: quarter(QUARTERS - RUNS + runIndex), ...rating(i) },
    ...{ point, lower_80: point - 5, upper_80: point + 5, realized: null, realized_as_of: null },
  };
};

const batches = (rows: readonly Document[]): Document[][] =>
  list(Math.ceil(rows.length / BATCH), (i) => rows.slice(i * BATCH, (i + 1) * BATCH));

export const writeDataset = async (directory: string): Promise<void> => {
  const codes = marketCodes();
  const dates = { created: '2026-01-01T00:00:00Z', vintage: '2025-12-31' };
  const manifest: Manifest = { format: 1, version: 'bench', ...dates, synthetic: true, sources: [] };
  const hpi = (cbsa: string) =>
    list(QUARTERS, (q) => ({ cbsa, period_start: quarter(q), value: figure(20 + q, 22 + q, 2) }));
  const observations = (series_id: string) =>
    list(OBSERVATIONS, (m) => ({ series_id, period_start: month(m), value: figure(0, 100, 3) }));
  await writeDirectory(directory, manifest, {
    markets: batches(codes.map(market)),
    hpi: batches(codes.flatMap(hpi)),
    series: batches(seriesIds().map(series)),
    observations: batches(seriesIds().flatMap(observations)),
    forecast_runs: batches(list(RUNS, forecastRun)),
    forecasts: batches(list(RUNS, (r) => codes.map((cbsa, i) => forecast(cbsa, i, r))).flat()),
    backtests: [],
  });
};
