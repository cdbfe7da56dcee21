import type { Collection, Document } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Condition, Operator, Query, Scalar } from '../contracts/storage.js';
import { compareScalars } from './scalars.js';
import { orderName } from './sorted-positions.js';

const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** If a collection has more columns than this, requests can filter only by key columns and sort columns. */
const MOST_COLUMNS = 200;

/**
 * Returns the schema of the values that a filter compares with a column. Returns undefined if the column contains
 * several types, lists or objects, because such a column cannot be filtered.
 */
const valueSchema = (column: JsonSchema): JsonSchema | undefined => {
  const { title, description, default: _, example, examples, ...schema } = column;
  const [type, ...others] = [schema['type']].flat().filter((each) => each !== 'null');
  if (others.length > 0 || !TYPES.has(type)) return undefined;
  const { enum: values } = schema;
  return { ...schema, type, ...(Array.isArray(values) && { enum: values.filter((value) => value !== null) }) };
};

type Columns = Readonly<Record<string, JsonSchema>>;

/** Returns the columns whose values are scalars or null, each with a schema for values that are not null. */
export const scalarColumns = ({ schema }: Pick<Collection, 'schema'>): Columns =>
  Object.fromEntries(
    Object.entries((schema['properties'] ?? {}) as Columns).flatMap(([name, column]) => {
      const value = valueSchema(column);
      return value ? [[name, value]] : [];
    }),
  );

/** Returns the columns that requests can filter by, with their schemas, for the `filters` of a route. */
export const filterColumns = ({ schema, key, orders = [] }: Collection): Columns => {
  const isWide = Object.keys(schema['properties'] as Columns).length > MOST_COLUMNS;
  const ordered: readonly string[] = [key, ...orders].flat();
  return Object.fromEntries(
    Object.entries(scalarColumns({ schema })).filter(
      ([name]) => NAME.test(name) && (!isWide || ordered.includes(name)),
    ),
  );
};

/** Returns the columns whose values are strings or null. Dates are not included. */
export const textFields = ({ schema }: Pick<Collection, 'schema'>): readonly string[] =>
  Object.entries(scalarColumns({ schema })).flatMap(([name, { type, format }]) =>
    type === 'string' && format === undefined ? [name] : [],
  );

export const operatorSchemas = (value: JsonSchema): Partial<Readonly<Record<Operator, JsonSchema>>> => {
  // Bounds need not be valid values of the column. For example, `day[gte]=2024` is allowed for dates.
  const limit = { type: value['type'] };
  return {
    eq: value,
    not: value,
    null: { type: 'boolean' },
    ...(value['type'] !== 'boolean' && {
      in: { type: 'array', items: limit },
      gt: limit,
      gte: limit,
      lt: limit,
      lte: limit,
    }),
  };
};

const BRACKETS = /^([^[\]]+)\[([a-z]+)\]$/;

export const splitFilter = (name: string): { readonly field: string; readonly operator: string } | undefined => {
  const [, field, operator] = BRACKETS.exec(name) ?? [];
  return field !== undefined && operator !== undefined ? { field, operator } : undefined;
};

// biome-ignore lint/suspicious/noExplicitAny: the framework has checked the fields against the route's filters
export const conditionsOf = <Field extends string = any>(
  input: Readonly<Record<string, unknown>>,
): readonly Condition<Field>[] =>
  Object.entries(input).flatMap(([name, value]) => {
    const filter = splitFilter(name);
    return filter ? [{ ...filter, value } as Condition<Field>] : [];
  });

const testOf = ({ operator, value }: Condition): ((found: unknown) => boolean) => {
  const compared = (isFit: (order: number) => boolean) => (found: unknown) =>
    found !== null && isFit(compareScalars(found as Scalar, value as Scalar));
  if (operator === 'eq') return (found) => found === value;
  if (operator === 'not') return (found) => found !== value;
  if (operator === 'null') return (found) => (found === null) === value;
  if (operator === 'gt') return compared((order) => order > 0);
  if (operator === 'gte') return compared((order) => order >= 0);
  if (operator === 'lt') return compared((order) => order < 0);
  if (operator === 'lte') return compared((order) => order <= 0);
  const values = new Set(value as readonly unknown[]);
  return (found) => values.has(found);
};

export const matcherOf = (conditions: readonly Condition[]): ((document: Document) => boolean) => {
  const tests = conditions.map((condition) => ({ field: condition.field, test: testOf(condition) }));
  return (document) => tests.every(({ field, test }) => test(document[field] ?? null));
};

export interface ReadPlan {
  readonly order: readonly string[];
  readonly equal: Readonly<Record<string, Scalar>>;
  /**
   * The values of the first field of `order` that is not in `equal`. Each value needs a separate query. The values are
   * in ascending order without duplicates.
   */
  readonly values?: readonly Scalar[];
  readonly range?: NonNullable<Query['range']>;
  /** Conditions that the queries do not cover. The caller must test them for each document. */
  readonly rest: readonly Condition[];
}

const LIMITS: readonly Operator[] = ['gt', 'gte', 'lt', 'lte'];

const rangeOf = (field: string, limits: readonly Condition[]): NonNullable<Query['range']> => {
  const valuesOf = (...operators: readonly Operator[]) =>
    limits
      .filter(({ operator }) => operators.includes(operator))
      .map(({ value }) => value as Scalar)
      .sort(compareScalars);
  const [from, to] = [valuesOf('gt', 'gte').at(-1), valuesOf('lt', 'lte')[0]];
  return { field, ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
};

export const planIn = (order: readonly string[], where: readonly Condition[]): { plan: ReadPlan; rank: number } => {
  const of = (field: string | undefined, ...operators: readonly Operator[]) =>
    where.filter((condition) => condition.field === field && operators.includes(condition.operator));
  const fixed = order.findIndex((field) => of(field, 'eq').length === 0);
  const leading = order.slice(0, fixed === -1 ? order.length : fixed);
  const free = order.slice(leading.length);
  const equals = leading.map((field) => of(field, 'eq')[0]!);
  const [list] = of(free[0], 'in');
  const field = free.slice(list ? 1 : 0).find((each) => of(each, ...LIMITS).length > 0);
  const limits = of(field, ...LIMITS);
  const expressed = new Set([...equals, ...(list ? [list] : []), ...of(field, 'gte', 'lte')]);
  const plan = {
    order,
    equal: Object.fromEntries(equals.map((condition) => [condition.field, condition.value as Scalar])),
    ...(list && { values: [...new Set(list.value as readonly Scalar[])].sort(compareScalars) }),
    ...(field !== undefined && { range: rangeOf(field, limits) }),
    rest: where.filter((condition) => !expressed.has(condition)),
  };
  const isNext = field !== undefined && field === free[list ? 1 : 0];
  return { plan, rank: 4 * leading.length + (list ? 2 : 0) + (isNext ? 1 : 0) };
};

/**
 * @param order one of the collection's orders. Default: the order that reads the fewest documents. If the conditions fix
 * some fields, another order can sort the remaining documents in the same way and read fewer of them. For example, with
 * `kind=house`, the orders `price, id` and `kind, price, id` are the same
 */
export const planRead = (
  { key, orders = [] }: Pick<Collection, 'key' | 'orders'>,
  where: readonly Condition[],
  order?: readonly string[],
): ReadPlan => {
  const fixed = new Set(where.filter(({ operator }) => operator === 'eq').map(({ field }) => field));
  const nameOf = (each: readonly string[]): string => orderName(each.filter((field) => !fixed.has(field)));
  const all = [key, ...orders];
  const name = order && nameOf(order);
  const others = fixed.size > 0 ? all.filter((each) => nameOf(each) === name) : [];
  const alike = order ? [order, ...others] : all;
  const plans = alike.map((each) => planIn(each, where));
  return plans.reduce((best, each) => (each.rank > best.rank ? each : best)).plan;
};
