import { dataRoute, type JsonSchema } from 'metro-forecast-api/plugin';
import { METRO_HPI, observations, record, series } from '../collections.js';
import { listResponse } from './shared.js';
import { DEFLATOR, UNITS, unsupported } from './units.js';

const seriesRow = {
  title: 'Series',
  ...record({
    ...(series.schema['properties'] as Readonly<Record<string, JsonSchema>>),
    supported_units: {
      type: 'array',
      items: { type: 'string', enum: UNITS },
      description: 'Values that the parameter `units` of `/observations` accepts for this series.',
    },
  }),
};

export const seriesRoute = dataRoute({
  path: '/series',
  operationId: 'listSeries',
  vintages: true,
  summary: 'The catalogue of every published series',
  description: 'Ordered by `series_id`, with cadence, source and span.',
  response: listResponse('All series.', seriesRow, {
    series_id: METRO_HPI,
    title: 'House Price Index, all transactions, by metro',
    kind: 'metro',
    geography: 'US metropolitan areas and divisions',
    cadence: 'quarterly',
    source: 'FHFA',
    units: 'Index, 1995 Q1 = 100',
    seasonal_adjustment: 'NSA',
    observation_start: '1975-07-01',
    observation_end: '2025-10-01',
    last_updated: '2026-02-24T00:00:00Z',
    notes: 'This product uses FHFA data but is neither endorsed nor certified by FHFA',
    supported_units: [...UNITS],
  }),
  handler: async (_input, { snapshot }) => {
    const hasPrices = (await snapshot.find(observations, { equal: { series_id: DEFLATOR }, limit: 1 })).length > 0;
    const offered = UNITS.filter((units) => units !== 'real' || hasPrices);
    return {
      data: (await snapshot.find(series)).map((one) => ({
        ...one,
        supported_units: offered.filter((units) => unsupported(units, one) === undefined),
      })),
    };
  },
});
