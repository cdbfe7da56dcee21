/** Endpoints for markets with their latest figures, for their house price index, and for areas. */

import {
  ApiError,
  chosenFields,
  dataRoute,
  defineError,
  definePlugin,
  guidePage,
  version,
} from 'metro-forecast-api/plugin';
import { metroAreas } from '../areas.js';
import { cbsa, date, hpi, type Market, markets, nullable, record, standardError, text } from '../collections.js';
import { metroService } from '../service.js';
import { listParameters } from './list-parameters.js';
import { cbsaParameter, listOf, marketNotFound, requireMarket } from './shared.js';
import { checkSpan, normalizeSpan, periodRange, periodsOfMarket, spanParameters } from './spans.js';

/** The schema of responses. `fields` can remove all properties except these two. */
export const marketSchema = { title: 'Market', ...markets.schema, required: ['cbsa', 'name'] } as const;

export const marketList = listParameters<Market>(marketSchema);

export const marketExample: Market = {
  id: 26420,
  cbsa: '26420',
  name: 'Houston-Pasadena-The Woodlands, TX',
  signal: 'hold',
  risk_score: 'B',
  yoy_price: 2.31,
  forecast_12m: 3.05,
  lower_80: -1.2,
  upper_80: 7.3,
  decline_probability: 0.14,
  target_period: '2026-10-01',
  run_id: 20254,
  basis: 'published',
};

/** The row of a market in responses, with null for values that the dataset lacks. */
export const marketRow = ({
  lower_80 = null,
  upper_80 = null,
  decline_probability = null,
  target_period = null,
  run_id = null,
  basis = null,
  ...market
}: Market): Market => ({ ...market, lower_80, upper_80, decline_probability, target_period, run_id, basis });

const areaNotFound = defineError({
  code: 'area_not_found',
  status: 404,
  sentence: 'There is no metropolitan area or division with this code. /areas lists all of them.',
  when: 'The Census has no metropolitan area or division with this code.',
});

const coordinate = (limit: number, description: string) => ({
  type: 'number',
  minimum: -limit,
  maximum: limit,
  description,
});

const areaSchema = {
  title: 'Area',
  ...record({
    cbsa,
    name: { ...text, description: 'Title by the Office of Management and Budget, July 2023.' },
    kind: { type: 'string', enum: ['metropolitan', 'division'] },
    states: { type: 'array', items: text, description: 'Postal codes of the states, in the order of the title.' },
    parent: { ...nullable(cbsa), description: 'Code of the metropolitan area of a division.' },
    divisions: { type: 'array', items: cbsa, description: 'Codes of the divisions of a metropolitan area.' },
    latitude: coordinate(
      90,
      'Latitude of the centre in degrees, from the Census Gazetteer of 2025. Divisions have the centre of their parent.',
    ),
    longitude: coordinate(180, 'Longitude of the centre in degrees east of Greenwich.'),
    has_index: { type: 'boolean', description: 'Whether the area is a market of this snapshot.' },
  }),
};

const areaExample = {
  cbsa: '35004',
  name: 'Nassau County-Suffolk County, NY',
  kind: 'division',
  states: ['NY'],
  parent: '35620',
  divisions: [],
  latitude: 40.7,
  longitude: -74,
  has_index: true,
};

const hpiObservation = {
  title: 'HpiObservation',
  ...record(
    {
      period_start: { ...date, description: 'First day of the quarter.' },
      value: { type: 'number', description: 'Index level.' },
    },
    {
      standard_error: {
        ...nullable(standardError),
        description: 'Standard error of `value`. Only with `fields`.',
      },
    },
  ),
};

const historyFields = chosenFields(hpiObservation);

export default definePlugin({
  name: 'markets',
  version,
  description: 'Metro areas with their latest signal, risk grade and forecast, their index history and their location.',
  collections: [markets, hpi],
  info: metroService,
  mounts: () => [
    guidePage('/docs/calling', 'Calling the API', 'guides/calling.md'),
    guidePage('/docs/vintages', 'Vintages', 'explanation/vintages.md'),
  ],
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of routes
  routes: () => [
    dataRoute({
      path: '/markets',
      operationId: 'listMarkets',
      vintages: true,
      summary: 'Every market with its latest signal, risk grade and 12-month forecast',
      description: 'Every market of the snapshot, ordered by CBSA code unless `sort` says otherwise.',
      parameters: { query: marketList.parameters },
      columns: marketList.columns,
      normalize: marketList.normalize,
      response: {
        description: 'All markets.',
        schema: listOf(marketSchema),
        example: { data: [marketExample] },
        headers: marketList.headers,
      },
      handler: async (input, context) =>
        marketList.answer((await context.snapshot.find(markets)).map(marketRow), input, context),
    }),
    dataRoute({
      path: '/markets/{cbsa}',
      operationId: 'getMarket',
      vintages: true,
      summary: 'One market',
      parameters: { path: { cbsa: cbsaParameter } },
      errors: [marketNotFound],
      response: { description: 'The market.', schema: marketSchema, example: marketExample },
      handler: async ({ cbsa }, { snapshot }) => marketRow(await requireMarket(snapshot, cbsa)),
    }),
    dataRoute({
      path: '/areas',
      operationId: 'listAreas',
      vintages: true,
      summary: 'Every metropolitan area of the United States and its divisions',
      description:
        'All areas by code, also without an index. For a divided metropolitan area, FHFA publishes the indexes of its divisions.',
      response: { description: 'All areas.', schema: listOf(areaSchema), example: { data: [areaExample] } },
      handler: async (_input, { snapshot }) => {
        const indexed = new Set((await snapshot.find(markets)).map((market) => market.cbsa));
        return { data: [...metroAreas.values()].map((area) => ({ ...area, has_index: indexed.has(area.cbsa) })) };
      },
    }),
    dataRoute({
      path: '/areas/{cbsa}',
      operationId: 'getArea',
      vintages: true,
      summary: 'One metropolitan area or division',
      parameters: {
        path: {
          cbsa: {
            ...cbsaParameter,
            description: 'Code of the area or division: exactly 5 digits.',
            foundIn: { listAreas: '/data/0/cbsa' },
          },
        },
      },
      errors: [areaNotFound],
      response: { description: 'The area.', schema: areaSchema, example: areaExample },
      handler: async ({ cbsa }, { snapshot }) => {
        const area = metroAreas.get(cbsa);
        if (!area) throw new ApiError(areaNotFound);
        return { ...area, has_index: (await snapshot.get(markets, [cbsa])) !== undefined };
      },
    }),
    dataRoute({
      path: '/markets/{cbsa}/history',
      operationId: 'getMarketHistory',
      vintages: true,
      summary: 'The full quarterly house price index of one market',
      description: 'Oldest quarter first. Quarters without a published value are left out.',
      parameters: {
        path: { cbsa: cbsaParameter },
        query: {
          ...spanParameters,
          fields: {
            ...historyFields.parameter,
            description:
              'With `standard_error`, rows have it in addition to `period_start` and `value`. It is null where the dataset ' +
              'has none.',
          },
        },
      },
      errors: [marketNotFound],
      check: checkSpan,
      columns: ({ fields = [] }) => historyFields.columns(fields),
      normalize: ({ fields, ...others }) =>
        fields?.includes('standard_error') ? { ...others, fields: historyFields.columns(fields)! } : others,
      normalizeIn: (input, snapshot) => normalizeSpan(input, [periodsOfMarket(snapshot, input.cbsa)]),
      response: {
        description: 'The index, one row per quarter.',
        schema: listOf(hpiObservation),
        example: { data: [{ period_start: '2025-10-01', value: 366.32 }] },
      },
      handler: async ({ cbsa, ...span }, { snapshot }) => {
        await requireMarket(snapshot, cbsa);
        const rows = await snapshot.find(hpi, { equal: { cbsa }, ...periodRange(span) });
        return {
          data: rows.map(({ period_start, value, standard_error = null }) => ({ period_start, value, standard_error })),
        };
      },
    }),
  ],
});
