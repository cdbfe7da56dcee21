// The statement after each `@ts-expect-error` must have a type error. If it has none, the compiler fails.
import { createApp } from 'metro-forecast-api';
import { dataRoute, definePlugin, type SnapshotReader } from 'metro-forecast-api/plugin';
import { permits } from './plugin.js';

const response = {
  description: 'A number.',
  schema: {
    type: 'object',
    required: ['units'],
    additionalProperties: false,
    properties: { units: { type: 'integer' } },
  },
  example: { units: 1 },
} as const;
const route = { path: '/x/{id}', operationId: 'x', summary: 'x', response } as const;
const id = { description: 'Its number.', schema: { type: 'integer' } } as const;

export const inputs = [
  // @ts-expect-error there is no parameter with this name
  dataRoute({ ...route, parameters: { path: { id } }, handler: async ({ name }) => ({ units: name }) }),
  dataRoute({
    ...route,
    parameters: { path: { id } },
    handler: async (input) => {
      // @ts-expect-error the parameter is a number
      const text: string = input.id;
      return { units: text.length };
    },
  }),
  dataRoute({
    ...route,
    parameters: { query: { id } },
    // @ts-expect-error the parameter may be absent
    handler: async (input) => ({ units: input.id + 1 }),
  }),
  dataRoute({
    ...route,
    parameters: { path: { id } },
    check: (input) => {
      // @ts-expect-error input is read-only
      input.id = 1;
    },
    handler: async () => ({ units: 1 }),
  }),
];

export const answers = [
  // @ts-expect-error the response does not have the type of the schema
  dataRoute({ ...route, handler: async () => ({ units: 'many' }) }),
  // @ts-expect-error the response lacks a required property
  dataRoute({ ...route, handler: async () => ({}) }),
  // @ts-expect-error a handler returns a promise
  dataRoute({ ...route, handler: () => ({ units: 1 }) }),
];

export const reads = async (snapshot: SnapshotReader) => {
  // @ts-expect-error the first argument is a declared collection, not its name
  await snapshot.find({ name: 'permits' });
  // @ts-expect-error orders have no such field
  await snapshot.find(permits, { order: ['mont', 'city'] });
  // @ts-expect-error rows have no such field
  await snapshot.find(permits, { equal: { town: 'Houston' } });
  // @ts-expect-error the field is a string
  await snapshot.find(permits, { equal: { city: 1 } });
  // @ts-expect-error rows have no such field
  await snapshot.find(permits, { range: { field: 'day', from: '2025-01-01' } });
  // @ts-expect-error the field is a string
  await snapshot.find(permits, { range: { field: 'month', from: 2025 } });
  // @ts-expect-error fields that may be null cannot be part of a key
  await snapshot.find(permits, { equal: { grade: 'A' } });
  const [row] = await snapshot.find(permits);
  // @ts-expect-error rows have no such field
  row?.unit;
  // @ts-expect-error rows are read-only
  if (row) row.units = 1;
  // @ts-expect-error lists in rows are read-only
  row?.tags?.push('x');
};

export const options = definePlugin({
  name: 'x',
  version: '1.0.0',
  description: 'x',
  options: { type: 'object', properties: { header: { type: 'string', default: 'x' }, most: { type: 'integer' } } },
  // @ts-expect-error there is no such option
  routes: ({ heeder }) => (heeder ? [] : []),
  // @ts-expect-error an option without a default may be absent
  middleware: ({ most }) => (most > 1 ? [] : []),
});

// @ts-expect-error the setting is a number
export const app = createApp({ server: { port: '8080' } });
