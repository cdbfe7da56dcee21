import { openDirectory, StorageError, writeDirectory } from 'metro-forecast-api/adapter';
import { type Document, OperatorError } from 'metro-forecast-api/plugin';
import { type ForecastDataset, type ForecastInput, forecastDataset } from './forecast-dataset.js';

interface ForecastDirectoryOptions extends Omit<ForecastInput, 'created' | 'computed'> {
  /** Time at which the forecasts are computed. Default: now. */
  readonly time?: Date | undefined;
  /** Creation time of the new version. Default: `time`. */
  readonly created?: Date | undefined;
  readonly onRead?: (rows: number) => void;
}

export interface ForecastReport extends Pick<ForecastDataset, 'made' | 'replacedRuns'> {
  readonly version: string;
}

/**
 * Writes a new version of the dataset. The old version remains if an error occurs.
 * @throws OperatorError if the directory cannot be read or written, the index has invalid rows, or no market can be
 *   forecast
 */
export const forecastDirectory = async (
  directory: string,
  { time = new Date(), created = time, onRead, ...input }: ForecastDirectoryOptions,
): Promise<ForecastReport> => {
  try {
    const { dataset, manifest: old } = await openDirectory(directory);
    const { made, replacedRuns, replaced } = await forecastDataset(
      dataset,
      { ...input, created, computed: time },
      onRead,
    );
    const batches = Object.entries(replaced).map(([name, rows]) => [name, [rows as readonly Document[]]] as const);
    const manifest = { ...old, version: undefined, created: created.toISOString() };
    const { version } = await writeDirectory(directory, manifest, Object.fromEntries(batches));
    return { version, made, replacedRuns };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new OperatorError(`Cannot forecast from ${directory}:`, [error.message], { cause: error });
  }
};
