import {
  ApiError,
  dataRoute,
  defineError,
  definePlugin,
  guidePage,
  type JsonSchema,
  selection,
  version,
} from 'metro-forecast-api/plugin';
import { AREA_KINDS, type AreaKind, areaOf, kindOf, METRO_KINDS, metroAreas, nationAndStates } from '../areas.js';
import {
  cbsa,
  date,
  hpi,
  type Market,
  markets,
  nullable,
  observations,
  record,
  series,
  standardError,
  text,
} from '../collections.js';
import { metroService } from '../service.js';
import { isOfKind, kindParameter, listParameters, normalizeKind } from './list-parameters.js';
import { cbsaParameter, listResponse, marketNotFound, requireMarket } from './shared.js';
import { checkSpan, indexOfMarket, normalizeSpan, periodsOfMarket, spanParameters } from './spans.js';

/** Properties that callers can exclude with `fields` are not required. */
export const marketSchema = {
  title: 'Market',
  ...markets.schema,
  properties: {
    ...(markets.schema['properties'] as Readonly<Record<string, JsonSchema>>),
    kind: { type: 'string', enum: AREA_KINDS, description: 'Kind of area.' },
  },
  required: ['cbsa', 'name'],
} as const;

export type MarketRow = Market & { readonly kind: AreaKind };

const marketList = listParameters<MarketRow>(marketSchema);

export const marketExample: MarketRow = {
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
  kind: 'metropolitan',
};

export const marketRow = ({
  lower_80 = null,
  upper_80 = null,
  decline_probability = null,
  target_period = null,
  run_id = null,
  basis = null,
  ...market
}: Market): MarketRow => ({
  ...market,
  lower_80,
  upper_80,
  decline_probability,
  target_period,
  run_id,
  basis,
  kind: kindOf(market.cbsa),
});

const areaNotFound = defineError({
  code: 'area_not_found',
  status: 404,
  sentence: 'There is no area with this code. /areas lists all of them.',
  when: 'No area has this code.',
});

const coordinate = (limit: number, description: string) =>
  ({ type: 'number', minimum: -limit, maximum: limit, description }) as const;

const areaSchema = {
  title: 'Area',
  ...record({
    cbsa,
    name: { ...text, description: 'Title from the Office of Management and Budget (July 2023), or name of the state.' },
    kind: { type: 'string', enum: AREA_KINDS },
    states: {
      type: 'array',
      items: text,
      description: 'Postal codes of the states, in the order in which the title lists them.',
    },
    parent: { ...nullable(cbsa), description: 'For a division, the code of its metropolitan area.' },
    divisions: { type: 'array', items: cbsa, description: 'For a metropolitan area, the codes of its divisions.' },
    latitude: coordinate(
      90,
      'Latitude of the centre, in degrees. From the 2025 Census Gazetteer; for states, the centroid. A division has the same centre as its metro.',
    ),
    longitude: coordinate(180, 'Longitude of the centre in degrees east of Greenwich.'),
    has_index: { type: 'boolean', description: 'Whether the area is a market in this snapshot.' },
  }),
} as const;

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
        description: 'Standard error of `value`. Only present if requested with `fields`.',
      },
    },
  ),
};

const historyFields = selection.chosenFields(hpiObservation);

export default definePlugin({
  name: 'markets',
  version,
  description: 'Metro areas, states and the nation with their latest forecast, their index history and their location.',
  collections: [markets, hpi, series, observations],
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
      description:
        'Every metropolitan area and division of the snapshot, ordered by code unless `sort` says otherwise. `kind` can ' +
        'also select the nation (code `00000`) and the states (`000` followed by the FIPS code).',
      parameters: { query: marketList.parameters },
      columns: marketList.columns,
      normalize: marketList.normalize,
      response: { ...listResponse('All markets.', marketSchema, marketExample), headers: marketList.headers },
      handler: async (input, context) =>
        marketList.respond((await context.snapshot.find(markets)).map(marketRow), input, context),
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
        'All areas, with or without an index, ordered by code. For a metropolitan area with divisions, FHFA publishes indexes of ' +
        'the divisions only. `kind` can also select the nation and the states.',
      parameters: { query: { kind: kindParameter } },
      normalize: normalizeKind,
      response: listResponse('All areas.', areaSchema, areaExample),
      handler: async ({ kind = METRO_KINDS }, { snapshot }) => {
        const indexed = new Set((await snapshot.find(markets)).map((market) => market.cbsa));
        const areas = [...nationAndStates.values(), ...metroAreas.values()].filter(isOfKind(kind));
        return { data: areas.map((area) => ({ ...area, has_index: indexed.has(area.cbsa) })) };
      },
    }),
    dataRoute({
      path: '/areas/{cbsa}',
      operationId: 'getArea',
      vintages: true,
      summary: 'One metropolitan area, division or state',
      parameters: {
        path: {
          cbsa: {
            ...cbsaParameter,
            description: 'Code of the area: exactly 5 digits.',
            foundIn: { listAreas: '/data/0/cbsa' },
          },
        },
      },
      errors: [areaNotFound],
      response: { description: 'The area.', schema: areaSchema, example: areaExample },
      handler: async ({ cbsa }, { snapshot }) => {
        const area = areaOf(cbsa);
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
              'The fields of each row. `standard_error` is returned only on request, and is null if the dataset has no standard error for the quarter.',
          },
        },
      },
      errors: [marketNotFound],
      check: checkSpan,
      columns: ({ fields = [] }) => historyFields.columns(fields),
      normalize: ({ fields, ...others }) =>
        fields?.includes('standard_error') ? { ...others, fields: historyFields.columns(fields)! } : others,
      normalizeIn: (input, snapshot) => normalizeSpan(input, [periodsOfMarket(snapshot, input.cbsa)]),
      response: listResponse('The index, one row per quarter.', hpiObservation, {
        period_start: '2025-10-01',
        value: 366.32,
      }),
      handler: async ({ cbsa, ...span }, { snapshot }) => {
        await requireMarket(snapshot, cbsa);
        return { data: await indexOfMarket(snapshot, cbsa, span) };
      },
    }),
  ],
});
