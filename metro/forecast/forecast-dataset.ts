/** Forecasts of a whole dataset: its runs in the place of those that were there, all else unchanged. */
import type { Dataset } from '../../core/contracts/storage.js';
import { backtests, forecastRuns, forecasts, type Hpi, hpi, type Market, markets } from '../collections.js';
import { inOneBatch, type Rows, readAll } from '../rows.js';
import { createPanel } from './panel.js';
import { makeRuns, type Runs, type RunsInput, withNewestRun } from './runs.js';

export interface ForecastDataset {
  readonly made: Runs;
  /** Every collection of the dataset, in key order. May be read more than once. */
  readonly collections: ReadonlyMap<string, () => Rows>;
}

/**
 * @param names of the dataset's collections; those that it lacks count as empty
 * @param onRead told the rows of the index read so far
 * @throws OperatorError when the index has bad rows, or no market can be forecast
 */
export const forecastDataset = async (
  dataset: Dataset,
  names: readonly string[],
  input: Omit<RunsInput, 'panel' | 'vintage'>,
  onRead?: (rows: number) => void,
): Promise<ForecastDataset> => {
  const read = (name: string): Rows => (names.includes(name) ? dataset.read(name) : inOneBatch([]));
  const known = await readAll<Market>(read(markets.name));
  const panel = createPanel(known, await readAll<Hpi>(read(hpi.name), onRead));
  const made = makeRuns({ ...input, panel, vintage: dataset.manifest.vintage });

  const collections = new Map<string, () => Rows>(names.map((name) => [name, () => dataset.read(name)]));
  collections.set(markets.name, () => inOneBatch(withNewestRun(known, made)));
  collections.set(forecastRuns.name, () => inOneBatch(made.runs));
  collections.set(forecasts.name, () => inOneBatch(made.forecasts));
  collections.set(backtests.name, () => inOneBatch(made.backtest ? [made.backtest] : []));
  return { made, collections };
};
