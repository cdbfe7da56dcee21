import fc from 'fast-check';
import { definePlugin } from '../../../core/contracts/plugin.js';
import * as fixture from '../../support/fixture.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;

const TOWNS = ['Aachen', 'Ávila', 'Brno', 'Brno, Old Town', 'a "quoted" town', ''];
export const readings: Row[] = Array.from({ length: 300 }, (_, id) => ({
  id,
  town: TOWNS[id % TOWNS.length]!,
  level: (id * 7) % 11,
  share: id % 5 === 0 ? null : (id % 9) / 4 - 1,
  day: id % 7 === 0 ? null : `2024-0${1 + (id % 6)}-15`,
  checked: id % 3 === 0 ? null : id % 2 === 0,
  note: id % 4 === 0 ? null : `n${id % 10}`,
}));
const nullable = (type: string, more = {}) => ({ type: [type, 'null'], ...more });

/** Column names that are also names of parameters, or that could conflict with an alias. */
export const NAMES = ['after', 'as_of', 'constructor', 'count', 'fields', 'format', 'limit', 'q', 'sort'];
export const tricky: Row[] = Array.from({ length: 12 }, (_, id) => ({
  id,
  ...Object.fromEntries(NAMES.map((name, i) => [name, (id + i) % 4])),
  price: id % 3,
  price_from: id % 4,
  price_to: id % 5,
}));

const table = (
  name: string,
  columns: Readonly<Record<string, object>>,
  orders: string[][],
  example: Row,
  search?: string[],
) => ({
  name,
  key: ['id'],
  orders,
  ...(search && { search }),
  schema: { type: 'object', properties: columns, required: Object.keys(columns), examples: [example] },
});
const integer = { type: 'integer' };
export const tables = definePlugin({
  name: 'readings',
  version: '1.0.0',
  description: 'Two tables.',
  collections: [
    table(
      'readings',
      {
        ...{ id: integer, town: { type: 'string' }, level: integer, share: nullable('number') },
        ...{ day: nullable('string', { format: 'date' }), checked: nullable('boolean'), note: nullable('string') },
      },
      [
        ['town', 'level', 'id'],
        ['level', 'id'],
      ],
      readings[1]!,
      ['town', 'note'],
    ),
    table(
      'tricky',
      Object.fromEntries(Object.keys(tricky[0]!).map((name) => [name, integer])),
      [...[...NAMES, 'price'].map((name) => [name, 'id']), ['price', 'price_to', 'id']],
      tricky[0]!,
    ),
  ],
  routes: () => [],
});

export const start = (adapter?: object, rows: Readonly<Record<string, readonly Row[]>> = {}): Promise<TestApp> =>
  startTestApp({
    collections: { ...fixture.documents, readings, tricky, ...rows },
    config: {
      plugins: ['markets', { use: 'tables', options: { collections: ['readings', 'tricky'] } }],
      ...(adapter && { adapter }),
    },
    overrides: { plugins: [{ plugin: tables }] },
  });

export interface Filter {
  readonly field: string;
  readonly operator: string;
  readonly value: Value | readonly Value[];
}

export const rank = (value: Value): string | number =>
  typeof value === 'string' ? Buffer.from(value).toString('hex') : Number(value);
export const fulfils = (row: Row, { field, operator, value }: Filter): boolean => {
  const found = row[field]!;
  if (operator === 'eq') return found === value;
  if (operator === 'not') return found !== value;
  if (operator === 'null') return (found === null) === value;
  if (operator === 'in') return (value as readonly Value[]).includes(found);
  if (found === null) return false;
  const [one, other] = [rank(found), rank(value as Value)];
  return { gt: one > other, gte: one >= other, lt: one < other, lte: one <= other }[operator]!;
};

const written = (value: Value): string =>
  /[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
export const queryOf = (filters: readonly Filter[]): string =>
  new URLSearchParams(
    filters.map(({ field, operator, value }): [string, string] => [
      `${field}[${operator}]`,
      operator === 'in' ? (value as readonly Value[]).map(written).join() : String(value),
    ]),
  ).toString();

export const filterOf = (field: string): fc.Arbitrary<Filter> => {
  const values = [...new Set(readings.map((row) => row[field]!))].filter((value) => value !== null);
  const one = fc.constantFrom(...values);
  const operators = typeof values[0] === 'boolean' ? ['eq', 'not'] : ['eq', 'not', 'gt', 'gte', 'lt', 'lte'];
  const choices: fc.Arbitrary<Filter>[] = [
    fc.record({ field: fc.constant(field), operator: fc.constantFrom(...operators), value: one }),
    fc.record({ field: fc.constant(field), operator: fc.constant('null'), value: fc.boolean() }),
  ];
  const list = fc.array(one, { minLength: 1, maxLength: 4 });
  if (typeof values[0] !== 'boolean')
    choices.push(fc.record({ field: fc.constant(field), operator: fc.constant('in'), value: list }));
  return fc.oneof(...choices);
};
