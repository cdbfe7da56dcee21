/** Makes up a dataset of FHFA's size (410 metros, 204 quarters), or a multiple of it. */
import type { Document, Manifest } from '../core/contracts/dataset.js';
import { writeDirectory } from '../core/data/write-directory.js';
import { type Random, randomFrom } from '../plugins/metro/sample/random.js';

const MARKETS = 410;
const QUARTERS = 204;
const FIRST_YEAR = 1975;
const RUNS = 8;
const SERIES = 12;
const OBSERVATIONS = 400;
const BATCH = 2000;

const CODES = { from: 10_000, to: 100_000 };

/** The codes of the markets, in order, spread evenly over those of five digits. */
export const marketCodes = (scale: number): string[] => {
  const step = Math.floor((CODES.to - CODES.from) / (MARKETS * scale));
  return Array.from({ length: MARKETS * scale }, (_, i) => String(CODES.from + i * step));
};

const figure = (random: Random, from: number, to: number, digits = 4): number =>
  Number((from + random.uniform() * (to - from)).toFixed(digits));

const oneOf = <T>(index: number, values: readonly T[]): T => values[index % values.length] as T;

const month = (index: number): string =>
  `${FIRST_YEAR + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}-01`;

const quarter = (index: number): string => month(index * 3);

const seriesId = (index: number): string => `SERIES${String(index).padStart(2, '0')}`;

/** The identifiers of the series. */
export const seriesIds = (): string[] => Array.from({ length: SERIES }, (_, i) => seriesId(i));

const signals = ['expand', 'hold', 'contract', 'hold', null] as const;
const grades = ['A', 'B', 'C', 'D', 'F', null] as const;

function* markets(codes: readonly string[]): Iterable<Document> {
  const random = randomFrom('markets');
  for (const [i, cbsa] of codes.entries()) {
    yield {
      id: Number(cbsa),
      cbsa,
      name: `Metro ${cbsa}-Benchmark-Somewhere, ST`,
      signal: oneOf(i, signals),
      risk_score: oneOf(i, grades),
      yoy_price: figure(random, -8, 14),
      forecast_12m: i % 10 === 0 ? null : figure(random, -8, 14),
    };
  }
}

function* hpi(codes: readonly string[]): Iterable<Document> {
  const random = randomFrom('hpi');
  for (const cbsa of codes) {
    for (let q = 0; q < QUARTERS; q++) {
      yield { cbsa, period_start: quarter(q), value: figure(random, 20 + q, 22 + q, 2) };
    }
  }
}

function* series(): Iterable<Document> {
  for (let i = 0; i < SERIES; i++) {
    yield {
      series_id: seriesId(i),
      title: `Series ${i}`,
      kind: 'macro',
      geography: 'United States',
      cadence: 'monthly',
      source: 'Benchmark',
      units: 'Index',
      seasonal_adjustment: 'SA',
      observation_start: month(0),
      observation_end: month(OBSERVATIONS - 1),
      last_updated: null,
      notes: null,
    };
  }
}

function* observations(): Iterable<Document> {
  const random = randomFrom('observations');
  for (let i = 0; i < SERIES; i++) {
    for (let m = 0; m < OBSERVATIONS; m++) {
      yield { series_id: seriesId(i), period_start: month(m), value: figure(random, 0, 100, 3) };
    }
  }
}

const run = (index: number) => ({
  run_id: index + 1,
  run_at: `${2024 + Math.floor(index / 4)}-${String((index % 4) * 3 + 3).padStart(2, '0')}-01T00:00:00Z`,
  model_version: 'bench-1.0.0',
  horizon_months: 12,
});

function* forecastRuns(): Iterable<Document> {
  for (let i = 0; i < RUNS; i++) {
    const { run_id, ...rest } = run(i);
    yield { id: run_id, status: 'completed', ...rest, features: null, notes: null };
  }
}

function* forecasts(codes: readonly string[]): Iterable<Document> {
  const random = randomFrom('forecasts');
  for (let r = 0; r < RUNS; r++) {
    for (const [i, cbsa] of codes.entries()) {
      const point = figure(random, -8, 14);
      yield {
        cbsa,
        ...run(r),
        target_period: quarter(QUARTERS - RUNS + r),
        point,
        lower_80: point - 5,
        upper_80: point + 5,
        signal: oneOf(i, signals),
        risk_score: oneOf(i, grades),
        realized: null,
        realized_as_of: null,
      };
    }
  }
}

function* inBatches(rows: Iterable<Document>): Iterable<Document[]> {
  let batch: Document[] = [];
  for (const row of rows) {
    if (batch.push(row) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const manifest = (scale: number): Manifest => ({
  format: 1,
  version: `bench-${scale}x`,
  created: '2026-01-01T00:00:00Z',
  vintage: '2025-12-31',
  synthetic: true,
  sources: [],
});

/** Writes a dataset directory. @param scale how many times 410 markets, up to 219 */
export const writeDataset = async (directory: string, scale: number): Promise<void> => {
  const codes = marketCodes(scale);
  await writeDirectory(directory, manifest(scale), {
    markets: inBatches(markets(codes)),
    hpi: inBatches(hpi(codes)),
    series: inBatches(series()),
    observations: inBatches(observations()),
    forecast_runs: inBatches(forecastRuns()),
    forecasts: inBatches(forecasts(codes)),
    backtests: [],
  });
};
