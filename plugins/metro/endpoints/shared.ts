/** What several groups of endpoints have in common: the market lookup, the runs, and shapes. */
import {
  ApiError,
  defineError,
  invalidParameter,
  type JsonSchema,
  type Parameter,
  type SnapshotReader,
  schemas,
} from 'metro-forecast-api/plugin';
import { metroAreas } from '../areas.js';
import { cbsa, date, type ForecastRun, forecastRuns, type Market, markets } from '../collections.js';

const { record } = schemas;

export const marketNotFound = defineError({
  code: 'market_not_found',
  status: 404,
  sentence: 'There is no market with this CBSA code. /markets lists all of them.',
  when: 'The CBSA code is not one of a market.',
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

/** The values of a parameter that takes several, separated by commas: each once. */
export const listed = (value: string): string[] => [...new Set(value.split(',').map((part) => part.trim()))];

/** The first and the last day of a part of a list, both included. */
export interface Span {
  readonly since?: string;
  readonly until?: string;
}

/** Of lists that have a period in each row: its first day, or a forecast's target. */
export const spanParameters = {
  since: { description: 'Earliest period, inclusive.', schema: date, example: '2024-01-01' },
  until: { description: 'Latest period, inclusive.', schema: date, example: '2025-12-31' },
} as const satisfies Record<keyof Span, Parameter>;

/** A span that ends before it begins is a mistake, not an empty list. */
export const checkSpan = ({ since, until }: Span): void => {
  if (since === undefined || until === undefined || since <= until) return;
  throw invalidParameter('query', 'until', `must not be before since=${since}`);
};

/** The span as part of a query on `period_start`. */
export const periodRange = ({ since, until }: Span) =>
  ({ range: { field: 'period_start', from: since, to: until } }) as const;

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

/** The envelope of every list. */
export const listOf = <const S extends JsonSchema>(items: S) => record({ data: { type: 'array', items } });

/** Differences of rounded figures, without the noise of binary fractions. */
export const difference = (a: number, b: number): number => Number((a - b).toFixed(6));
