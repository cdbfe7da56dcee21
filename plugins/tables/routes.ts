/** The two endpoints of a table. */
import {
  ApiError,
  type Collection,
  dataRoute,
  defineError,
  findPage,
  invalidParameter,
  type JsonSchema,
  OperatorError,
  type PageInput,
  type Parameter,
  pageHeaders,
  pageParameters,
  type QueryOf,
  type Route,
  type Scalar,
  schemas,
} from 'metro-forecast-api/plugin';

const { record } = schemas;

type Row = Readonly<Record<string, Scalar>>;
type Input = PageInput & Readonly<Record<string, Scalar | undefined>>;

export const rowNotFound = defineError({
  code: 'row_not_found',
  status: 404,
  sentence: 'There is no row with this key. The list of the table has all of them.',
  when: 'The key is not one of a row.',
});

const FROM = '_from';
const TO = '_to';
/** Parameters that every list has. */
const RESERVED = ['sort', 'limit', 'after', 'format', 'as_of'];

const pascal = (name: string): string => name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The values of `sort`: the shortest prefix of each order that differs from the earlier ones. */
export const sortNames = (orders: readonly (readonly string[])[]): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, readonly string[]>();
  for (const order of orders) {
    let length = 1;
    while (names.has(order.slice(0, length).join())) length++;
    names.set(order.slice(0, length).join(), order);
  }
  return names;
};

interface Asked {
  readonly equal: Readonly<Record<string, Scalar>>;
  readonly ranges: ReadonlyMap<string, { readonly from?: Scalar; readonly to?: Scalar }>;
}

const askedOf = (fields: readonly string[], input: Input): Asked => {
  const equal: Record<string, Scalar> = {};
  const ranges = new Map<string, { from?: Scalar; to?: Scalar }>();
  for (const field of fields) {
    const [value, from, to] = [input[field], input[field + FROM], input[field + TO]];
    if (value !== undefined) equal[field] = value;
    if (from !== undefined || to !== undefined) {
      ranges.set(field, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
    }
  }
  return { equal, ranges };
};

/** Whether an order starts with the fields of the filters, followed by the field of the range. */
const serves = (order: readonly string[], { equal, ranges }: Asked): boolean => {
  const given = Object.keys(equal);
  const rest = order.slice(given.length);
  return (
    given.every((field) => order.slice(0, given.length).includes(field)) &&
    [...ranges.keys()].every((field) => rest.includes(field))
  );
};

/**
 * The query of an input. Every filter uses an order of the collection, so that no request reads all rows.
 * @throws ApiError for filters that no order has together
 */
const queryOf = (orders: ReadonlyMap<string, readonly string[]>, fields: readonly string[], input: Input) => {
  const asked = askedOf(fields, input);
  const sort = input['sort'] as string | undefined;
  const name = sort?.replace(/^-/, '');
  const wanted = name === undefined ? [...orders.values()] : [orders.get(name)!];
  const order = asked.ranges.size > 1 ? undefined : wanted.find((each) => serves(each, asked));
  if (!order) {
    const filter = [...asked.ranges.keys(), ...Object.keys(asked.equal)][0]!;
    const known = wanted.map((each) => each.join(', ')).join('; or ');
    const rule = `filters must be the first fields of an order, and at most one range of a field behind them: ${known}`;
    const parameter = Object.hasOwn(asked.equal, filter)
      ? filter
      : input[filter + FROM] === undefined
        ? filter + TO
        : filter + FROM;
    throw invalidParameter('query', parameter, `does not go with the other parameters; ${rule}`);
  }
  const [[field, range] = [undefined, undefined]] = [...asked.ranges];
  return {
    order,
    equal: Object.fromEntries(
      order.filter((each) => Object.hasOwn(asked.equal, each)).map((each) => [each, asked.equal[each]]),
    ),
    ...(field !== undefined && { range: { field, ...range } }),
    descending: sort?.startsWith('-') ?? false,
  } as QueryOf<Row>;
};

/** The schema of a parameter: type and limits of its field. */
const schemaOf = (schema: JsonSchema, field: string): JsonSchema => {
  const {
    default: _,
    examples: __,
    example: ___,
    ...rest
  } = (schema['properties'] as Record<string, JsonSchema>)[field]!;
  return rest;
};

/** A table as its endpoints need it. */
interface Table {
  readonly collection: Collection<Row>;
  readonly path: string;
  /** The name in operation ids. */
  readonly operation: string;
  /** By the values of `sort`. */
  readonly orders: ReadonlyMap<string, readonly string[]>;
  /** The fields of all orders. */
  readonly fields: readonly string[];
  readonly example: Row;
  /** The schema of a row, with a title. */
  readonly row: JsonSchema;
}

/** @throws OperatorError if the declaration of the table cannot be served */
export const tableRoutes = (declared: Collection): Route[] => {
  const collection = declared as Collection<Row>;
  const { name, key, orders: more = [], schema } = collection;
  const [example] = (schema['examples'] ?? []) as readonly Row[];
  if (!example) throw new OperatorError(`collection "${name}" has no example of a row: "examples" of its schema`);
  const orders = sortNames([key, ...more]);
  const operation = pascal(name);
  const table: Table = {
    collection,
    path: `/${name.replaceAll('_', '-')}`,
    operation,
    orders,
    fields: [...new Set([...orders.values()].flat())],
    example,
    row: { title: `${operation}Row`, ...schema },
  };
  return [listRoute(table), rowRoute(table)];
};

/** @throws OperatorError for a field with the name of another parameter */
const filtersOf = ({ collection: { name, schema }, fields, example }: Table): Record<string, Parameter> => {
  const filters: Record<string, Parameter> = {};
  for (const field of fields) {
    const type = schemaOf(schema, field);
    filters[field] = { description: `Only rows with this \`${field}\`.`, schema: type, example: example[field]! };
    filters[field + FROM] = { description: `Rows from this \`${field}\` on.`, schema: { type: type['type'] } };
    filters[field + TO] = { description: `Rows up to this \`${field}\`, included.`, schema: { type: type['type'] } };
  }
  const clash = Object.keys(filters).find((each) => RESERVED.includes(each));
  if (!clash) return filters;
  throw new OperatorError(`collection "${name}": a field of a key or an order must not be called "${clash}"`);
};

const listRoute = (table: Table): Route => {
  const { collection, path, operation, orders, fields, example, row } = table;
  const { name, key } = collection;
  const names = [...orders.keys()];
  const query: Record<string, Parameter> = {
    ...filtersOf(table),
    sort: {
      description: 'The order, descending with a "-" in front. Default: an order that fits the filters.',
      schema: { type: 'string', enum: names.flatMap((each) => [each, `-${each}`]) },
      example: names.at(-1)!,
    },
    ...pageParameters,
  };
  return dataRoute({
    path,
    operationId: `list${operation}`,
    vintages: true,
    summary: `The rows of ${name}`,
    description:
      `Ordered by ${key.join(', ')} unless \`sort\` or a filter says otherwise. Filters can combine the first fields of an ` +
      `order with a range of the next field. The orders: ${[...orders.values()].map((each) => each.join(', ')).join('; ')}.`,
    parameters: { query },
    check: (input) => void queryOf(orders, fields, input as Input),
    response: {
      description: 'The rows.',
      schema: record({ data: { type: 'array', items: row } }) as JsonSchema,
      example: { data: [example] },
      headers: pageHeaders,
    },
    async handler(input, context) {
      const given = input as Input;
      const asked = queryOf(orders, fields, given);
      const { limit, after } = given;
      if (limit === undefined && after === undefined) return { data: context.snapshot.stream(collection, asked) };
      return { data: await findPage(context, collection, asked, given) };
    },
  });
};

const rowRoute = ({ collection, path, operation, example, row }: Table): Route => {
  const { name, key, schema } = collection;
  const parameter = (field: string): Parameter => ({
    description: `\`${field}\` of the row.`,
    schema: schemaOf(schema, field),
    example: example[field]!,
    foundIn: { [`list${operation}`]: `/data/0/${field}` },
  });
  return dataRoute({
    path: `${path}/${key.map((field) => `{${field}}`).join('/')}`,
    operationId: `get${operation}`,
    vintages: true,
    summary: `One row of ${name}`,
    parameters: { path: Object.fromEntries(key.map((field) => [field, parameter(field)])) },
    errors: [rowNotFound],
    response: { description: 'The row.', schema: row, example },
    async handler(input, { snapshot }) {
      const found = await snapshot.get(
        collection,
        key.map((field) => (input as Input)[field]!),
      );
      if (!found) throw new ApiError(rowNotFound);
      return found;
    },
  });
};
