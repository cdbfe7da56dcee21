/** What several groups of endpoints have in common: the market lookup, the runs, and shapes. */
import type { JsonSchema } from '../core/contracts/json-schema.js';
import type { Parameter, SnapshotReader } from '../core/contracts/plugin.js';
import { ApiError, defineError } from '../core/errors.js';
import { cbsa, type ForecastRun, forecastRuns, type Market, markets } from '../metro/collections.js';

export const PLUGIN_VERSION = '1.0.0';

export const marketNotFound = defineError({
  code: 'market_not_found',
  status: 404,
  sentence: 'There is no market with this CBSA code. /markets lists all of them.',
  when: 'The CBSA code is not one of a market.',
});

export const cbsaParameter: Parameter = {
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
};

/** Throws `market_not_found`. */
export const requireMarket = async (snapshot: SnapshotReader, cbsa: string): Promise<Market> => {
  const market = await snapshot.get(markets, [cbsa]);
  if (!market) throw new ApiError(marketNotFound, `There is no market with the CBSA code ${cbsa}. /markets lists all.`);
  return market;
};

/** Newest first, whatever became of them. */
export const newestRuns = (snapshot: SnapshotReader): Promise<readonly ForecastRun[]> =>
  snapshot.find(forecastRuns, { order: ['run_at', 'id'], descending: true });

/** Newest first. */
export const completedRuns = async (snapshot: SnapshotReader): Promise<ForecastRun[]> =>
  (await newestRuns(snapshot)).filter(({ status }) => status === 'completed');

/** `Array.map` over batches as they are read. */
export async function* eachOf<T, U>(batches: AsyncIterable<readonly T[]>, map: (row: T) => U): AsyncGenerator<U[]> {
  for await (const batch of batches) yield batch.map((row) => map(row));
}

/** The envelope of every list. */
export const listOf = (items: JsonSchema): JsonSchema => ({
  type: 'object',
  required: ['data'],
  additionalProperties: false,
  properties: { data: { type: 'array', items } },
});

/** Differences of rounded figures, without the noise of binary fractions. */
export const difference = (a: number, b: number): number => Number((a - b).toFixed(6));
