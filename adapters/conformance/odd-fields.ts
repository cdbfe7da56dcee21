/** A collection whose declared fields have names that a store could take for a path, an operator or a keyword. */
import type { Collection, Condition, Document, TotalsQuery } from 'metro-forecast-api/adapter';

const NAMES = [
  ...[
    'a',
    'a.b',
    'A',
    'a_b',
    'a b',
    'a-b',
    'b',
    '$a',
    'a%',
    'a[0]',
    "a'b",
    'a"b',
    'a`b',
    'a\\b',
    'a\nb',
    '\u00e9',
    'e\u0301',
  ],
  ...['group', 'order', 'count', 'values', 'sum', 'select', 'null', 'constructor', 'rowid', '0', '1e3', 'key'],
];

export const odd: Collection = {
  name: 'odd',
  key: ['id'],
  schema: {
    type: 'object',
    required: ['id', ...NAMES],
    properties: { id: { type: 'integer' }, ...Object.fromEntries(NAMES.map((name) => [name, { type: 'integer' }])) },
  },
};

/** In each field, the values are distributed differently. */
export const oddRows: readonly Document[] = Array.from({ length: 60 }, (_, id) => ({
  id,
  ...Object.fromEntries(NAMES.map((name, i) => [name, (id * (i + 2) + (id % 7) * i) % (i + 3)])),
}));

/** Queries that use each field in each part. */
export const oddQueries: readonly Omit<TotalsQuery, 'limit'>[] = NAMES.flatMap((field, i) => {
  const next = NAMES[(i + 1) % NAMES.length]!;
  const conditions: readonly Condition[] = [
    { field, operator: 'eq', value: 1 },
    { field, operator: 'not', value: 0 },
    { field, operator: 'in', value: [0, 2] },
    { field, operator: 'gte', value: 2 },
    { field, operator: 'null', value: true },
  ];
  return [
    ...conditions.map((condition) => ({ where: [condition], by: [] })),
    { where: [], by: [field, next], of: field },
    { where: [{ field: next, operator: 'lt', value: 2 }], by: [field] },
  ];
});
