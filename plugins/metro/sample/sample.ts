/** The sample data is fictitious, but its forecasts are computed by the real model. */
import { compareScalars, writeDirectory } from 'metro-forecast-api/adapter';
import type { Document, Manifest } from 'metro-forecast-api/plugin';
import { type Forecast, type ForecastRun, METRO_HPI, type Series } from '../collections.js';
import { defaultRules } from '../forecast/default-rules.js';
import { defaultForecastOptions } from '../forecast/model.js';
import { macroSeries, panelsOf } from '../forecast/panel.js';
import { isOf, makeRuns, withNewestRun } from '../forecast/runs.js';
import { toHpi, toMarket, toObservations, toSource, toWideMarkets } from '../import/documents.js';
import { fredEntryOf } from '../import/fred-catalog.js';
import { quarterStart } from '../periods.js';
import { FIRST_QUARTER, LAST_QUARTER, sampleHousePrices, sampleWideIndexes } from './house-prices.js';
import { type SampleSeries, sampleMacro } from './macro.js';

export const writeSample = async (directory: string): Promise<void> => {
  const { manifest, collections } = makeSample();
  const batches = Object.entries(collections).map(([name, rows]) => [name, [rows]] as const);
  await writeDirectory(directory, manifest, Object.fromEntries(batches));
};

const VERSION = 'sample-7';
const CREATED = '2026-10-15T00:00:00Z';
const VINTAGE = '2026-09-01';
const LOADED = '2026-09-01T12:00:00Z';
const RUNS = 20;
const NOTES = 'Synthetic sample: made up by a seeded generator, not observed.';

interface Sample {
  readonly manifest: Manifest;
  readonly collections: Readonly<Record<string, readonly Document[]>>;
}

const metroSeries: Series = {
  series_id: METRO_HPI,
  title: 'House Price Index by Metro Area (synthetic sample)',
  kind: 'metro',
  geography: 'Metropolitan statistical areas of the United States',
  cadence: 'quarterly',
  source: 'Synthetic sample',
  units: 'Index 1996Q3=100',
  seasonal_adjustment: 'NSA',
  observation_start: quarterStart(FIRST_QUARTER),
  observation_end: quarterStart(LAST_QUARTER),
  last_updated: LOADED,
  notes: NOTES,
};

const toSeries = ({ id, title, cadence, units, seasonal_adjustment, days }: SampleSeries): Series => ({
  series_id: id,
  title: `${title} (synthetic sample)`,
  kind: 'macro',
  geography: fredEntryOf(id)?.geography ?? 'United States',
  cadence,
  source: 'Synthetic sample',
  units,
  seasonal_adjustment,
  observation_start: days[0] ?? null,
  observation_end: days.at(-1) ?? null,
  last_updated: LOADED,
  notes: NOTES,
});

/** The sample contains a failed and an unfinished run, which endpoints must not show. */
const incompleteRuns = (newest: ForecastRun): ForecastRun[] => [
  {
    ...newest,
    id: 20260,
    status: 'failed',
    run_at: '2026-10-01T00:00:00Z',
    notes: 'Failed: stopped after five markets.',
  },
  { ...newest, id: 20263, status: 'running', run_at: '2026-10-15T00:00:00Z', notes: 'Waits for the index of 2026Q3.' },
];

const rowsOfFailedRun = (failed: ForecastRun, newest: readonly Forecast[]): Forecast[] =>
  newest.slice(-5).map((row) => ({ ...row, run_id: failed.id, run_at: failed.run_at, realized: null }));

/** Returns the same rows on every call. `VERSION` must change whenever the rows change. */
export const makeSample = (): Sample => {
  const index = sampleHousePrices();
  const macro = [...sampleMacro(), ...sampleWideIndexes()].sort((a, b) => compareScalars(a.id, b.id));
  const markets = [...macro.flatMap(toWideMarkets), ...index.map(toMarket)].sort((a, b) =>
    compareScalars(a.cbsa, b.cbsa),
  );
  const hpi = index.flatMap(toHpi);
  const observations = macro.flatMap(toObservations);
  const series = [metroSeries, ...macro.map(toSeries)].sort((a, b) => compareScalars(a.series_id, b.series_id));

  const made = makeRuns({
    ...panelsOf(markets, hpi, observations, macroSeries(series, observations)),
    options: defaultForecastOptions,
    rules: defaultRules,
    span: { last: RUNS },
    vintage: VINTAGE,
    created: new Date(CREATED),
  });
  const newest = made.runs.findLast(isOf()) as ForecastRun;
  const [failed, running] = incompleteRuns(newest) as [ForecastRun, ForecastRun];
  const newestRows = made.forecasts.filter(({ run_id }) => run_id === newest.id);
  const forecasts = [...made.forecasts, ...rowsOfFailedRun(failed, newestRows)];

  return {
    manifest: {
      format: 1,
      version: VERSION,
      created: CREATED,
      vintage: VINTAGE,
      synthetic: true,
      sources: series.map((each) => toSource(each, null)),
    },
    collections: {
      markets: withNewestRun(markets, made),
      hpi,
      series,
      observations,
      forecast_runs: [...made.runs, failed, running].sort((a, b) => a.id - b.id),
      forecasts: forecasts.sort((a, b) => a.run_id - b.run_id || compareScalars(a.cbsa, b.cbsa)),
      backtests: made.backtests,
    } as unknown as Record<string, readonly Document[]>,
  };
};
