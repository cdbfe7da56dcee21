/** What several groups of endpoints have in common: the market lookup, the runs, and shapes. */
import type { JsonSchema } from '../core/contracts/json-schema.js';
import type { Parameter, SnapshotReader } from '../core/contracts/plugin.js';
import type { Query } from '../core/contracts/storage.js';
import { ApiError, defineError, errors } from '../core/errors.js';
import { metroAreas } from '../metro/areas.js';
import { cbsa, date, type ForecastRun, forecastRuns, type Market, markets } from '../metro/collections.js';

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

/** The first and the last day of a part of a list, both included. */
export interface Span {
  readonly since?: string;
  readonly until?: string;
}

/** Of lists that have a period in each row: its first day, or a forecast's target. */
export const spanParameters: Readonly<Record<keyof Span, Parameter>> = {
  since: { description: 'Earliest period, inclusive.', schema: date, example: '2024-01-01' },
  until: { description: 'Latest period, inclusive.', schema: date, example: '2025-12-31' },
};

/** A span that ends before it begins is a mistake, not an empty list. */
export const checkSpan = ({ since, until }: Span): void => {
  if (since === undefined || until === undefined || since <= until) return;
  const issue = `must not be before since=${since}`;
  throw new ApiError(errors.invalid_parameter, `The query parameter "until" ${issue}.`, {
    details: [{ in: 'query', name: 'until', issue }],
  });
};

/** The span as part of a query on `period_start`. */
export const periodRange = ({ since, until }: Span): Pick<Partial<Query>, 'range'> =>
  since === undefined && until === undefined
    ? {}
    : {
        range: {
          field: 'period_start',
          ...(since !== undefined && { from: since }),
          ...(until !== undefined && { to: until }),
        },
      };

/** Throws `market_not_found`. */
export const requireMarket = async (snapshot: SnapshotReader, cbsa: string): Promise<Market> => {
  const market = await snapshot.get(markets, [cbsa]);
  if (market) return market;
  const { name, divisions = [] } = metroAreas.get(cbsa) ?? {};
  const sentence =
    divisions.length === 0
      ? `There is no market with the CBSA code ${cbsa}. /markets lists all.`
      : `${name} (${cbsa}) is no market itself, but its divisions are: ${divisions.join(', ')}.`;
  throw new ApiError(marketNotFound, sentence);
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
