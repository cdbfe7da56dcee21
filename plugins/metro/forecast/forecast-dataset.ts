import type { Dataset } from 'metro-forecast-api/adapter';
import {
  backtests,
  type Forecast,
  type ForecastRun,
  forecastRuns,
  forecasts,
  type Hpi,
  hpi,
  type Market,
  markets,
  type Observation,
  observations,
  type Series,
  series,
} from '../collections.js';
import { readAll } from '../rows.js';
import { macroSeries, panelsOf } from './panel.js';
import { makeRuns, type Runs, type RunsInput, withNewestRun } from './runs.js';

export interface ForecastInput extends Omit<RunsInput, 'panel' | 'nationAndStates' | 'vintage' | 'kept'> {
  /** Whether to recompute existing runs. Runs published with an earlier vintage are never recomputed. */
  readonly recompute?: boolean | undefined;
}

export interface ForecastDataset {
  readonly made: Runs;
  readonly replacedRuns: readonly number[];
  readonly replaced: Readonly<Record<string, readonly object[]>>;
}

const wasPublishedEarlier = (run: ForecastRun, vintage: string): boolean =>
  run.basis === 'published' && run.vintage !== vintage;

/**
 * Incomplete runs are recomputed. Runs without `basis` are also recomputed, because they might have used other rules.
 */
const keptOf = async (dataset: Dataset, recompute: boolean) => {
  const old = await readAll<ForecastRun>(dataset.read(forecastRuns.name));
  const { vintage } = dataset.manifest;
  const runs = old.filter(
    (run) => run.status === 'completed' && run.basis !== undefined && (!recompute || wasPublishedEarlier(run, vintage)),
  );
  const ids = new Set(runs.map(({ id }) => id));
  const rows = (await readAll<Forecast>(dataset.read(forecasts.name))).filter(({ run_id }) => ids.has(run_id));
  return { kept: { runs, forecasts: rows }, replacedRuns: old.map(({ id }) => id).filter((id) => !ids.has(id)) };
};

/** @throws OperatorError if the index has invalid rows */
export const readPanels = async (dataset: Dataset, onRead?: (rows: number) => void) => {
  const known = await readAll<Market>(dataset.read(markets.name));
  const observed = await readAll<Observation>(dataset.read(observations.name));
  const macro = macroSeries(await readAll<Series>(dataset.read(series.name)), observed);
  const index = await readAll<Hpi>(dataset.read(hpi.name), onRead);
  return { known, ...panelsOf(known, index, observed, macro) };
};

/**
 * @param onRead called with the number of index rows read so far
 * @throws OperatorError if the index has invalid rows, no market can be forecast, or an input of the model is missing
 */
export const forecastDataset = async (
  dataset: Dataset,
  { recompute = false, ...input }: ForecastInput,
  onRead?: (rows: number) => void,
): Promise<ForecastDataset> => {
  const { known, ...panels } = await readPanels(dataset, onRead);
  const { kept, replacedRuns } = await keptOf(dataset, recompute);
  const made = makeRuns({ ...input, ...panels, vintage: dataset.manifest.vintage, kept });
  return {
    made,
    replacedRuns,
    replaced: {
      [markets.name]: withNewestRun(known, made),
      [forecastRuns.name]: made.runs,
      [forecasts.name]: made.forecasts,
      [backtests.name]: made.backtests,
    },
  };
};
