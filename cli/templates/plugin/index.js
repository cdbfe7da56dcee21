/** The plugin {{name}}: one collection, and one endpoint that reads it. */
import { ApiError, collection, dataRoute, defineError, definePlugin } from 'metro-forecast-api/plugin';

const rows = collection({
  name: '{{collection}}',
  key: ['cbsa', 'month'],
  schema: {
    type: 'object',
    required: ['cbsa', 'month', 'value'],
    additionalProperties: false,
    properties: {
      cbsa: { type: 'string', pattern: '^\\d{5}$' },
      month: { type: 'string', format: 'date' },
      value: { type: 'number' },
    },
  },
});

const notFound = defineError({
  code: '{{collection}}_not_found',
  status: 404,
  sentence: 'Nothing is known of this metro.',
  when: 'The metro has no rows.',
});

export default definePlugin({
  name: '{{name}}',
  version: '0.1.0',
  description: 'What the endpoints of {{name}} have in common, for the documentation.',
  collections: [rows],
  routes: () => [
    dataRoute({
      path: '/{{name}}/{cbsa}',
      operationId: 'list{{pascal}}',
      summary: 'The rows of one metro, oldest first',
      parameters: {
        path: {
          cbsa: { description: 'CBSA code.', schema: { type: 'string', pattern: '^\\d{5}$' }, example: '26420' },
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
        example: { data: [{ cbsa: '26420', month: '2025-11-01', value: 11 }] },
      },
      async handler({ cbsa, since }, { snapshot }) {
        const data = await snapshot.find(rows, {
          equal: { cbsa },
          range: { field: 'month', from: since },
        });
        if (data.length === 0 && since === undefined) throw new ApiError(notFound);
        return { data };
      },
    }),
  ],
});
