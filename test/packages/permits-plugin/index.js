// A third-party package with a plugin and its collection: building permits per metro.
import { ApiError, collection, dataRoute, defineError, definePlugin } from 'metro-forecast-api/plugin';

const permits = collection({
  name: 'permits',
  key: ['cbsa', 'month'],
  orders: [['month', 'cbsa']],
  references: [{ fields: ['cbsa'], to: 'markets' }],
  schema: {
    type: 'object',
    required: ['cbsa', 'month', 'units'],
    additionalProperties: false,
    properties: {
      cbsa: { type: 'string', pattern: '^\\d{5}$' },
      month: { type: 'string', format: 'date' },
      units: { type: 'integer', minimum: 0 },
    },
  },
});

const noPermits = defineError({
  code: 'permits_not_found',
  status: 404,
  sentence: 'No permits are known for this market.',
  when: 'The market has no permits.',
});

export default definePlugin({
  name: 'permits',
  version: '0.3.0',
  description: 'Building permits by metro.',
  needs: ['markets'],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { header: { type: 'string', default: 'permits' } },
  },
  collections: [permits],
  middleware: ({ header }) => [
    async (ctx, next) => {
      ctx.set('X-Group', header);
      await next();
    },
  ],
  routes: () => [
    dataRoute({
      path: '/permits/{cbsa}',
      operationId: 'listPermits',
      summary: 'Housing units permitted in one market, newest month first',
      parameters: {
        path: {
          cbsa: {
            description: 'CBSA code.',
            schema: { type: 'string', pattern: '^\\d{5}$' },
            example: '26420',
            foundIn: { listMarkets: '/data/0/cbsa' },
          },
        },
        query: {
          before: { description: 'Latest month.', schema: { type: 'string', format: 'date' }, example: '2025-12-01' },
          limit: { description: 'How many.', schema: { type: 'integer', minimum: 1, maximum: 12, default: 12 } },
        },
      },
      errors: [noPermits],
      response: {
        description: 'Permits by month.',
        schema: {
          type: 'object',
          required: ['data'],
          additionalProperties: false,
          properties: { data: { type: 'array', items: { title: 'Permits', ...permits.schema } } },
        },
        example: { data: [{ cbsa: '26420', month: '2025-12-01', units: 5120 }] },
      },
      async handler({ cbsa, before, limit }, { snapshot }) {
        const data = await snapshot.find(permits, {
          equal: { cbsa },
          ...(before ? { range: { field: 'month', to: before } } : {}),
          descending: true,
          limit,
        });
        if (data.length === 0) throw new ApiError(noPermits);
        return { data };
      },
    }),
  ],
});
