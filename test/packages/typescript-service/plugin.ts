// A third-party plugin in TypeScript. All types are from the declaration files of the package.
import {
  ApiError,
  callerOf,
  collection,
  dataRoute,
  defineError,
  definePlugin,
  serviceRoute,
} from 'metro-forecast-api/plugin';

export const permits = collection({
  name: 'permits',
  key: ['city', 'month'],
  orders: [['month', 'city']],
  schema: {
    type: 'object',
    required: ['city', 'month', 'units', 'grade', 'tags', 'site'],
    additionalProperties: false,
    properties: {
      city: { type: 'string', minLength: 1 },
      month: { type: 'string', format: 'date' },
      units: { type: 'integer', minimum: 0 },
      grade: { type: ['string', 'null'], enum: ['A', 'B', null] },
      tags: { type: ['array', 'null'], items: { type: 'string' } },
      site: {
        type: ['object', 'null'],
        required: ['lat'],
        additionalProperties: false,
        properties: { lat: { type: 'number' }, lon: { type: 'number' } },
      },
    },
  },
});

const none = defineError({ code: 'no_permits', status: 404, sentence: 'There are none.', when: 'There are none.' });

export default definePlugin({
  name: 'permits',
  version: '1.0.0',
  description: 'Building permits.',
  collections: [permits],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { header: { type: 'string', default: 'permits' }, most: { type: 'integer', minimum: 1 } },
  },
  middleware: ({ header }) => [
    async (ctx, next) => {
      const text: string = header;
      ctx.set('X-Permits', `${text} of ${callerOf(ctx)?.tier ?? 'no tier'}`);
      await next();
    },
  ],
  routes: ({ header, most }) => [
    dataRoute({
      path: '/permits/{city}',
      operationId: 'listPermits',
      summary: 'The permits of one city',
      parameters: {
        path: { city: { description: 'Its name.', schema: { type: 'string' }, example: 'Houston' } },
        query: {
          since: { description: 'First month.', schema: { type: 'string', format: 'date' }, example: '2025-01-01' },
          limit: { description: 'How many.', schema: { type: 'integer', minimum: 1, default: 12 } },
          order: { description: 'Of months.', schema: { type: 'string', enum: ['up', 'down'] }, required: true },
          exact: { description: 'Whole numbers.', schema: { type: 'boolean' } },
        },
      },
      errors: [none],
      response: {
        description: 'The permits.',
        schema: {
          type: 'object',
          required: ['data'],
          additionalProperties: false,
          properties: {
            data: {
              type: 'array',
              items: {
                title: 'PermitRow',
                type: 'object',
                required: ['month', 'units', 'trend'],
                additionalProperties: false,
                properties: {
                  month: { type: 'string' },
                  units: { type: 'integer' },
                  trend: { type: 'string', enum: ['up', 'flat'] },
                },
              },
            },
          },
        },
        example: { data: [{ month: '2025-01-01', units: 1, trend: 'up' }] },
      },
      async handler({ city, since, limit, order, exact }, { snapshot }) {
        const first: string | undefined = since;
        const most: number = limit;
        const up: 'up' | 'down' = order;
        const whole: boolean = exact ?? false;
        const rows = await snapshot.find(permits, {
          equal: { city },
          range: { field: 'month', from: first },
          descending: up === 'down',
          limit: most,
        });
        if (rows.length === 0) throw new ApiError(none);
        const last = await snapshot.get(permits, [city, '2025-01-01']);
        const lat: number | undefined = last?.site?.lat;
        const tags: readonly string[] | null | undefined = last?.tags;
        const grade: 'A' | 'B' | null | undefined = last?.grade;
        const trend: 'up' | 'flat' = whole || lat === undefined || tags === null || grade === 'A' ? 'up' : 'flat';
        return { data: rows.map(({ month, units }) => ({ month, units, trend })) };
      },
    }),
    serviceRoute({
      path: '/permits-caller',
      operationId: 'getCaller',
      summary: 'Who asks',
      response: {
        description: 'The caller.',
        schema: {
          type: 'object',
          required: ['id', 'language', 'header', 'most'],
          additionalProperties: false,
          properties: {
            id: { type: ['string', 'null'] },
            language: { type: ['string', 'null'] },
            header: { type: 'string' },
            most: { type: ['integer', 'null'] },
          },
        },
        example: { id: 'k', language: 'en', header: 'h', most: null },
      },
      handler: async (_input, { caller, headers }) => ({
        id: caller?.id ?? null,
        language: headers['accept-language'] ?? null,
        header,
        most: most ?? null,
      }),
    }),
  ],
});
