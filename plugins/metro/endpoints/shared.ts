/** What several groups of endpoints have in common: the market lookup, the runs, and shapes. */
import {
  ApiError,
  defineError,
  type JsonSchema,
  type Parameter,
  type SnapshotReader,
  schemas,
} from 'metro-forecast-api/plugin';
import { metroAreas } from '../areas.js';
import { cbsa, type ForecastRun, forecastRuns, type Market, markets } from '../collections.js';

const { record } = schemas;

export const marketNotFound = defineError({
  code: 'market_not_found',
  status: 404,
  sentence: 'There is no market with this CBSA code. /markets lists all of them.',
  when: 'No market has this CBSA code.',
});

export const cbsaParameter = {
  description: 'Core-based statistical area code of the market: exactly 5 digits.',
  schema: { type: cbsa.type, pattern: cbsa.pattern },
  example: '26420',
  foundIn: {
    listMarkets: '/data/0/cbsa',
    getMarket: '/cbsa',
    listForecasts: '/data/0/cbsa',
    listSignals: '/data/0/cbsa',
    listMovers: '/data/0/cbsa',
  },
} as const satisfies Parameter;

/** Throws `market_not_found`. */
export const requireMarket = async (snapshot: SnapshotReader, cbsa: string): Promise<Market> => {
  const market = await snapshot.get(markets, [cbsa]);
  if (market) return market;
  const { name, divisions = [] } = metroAreas.get(cbsa) ?? {};
  const sentence =
    divisions.length === 0
      ? `There is no market with the CBSA code ${cbsa}. /markets lists all.`
      : `${name} (${cbsa}) is not a market, but its divisions are: ${divisions.join(', ')}.`;
  throw new ApiError(marketNotFound, sentence);
};

/** All runs, newest first, including failed runs. */
export const newestRuns = (snapshot: SnapshotReader): Promise<readonly ForecastRun[]> =>
  snapshot.find(forecastRuns, { order: ['run_at', 'id'], descending: true });

/** Completed runs, newest first. */
export const completedRuns = async (snapshot: SnapshotReader): Promise<ForecastRun[]> =>
  (await newestRuns(snapshot)).filter(({ status }) => status === 'completed');

/** The envelope of every list. */
export const listOf = <const S extends JsonSchema>(items: S) => record({ data: { type: 'array', items } });

/** Subtracts rounded numbers without binary rounding errors. */
export const difference = (a: number, b: number): number => Number((a - b).toFixed(6));
