import { datasetVersion } from './dataset-version.js';
import { startTestApp } from './test-app.js';

export const PATHS = [
  '/markets',
  '/markets/12060',
  '/markets/12060/history',
  '/markets/26420/forecast-track',
  '/movers',
  '/forecast-backtest',
  '/forecasts',
  '/forecasts/26420/history',
  '/forecast-runs',
  '/observations?series_id=UNRATE',
  '/observations?series_id=metro_hpi',
  '/series',
  '/signals',
];

export type KnownBodies = ReadonlyMap<string, ReadonlyMap<string, string>>;

export const knownBodies = async (numbers: readonly number[]): Promise<KnownBodies> => {
  const known = new Map<string, ReadonlyMap<string, string>>();
  for (const number of numbers) {
    const version = datasetVersion(number);
    const alone = await startTestApp(version);
    const bodies = new Map<string, string>();
    for (const path of PATHS) bodies.set(path, (await alone.get(path)).text);
    await alone.close();
    known.set(version.manifest.version, bodies);
  }
  return known;
};
