import {
  ApiError,
  type Collection,
  type Condition,
  conditionsOf,
  dataRoute,
  defineError,
  filterColumns,
  type JsonSchema,
  OperatorError,
  type Parameter,
  paging,
  type Route,
  type Scalar,
  schemas,
  selection,
} from 'metro-forecast-api/plugin';
import { listPath, rowPath } from './paths.js';
import { totalsRoute } from './totals.js';

const { record } = schemas;

type Row = Readonly<Record<string, Scalar>>;

export const rowNotFound = defineError({
  code: 'row_not_found',
  status: 404,
  sentence: 'There is no row with this key. Omit the key to list all rows.',
  when: 'The table has no row with this key.',
});

const pascal = (name: string): string => name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/**
 * Maps each value of the parameter `sort` to the columns by which the rows are sorted. A value such as `city` is the
 * name of the first of these columns. If two orders start with the same column, the later one has a longer name, such
 * as `city,price`.
 */
export const sortNames = (orders: readonly (readonly string[])[]): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, readonly string[]>();
  for (const order of orders) {
    let length = 1;
    while (names.has(order.slice(0, length).join())) length++;
    names.set(order.slice(0, length).join(), order);
  }
  return names;
};

const schemaOf = (schema: JsonSchema, field: string): JsonSchema => {
  const {
    default: _,
    examples: __,
    example: ___,
    ...rest
  } = (schema['properties'] as Record<string, JsonSchema>)[field]!;
  return rest;
};

export interface Table {
  readonly collection: Collection<Row>;
  readonly path: string;
  readonly operation: string;
  readonly orders: ReadonlyMap<string, readonly string[]>;
  readonly example: Row;
  readonly row: JsonSchema;
}

const MOST_LISTED = 20;

const RESERVED: readonly string[] = ['health', 'ready', 'status', 'totals', 'usage'];

export const tableNameError = (name: string): string | undefined =>
  RESERVED.includes(name) ? `a table must not be called "${name}": the service has an endpoint /${name}` : undefined;

/** @throws OperatorError if the table's name is reserved or its schema has no example */
export const tableRoutes = (declared: Collection): Route[] => {
  const collection = declared as Collection<Row>;
  const { name, key, orders: more = [], schema } = collection;
  const [example] = (schema['examples'] ?? []) as readonly Row[];
  const nameError = tableNameError(name);
  if (nameError) throw new OperatorError(nameError);
  if (!example) throw new OperatorError(`collection "${name}" has no example row: add "examples" to its schema`);
  const orders = sortNames([key, ...more]);
  const operation = pascal(name);
  const table: Table = {
    collection,
    path: listPath(name),
    operation,
    orders,
    example,
    // Columns outside the key are optional, because the parameter `fields` can exclude them.
    row: { ...schema, title: `${operation}Row`, required: key },
  };
  return [listRoute(table), rowRoute(table), totalsRoute(table)];
};

/** Normalizes the search text, so that searches for the same words share a response in the cache. */
export const withWords = <I extends { readonly q?: Scalar | boolean }>(input: I): I =>
  input.q === undefined ? input : { ...input, q: wordsOf(input)!.join(' ') };

export const wordsOf = ({ q }: { readonly q?: Scalar | boolean }): readonly string[] | undefined =>
  selection.wordsIn(q as string | undefined);

export const searchParameter = (collection: Collection): { readonly q?: Parameter } => {
  const fields = selection.searchedFields(collection);
  if (fields.length === 0) return {};
  const most = fields.length > MOST_LISTED ? ', ...' : '';
  return {
    q: {
      description:
        `Search words. A row matches if each word occurs in at least one of these columns: ${fields.slice(0, MOST_LISTED).join(', ')}${most}. ` +
        'Words consist of letters and digits; at least one word is required. Case and accents are ignored. With a `*` at the end, a word matches every word that starts with it.',
      schema: { type: 'string', minLength: 1, maxLength: 200 },
    },
  };
};

const countParameter = {
  description: 'If true, the header `Total-Count` contains the number of rows on all pages.',
  schema: { type: 'boolean' },
} as const satisfies Parameter;

const sortParameter = (orders: Table['orders'], columns: readonly string[]): Parameter => {
  const names = [...new Set([...orders.keys(), ...columns])];
  return {
    description:
      'The order of the rows. A leading "-" means descending. Default: an order that fits the filters. Any column ' +
      'can be used if the filters read at most 50,000 rows. Otherwise, sort by one of these: ' +
      `${[...orders.keys()].join('; ')}.`,
    schema: { type: 'string', enum: names.flatMap((each) => [each, `-${each}`]) },
    example: [...orders.keys()].at(-1)!,
    allowed:
      `exactly one of ${names.slice(0, MOST_LISTED).join(', ')}${names.length > MOST_LISTED ? ', ...' : ''}, with or ` +
      'without a leading "-"',
  };
};

/**
 * Returns an index that sorts the rows. If the filters fix the first columns of an index, it also sorts by the next one.
 */
const orderFor = (
  name: string,
  orders: Table['orders'],
  where: readonly Condition[],
): readonly string[] | undefined => {
  const fixed = new Set(where.filter(({ operator }) => operator === 'eq').map(({ field }) => field));
  return orders.get(name) ?? [...orders.values()].find((order) => order.find((field) => !fixed.has(field)) === name);
};

const tooManyToSort = (sort: string, orders: Table['orders']): ApiError => {
  const names = [...orders.keys()].slice(0, MOST_LISTED).join(', ');
  const message = `There are too many rows to sort by ${sort.replace(/^-/, '')}. Filter them, or sort by ${names}.`;
  return new ApiError(selection.tooManyRows, message);
};

const listRoute = ({ collection, path, operation, orders, example, row }: Table): Route => {
  const { name, key } = collection;
  const filters = filterColumns(collection);
  const fields = selection.chosenFields(row);
  return dataRoute({
    path,
    operationId: `list${operation}`,
    vintages: true,
    summary: `Rows of ${name}`,
    description:
      `Sorted by ${key.join(', ')} by default; \`sort\` and some filters change the order. The table has indexes for these ` +
      `orders: ${[...orders.values()].map((each) => each.join(', ')).join('; ')}. An index is used if the filters fix the ` +
      'first fields of its order, with an optional range on the next field. Other filters scan the rows.',
    parameters: {
      filters,
      query: {
        sort: sortParameter(orders, Object.keys(filters)),
        fields: fields.parameter,
        ...searchParameter(collection),
        count: countParameter,
        ...paging.parameters,
      },
    },
    columns: (input) => fields.columns(input.fields),
    normalize: ({ fields: chosen, ...others }) =>
      withWords({ ...others, ...(chosen && { fields: fields.columns(chosen)! }) }),
    errors: [selection.tooManyRows],
    response: {
      description: 'The rows.',
      schema: record({ data: { type: 'array', items: row } }) as JsonSchema,
      example: { data: [example] },
      headers: {
        ...paging.headers,
        'Total-Count': { description: 'The total number of rows. Sent if `count` is true.', example: '12' },
      },
    },
    async handler(input, context) {
      const { sort } = input as { readonly sort?: string };
      const matching = { where: conditionsOf(input), words: wordsOf(input) };
      const order = sort === undefined ? undefined : orderFor(sort.replace(/^-/, ''), orders, matching.where);
      if (input.count)
        context.setHeader('Total-Count', String(await selection.countMatching(context, collection, matching)));
      if (sort !== undefined && !order) {
        const sorted = await paging.selectSorted(context, collection, { ...matching, sort }, input).catch((error) => {
          throw (error as Partial<ApiError>).kind === selection.tooManyRows ? tooManyToSort(sort, orders) : error;
        });
        return { data: sorted as readonly Row[] };
      }
      const chosen = { ...matching, order, descending: sort?.startsWith('-') ?? false };
      return { data: await paging.selectPage(context, collection, chosen, input) };
    },
  });
};

const rowRoute = ({ collection, path, operation, example, row }: Table): Route => {
  const { name, key, schema } = collection;
  const parameter = (field: string): Parameter => ({
    description: `The row's \`${field}\`.`,
    schema: schemaOf(schema, field),
    example: example[field]!,
    foundIn: { [`list${operation}`]: `/data/0/${field}` },
  });
  return dataRoute({
    path: rowPath(path, key),
    operationId: `get${operation}`,
    // If a key column is named `as_of`, its path parameter would conflict with the query parameter for vintages.
    vintages: !key.includes('as_of'),
    summary: `A single row of ${name}`,
    parameters: { path: Object.fromEntries(key.map((field) => [field, parameter(field)])) },
    errors: [rowNotFound],
    response: { description: 'The row.', schema: row, example },
    async handler(input, { snapshot }) {
      const found = await snapshot.get(
        collection,
        key.map((field) => (input as Row)[field]!),
      );
      if (!found) throw new ApiError(rowNotFound);
      return found;
    },
  });
};
