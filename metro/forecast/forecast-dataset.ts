/** Forecasts of a whole dataset, as the collections that they replace. */
import type { Dataset } from '../../core/contracts/storage.js';
import { backtests, forecastRuns, forecasts, type Hpi, hpi, type Market, markets } from '../collections.js';
import { readAll } from '../rows.js';
import { createPanel } from './panel.js';
import { makeRuns, type Runs, type RunsInput, withNewestRun } from './runs.js';

export interface ForecastDataset {
  readonly made: Runs;
  /** The rows of each collection that changes, in key order: markets, runs, forecasts and backtests. */
  readonly replaced: Readonly<Record<string, readonly object[]>>;
}

/**
 * @param onRead told the rows of the index read so far
 * @throws OperatorError when the index has bad rows, or no market can be forecast
 */
export const forecastDataset = async (
  dataset: Dataset,
  input: Omit<RunsInput, 'panel' | 'vintage'>,
  onRead?: (rows: number) => void,
): Promise<ForecastDataset> => {
  const known = await readAll<Market>(dataset.read(markets.name));
  const panel = createPanel(known, await readAll<Hpi>(dataset.read(hpi.name), onRead));
  const made = makeRuns({ ...input, panel, vintage: dataset.manifest.vintage });
  return {
    made,
    replaced: {
      [markets.name]: withNewestRun(known, made),
      [forecastRuns.name]: made.runs,
      [forecasts.name]: made.forecasts,
      [backtests.name]: made.backtest ? [made.backtest] : [],
    },
  };
};
