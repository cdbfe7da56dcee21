import {
  ApiError,
  defineError,
  type JsonSchema,
  type Parameter,
  type SnapshotReader,
  schemas,
} from 'metro-forecast-api/plugin';
import { metroAreas } from '../areas.js';
import { cbsa, type ForecastRun, forecastRuns, type Market, markets, runOrigin } from '../collections.js';
import { HORIZON_MONTHS, HORIZONS } from '../forecast/model.js';

const { nullable, record } = schemas;

export const marketNotFound = defineError({
  code: 'market_not_found',
  status: 404,
  sentence: 'There is no market with this CBSA code. /markets lists all of them.',
  when: 'No market has this CBSA code.',
});

export const cbsaParameter = {
  description:
    'Core-based statistical area code of the market: exactly 5 digits. `00000` is the nation, and `000` followed by a FIPS ' +
    'code is a state.',
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

export const cbsaList = (what: string) =>
  ({
    description: `${what} 5-digit codes, separated by commas.`,
    schema: { type: 'array', items: cbsaParameter.schema },
    example: [cbsaParameter.example],
  }) as const satisfies Parameter;

/** Sorts the codes, so that requests with a different order of codes share a cached response. */
export const sortedCodes = <Input extends { readonly cbsa?: readonly string[] }>({ cbsa, ...others }: Input): Input =>
  ({ ...others, ...(cbsa !== undefined && { cbsa: [...cbsa].sort() }) }) as unknown as Input;

/** @throws ApiError `market_not_found` */
export const requireMarket = async (snapshot: SnapshotReader, cbsa: string): Promise<Market> => {
  const market = await snapshot.get(markets, [cbsa]);
  if (market) return market;
  const { name, divisions = [] } = metroAreas.get(cbsa) ?? {};
  const sentence =
    divisions.length === 0
      ? `There is no market with the CBSA code ${cbsa}. /markets lists all of them.`
      : `${name} (${cbsa}) is not a market, but its divisions are: ${divisions.join(', ')}.`;
  throw new ApiError(marketNotFound, sentence);
};

export const newestRuns = (snapshot: SnapshotReader): Promise<readonly ForecastRun[]> =>
  snapshot.find(forecastRuns, { order: ['run_at', 'id'], descending: true });

export const completedRuns = async (
  snapshot: SnapshotReader,
  horizon: number = HORIZON_MONTHS,
): Promise<ForecastRun[]> =>
  (await newestRuns(snapshot)).filter(
    ({ status, horizon_months }) => status === 'completed' && horizon_months === horizon,
  );

export const horizonParameter = {
  description: 'Forecast horizon in months.',
  schema: { type: 'integer', enum: HORIZONS, default: HORIZON_MONTHS },
  example: HORIZON_MONTHS,
} as const satisfies Parameter;

export const originProperties = {
  basis: runOrigin.basis,
  vintage: { ...nullable(runOrigin.vintage), description: runOrigin.vintage.description },
} as const;

export const originOf = ({ basis, vintage }: ForecastRun) => ({
  basis: basis ?? 'reconstructed',
  vintage: vintage ?? null,
});

export const listResponse = <const S extends JsonSchema>(description: string, items: S, example: object) => ({
  description,
  schema: record({ data: { type: 'array', items } }),
  example: { data: [example] },
});

/** Subtraction of rounded numbers causes floating-point errors, so the result is rounded again. */
export const difference = (a: number, b: number): number => Number((a - b).toFixed(6));
