/** Observations: raw macro series and the metros' index, and the catalogue of both. */
import { dataRoute, definePlugin } from '../core/contracts/plugin.js';
import { ApiError, defineError, errors } from '../core/errors.js';
import { cbsa, date, hpi, METRO_HPI, markets, observations, series } from '../metro/collections.js';
import {
  cbsaParameter,
  checkSpan,
  eachOf,
  listOf,
  marketNotFound,
  PLUGIN_VERSION,
  periodRange,
  requireMarket,
  type Span,
  spanParameters,
} from './shared.js';

const seriesNotFound = defineError({
  code: 'series_not_found',
  status: 404,
  sentence: 'There is no series with this identifier. /series lists all of them.',
  when: 'The series identifier is not one of the catalogue.',
});

interface ObservationsInput extends Span {
  readonly series_id: string;
  readonly cbsa?: string;
}

const macroObservation = {
  title: 'MacroObservation',
  type: 'object',
  required: ['period_start', 'value'],
  additionalProperties: false,
  properties: {
    period_start: { ...date, description: 'First day of the period.' },
    value: { type: 'number', description: 'In the units of the series.' },
    cbsa: { ...cbsa, description: 'The market, on rows of `metro_hpi`.' },
  },
};

export default definePlugin({
  name: 'observations',
  version: PLUGIN_VERSION,
  description: 'Raw observations of macro series and of the metro index, and the catalogue of series.',
  collections: [markets, hpi, series, observations],
  routes: () => [
    dataRoute<ObservationsInput>({
      path: '/observations',
      operationId: 'listObservations',
      vintages: true,
      summary: 'Observations of one series',
      description:
        'Oldest first; rows of `metro_hpi` by market, then date. Missing values are left out. ' +
        'The parameter `cbsa` goes with `series_id=metro_hpi` only.',
      parameters: {
        query: {
          series_id: {
            description: 'Identifier of a macro series (see `/series`), or `metro_hpi` for the index of the metros.',
            schema: { type: 'string', minLength: 1 },
            required: true,
            example: METRO_HPI,
            foundIn: { listSeries: '/data/0/series_id' },
          },
          ...spanParameters,
          cbsa: { ...cbsaParameter, description: 'Narrows `metro_hpi` to one market: exactly 5 digits.' },
        },
      },
      errors: [marketNotFound, seriesNotFound],
      response: {
        description: 'The observations.',
        schema: listOf(macroObservation),
        example: { data: [{ period_start: '2025-10-01', value: 366.32, cbsa: '26420' }] },
      },
      check({ series_id, cbsa, ...span }) {
        checkSpan(span);
        if (cbsa === undefined || series_id === METRO_HPI) return;
        const issue = `goes with series_id=${METRO_HPI} only`;
        throw new ApiError(errors.invalid_parameter, `The query parameter "cbsa" ${issue}.`, {
          details: [{ in: 'query', name: 'cbsa', issue }],
        });
      },
      async handler({ series_id, cbsa, ...span }, { snapshot }) {
        const range = periodRange(span);
        if (series_id === METRO_HPI) {
          if (cbsa !== undefined) await requireMarket(snapshot, cbsa);
          const rows = snapshot.stream(hpi, { ...(cbsa === undefined ? {} : { equal: { cbsa } }), ...range });
          return { data: eachOf(rows, ({ cbsa, period_start, value }) => ({ period_start, value, cbsa })) };
        }
        if (!(await snapshot.get(series, [series_id]))) throw new ApiError(seriesNotFound);
        const rows = snapshot.stream(observations, { equal: { series_id }, ...range });
        return { data: eachOf(rows, ({ period_start, value }) => ({ period_start, value })) };
      },
    }),
    dataRoute({
      path: '/series',
      operationId: 'listSeries',
      vintages: true,
      summary: 'The catalogue of every published series',
      description: 'Ordered by `series_id`, with cadence, source and span.',
      response: {
        description: 'All series.',
        schema: listOf({ title: 'Series', ...series.schema }),
        example: {
          data: [
            {
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
            },
          ],
        },
      },
      handler: async (_input, { snapshot }) => ({ data: await snapshot.find(series) }),
    }),
  ],
});
