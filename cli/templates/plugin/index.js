/** The {{name}} plugin has one collection and one endpoint that reads it. */
import { ApiError, collection, dataRoute, defineError, definePlugin } from 'metro-forecast-api/plugin';

const rows = collection({
  name: '{{collection}}',
  key: ['station', 'month'],
  schema: {
    type: 'object',
    required: ['station', 'month', 'value'],
    additionalProperties: false,
    properties: {
      station: { type: 'string', pattern: '^[a-z]+$' },
      month: { type: 'string', format: 'date' },
      value: { type: 'number' },
    },
  },
});

const notFound = defineError({
  code: '{{collection}}_not_found',
  status: 404,
  sentence: 'There are no rows for this station.',
  when: 'The station has no rows.',
});

export default definePlugin({
  name: '{{name}}',
  version: '0.1.0',
  description: 'Monthly values by station.',
  collections: [rows],
  routes: () => [
    dataRoute({
      path: '/{{name}}/{station}',
      operationId: 'list{{pascal}}',
      summary: 'The rows of one station, oldest first',
      parameters: {
        path: {
          station: {
            description: 'Name of the station.',
            schema: { type: 'string', pattern: '^[a-z]+$' },
            example: 'oslo',
          },
        },
        query: {
          since: { description: 'First month.', schema: { type: 'string', format: 'date' }, example: '2025-11-01' },
        },
      },
      errors: [notFound],
      response: {
        description: 'The rows.',
        schema: {
          type: 'object',
          required: ['data'],
          additionalProperties: false,
          properties: { data: { type: 'array', items: { title: '{{pascal}}Row', ...rows.schema } } },
        },
        example: { data: [{ station: 'oslo', month: '2025-11-01', value: 11 }] },
      },
      async handler({ station, since }, { snapshot }) {
        const data = await snapshot.find(rows, {
          equal: { station },
          range: { field: 'month', from: since },
        });
        if (data.length === 0 && since === undefined) throw new ApiError(notFound);
        return { data };
      },
    }),
  ],
});
