import {
  ApiError,
  dataRoute,
  defineError,
  definePlugin,
  excerpt,
  type FromSchema,
  invalidParameter,
  type SnapshotReader,
  version,
} from 'metro-forecast-api/plugin';
import { seriesOfArea } from '../areas.js';
import { cbsa, date, hpi, METRO_HPI, markets, observations, series, text } from '../collections.js';
import { seriesRoute } from './series-route.js';
import { cbsaList, listResponse, marketNotFound, requireMarket, sortedCodes } from './shared.js';
import {
  checkSpan,
  normalizeSpan,
  periodRange,
  periodsOfIndex,
  periodsOfMarket,
  periodsOfSeries,
  type Span,
  spanParameters,
} from './spans.js';
import { DEFLATOR, type Described, type Prices, UNITS, type Units, unitsOf, unsupported } from './units.js';

const seriesNotFound = defineError({
  code: 'series_not_found',
  status: 404,
  sentence: 'There is no series with this identifier. /series lists all of them.',
  when: 'The catalogue has no series with this identifier.',
});

const macroObservation = {
  title: 'MacroObservation',
  type: 'object',
  required: ['period_start', 'value'],
  additionalProperties: false,
  properties: {
    series_id: { ...text, description: 'Identifier of the series. Only present if several series are requested.' },
    period_start: { ...date, description: 'First day of the period.' },
    value: { type: 'number', description: 'Value in the units of the series, or in the requested `units`.' },
    cbsa: { ...cbsa, description: 'Code of the market. Only present in rows of `metro_hpi`.' },
    deflator: { ...text, description: 'Price index used to deflate the values. Only present with `units=real`.' },
    base_period: { ...date, description: 'Base month of the prices. Only present with `units=real`.' },
  },
} as const;

type MacroObservation = FromSchema<typeof macroObservation>;

const columnsFor = ({ series_id, units }: { readonly series_id: readonly string[]; readonly units: Units }) => [
  ...(series_id.length > 1 ? ['series_id'] : []),
  'period_start',
  'value',
  'cbsa',
  ...(units === 'real' ? ['deflator', 'base_period'] : []),
];

/** @throws ApiError with status 400 if the dataset has no consumer price index */
const pricesOf = async (snapshot: SnapshotReader): Promise<Prices> => {
  const rows = await snapshot.find(observations, { equal: { series_id: DEFLATOR } });
  const months = new Map(rows.map(({ period_start, value }) => [period_start, value]));
  const base = rows.at(-1)?.period_start;
  if (base !== undefined) return { months, base };
  const advice = `this service does not have ${DEFLATOR}, the consumer price index that "real" divides by`;
  throw invalidParameter('query', 'units', `must be one of level, change, log, yoy here: ${advice}`);
};

/** @throws ApiError with status 400 if a series does not support the units */
const checkUnits = (units: Units, catalogued: readonly Described[]): void => {
  for (const one of catalogued) {
    const reason = unsupported(units, one);
    if (reason) throw invalidParameter('query', 'units', `must not be ${units} here: ${units} ${reason}`);
  }
};

interface Level {
  readonly cbsa?: string;
  readonly period_start: string;
  readonly value: number;
}

async function* levelsOf(
  snapshot: SnapshotReader,
  series_id: string,
  codes: readonly string[] | undefined,
  span: Span,
): AsyncGenerator<readonly Level[]> {
  const range = periodRange(span);
  if (series_id !== METRO_HPI) yield* snapshot.stream(observations, { equal: { series_id }, ...range });
  else if (!codes) yield* snapshot.stream(hpi, range);
  else for (const cbsa of codes) yield* snapshot.stream(hpi, { equal: { cbsa }, ...range });
}

interface RowsOptions extends Span {
  readonly catalogued: readonly Described[];
  readonly codes: readonly string[] | undefined;
  readonly units: Units;
  readonly prices: Prices | undefined;
}

type MakeRow = (cbsa: string | undefined, period_start: string, value: number) => MacroObservation;

/**
 * Returns a function that creates rows. Each kind of row has its own object literal, because V8 creates and serializes
 * these rows several times faster than rows with conditional properties.
 */
const rowMaker = (series_id: string, isNamed: boolean, base_period: string | undefined): MakeRow => {
  const deflator = DEFLATOR;
  const isOfMarkets = series_id === METRO_HPI;
  if (base_period !== undefined) {
    if (isNamed && isOfMarkets)
      return (cbsa, period_start, value) => ({ series_id, period_start, value, cbsa: cbsa!, deflator, base_period });
    if (isNamed) return (_, period_start, value) => ({ series_id, period_start, value, deflator, base_period });
    if (isOfMarkets)
      return (cbsa, period_start, value) => ({ period_start, value, cbsa: cbsa!, deflator, base_period });
    return (_, period_start, value) => ({ period_start, value, deflator, base_period });
  }
  if (isNamed && isOfMarkets) return (cbsa, period_start, value) => ({ series_id, period_start, value, cbsa: cbsa! });
  if (isNamed) return (_, period_start, value) => ({ series_id, period_start, value });
  if (isOfMarkets) return (cbsa, period_start, value) => ({ period_start, value, cbsa: cbsa! });
  return (_, period_start, value) => ({ period_start, value });
};

async function* rowsOf(snapshot: SnapshotReader, { catalogued, codes, units, prices, since = '', until }: RowsOptions) {
  const isWhole = since === '' || units === 'change' || units === 'yoy';
  const span: Span = { ...(!isWhole && { since }), ...(until !== undefined && { until }) };
  for (const { series_id, cadence } of catalogued) {
    const makeRow = rowMaker(series_id, catalogued.length > 1, prices?.base);
    let market: string | undefined;
    let compute = unitsOf(units, cadence, prices);
    for await (const batch of levelsOf(snapshot, series_id, codes, span)) {
      const rows: MacroObservation[] = [];
      for (const { cbsa, period_start, value: level } of batch) {
        if (cbsa !== market) {
          market = cbsa;
          compute = unitsOf(units, cadence, prices);
        }
        const value = compute(period_start, level);
        if (value !== undefined && period_start >= since) rows.push(makeRow(cbsa, period_start, value));
      }
      yield rows;
    }
  }
}

export default definePlugin({
  name: 'observations',
  version,
  description: 'Raw observations of macro series and of the metro index, and the catalogue of series.',
  collections: [markets, hpi, series, observations],
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of routes
  routes: () => [
    dataRoute({
      path: '/observations',
      operationId: 'listObservations',
      vintages: true,
      summary: 'Observations of one or several series',
      description:
        'Ordered by series as in the request, then oldest first. Rows of `metro_hpi` are ordered by market, then date. ' +
        'Missing values are left out. The parameter `cbsa` is only allowed with `series_id=metro_hpi`.',
      parameters: {
        query: {
          series_id: {
            description:
              'Identifier of a macro series (see `/series`), or `metro_hpi` for the house price index of the metros. Separate ' +
              'several values with commas. Each row then includes its `series_id`.',
            schema: { type: 'array', items: text },
            required: true,
            example: [METRO_HPI],
            foundIn: { listSeries: '/data/0/series_id' },
          },
          ...spanParameters,
          cbsa: cbsaList('Restricts `metro_hpi` to these markets.'),
          units: {
            description:
              '`level`: as published. `change`: difference from the previous period; for daily and irregular series, from ' +
              'the previous observation. `log`: natural logarithm. `yoy`: percent change from the same period of the ' +
              'previous year; for weekly series, from 52 weeks earlier; for daily and irregular series, from the last ' +
              'observation on or before the same date. `real`: amounts of money and price indexes, adjusted to the prices ' +
              'of `base_period`, the newest month of CPIAUCSL. For periods longer than a month, the prices are the mean ' +
              'over the months, and the period is omitted if a month is missing. Values that cannot be computed are ' +
              'omitted. Computed values have 8 decimals.',
            schema: { type: 'string', enum: UNITS, default: 'level' },
            example: 'level',
          },
        },
      },
      errors: [marketNotFound, seriesNotFound],
      response: listResponse('The observations.', macroObservation, {
        period_start: '2025-10-01',
        value: 366.32,
        cbsa: '26420',
      }),
      columns: columnsFor,
      check({ series_id, cbsa, ...span }) {
        checkSpan(span);
        if (cbsa !== undefined && !series_id.includes(METRO_HPI)) {
          throw invalidParameter('query', 'cbsa', `is allowed with series_id=${METRO_HPI} only`);
        }
      },
      normalize: sortedCodes,
      async normalizeIn(input, snapshot) {
        if (input.since === undefined && input.until === undefined) return input;
        const [code, ...others] = input.cbsa ?? [];
        const isOne = code !== undefined && others.length === 0;
        const ofIndex = () => (isOne ? periodsOfMarket(snapshot, code) : periodsOfIndex(snapshot));
        return normalizeSpan(
          input,
          input.series_id.map((id) => (id === METRO_HPI ? ofIndex() : periodsOfSeries(snapshot, id))),
        );
      },
      async handler({ series_id, cbsa: codes, ...asked }, { snapshot }) {
        for (const code of codes ?? []) {
          const { name } = await requireMarket(snapshot, code);
          const id = seriesOfArea(code);
          if (id)
            throw new ApiError(
              marketNotFound,
              `The index of ${name} is the series ${id} and not part of ${METRO_HPI}.`,
            );
        }
        const catalogued: Described[] = [];
        for (const id of series_id) {
          const entry = await snapshot.get(series, [id]);
          if (entry) catalogued.push(entry);
          else if (id === METRO_HPI)
            catalogued.push({ series_id: id, kind: 'metro', title: id, units: 'Index', cadence: 'quarterly' });
          else
            throw new ApiError(
              seriesNotFound,
              `There is no series ${JSON.stringify(excerpt(id))}. /series lists all of them.`,
            );
        }
        checkUnits(asked.units, catalogued);
        const prices = asked.units === 'real' ? await pricesOf(snapshot) : undefined;
        return { data: rowsOf(snapshot, { ...asked, catalogued, codes, prices }) };
      },
    }),
    seriesRoute,
  ],
});
