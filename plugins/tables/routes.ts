/** Defines the endpoints of a table. */
import {
  ApiError,
  type Collection,
  chosenFields,
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
import { totalsRoute } from './totals.js';

const { record } = schemas;

type Row = Readonly<Record<string, Scalar>>;

export const rowNotFound = defineError({
  code: 'row_not_found',
  status: 404,
  sentence: 'There is no row with this key. Leave the key out to list all rows.',
  when: 'The table has no row with this key.',
});

const pascal = (name: string): string => name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** Returns the values of `sort`. Each is the shortest prefix of an order that differs from all earlier values. */
export const sortNames = (orders: readonly (readonly string[])[]): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, readonly string[]>();
  for (const order of orders) {
    let length = 1;
    while (names.has(order.slice(0, length).join())) length++;
    names.set(order.slice(0, length).join(), order);
  }
  return names;
};

/** Returns the schema of a parameter, with the type and the limits of its field. */
const schemaOf = (schema: JsonSchema, field: string): JsonSchema => {
  const {
    default: _,
    examples: __,
    example: ___,
    ...rest
  } = (schema['properties'] as Record<string, JsonSchema>)[field]!;
  return rest;
};

/** The data about a table that its endpoints need. */
export interface Table {
  readonly collection: Collection<Row>;
  readonly path: string;
  /** The name of the table in operation ids. */
  readonly operation: string;
  /** The orders, by the values of `sort`. */
  readonly orders: ReadonlyMap<string, readonly string[]>;
  readonly example: Row;
  /** The schema of a row, with a title. */
  readonly row: JsonSchema;
}

/** The longest list of columns in a message. */
const MOST_LISTED = 20;

/** Endpoints that a service with tables has. */
const RESERVED: readonly string[] = ['health', 'ready', 'status', 'totals', 'usage'];

/** Returns the reason why a table cannot have a name, or undefined if it can. Columns can have any name. */
export const tableNameError = (name: string): string | undefined =>
  RESERVED.includes(name) ? `a table must not be called "${name}": the service has an endpoint /${name}` : undefined;

/** @throws OperatorError if the declaration of the table cannot be served */
export const tableRoutes = (declared: Collection): Route[] => {
  const collection = declared as Collection<Row>;
  const { name, key, orders: more = [], schema } = collection;
  const [example] = (schema['examples'] ?? []) as readonly Row[];
  const nameError = tableNameError(name);
  if (nameError) throw new OperatorError(nameError);
  if (!example) throw new OperatorError(`collection "${name}" has no example of a row: "examples" of its schema`);
  const orders = sortNames([key, ...more]);
  const operation = pascal(name);
  const table: Table = {
    collection,
    path: `/${name.replaceAll('_', '-')}`,
    operation,
    orders,
    example,
    // `fields` can remove all other columns.
    row: { title: `${operation}Row`, ...schema, required: key },
  };
  return [listRoute(table), rowRoute(table), totalsRoute(table)];
};

/** Rewrites a search so that searches for the same words have equal inputs. */
export const withWords = <I extends { readonly q?: Scalar | boolean }>(input: I): I =>
  input.q === undefined ? input : { ...input, q: wordsOf(input)!.join(' ') };

/** The words of the search in a request. */
export const wordsOf = ({ q }: { readonly q?: Scalar | boolean }): readonly string[] | undefined =>
  selection.wordsIn(q as string | undefined);

/** The parameter that searches for words, if the table has text. */
export const searchParameter = (collection: Collection): { readonly q?: Parameter } => {
  const fields = selection.searchedFields(collection);
  if (fields.length === 0) return {};
  const most = fields.length > MOST_LISTED ? ', ...' : '';
  return {
    q: {
      description:
        `Words that a row must contain, in any of these columns: ${fields.slice(0, MOST_LISTED).join(', ')}${most}. A ` +
        'word consists of letters and digits, and at least one is required. Case and accents do not matter. A `*` at the end of a word matches every word that starts with it.',
      schema: { type: 'string', minLength: 1, maxLength: 200 },
    },
  };
};

const countParameter = {
  description: 'Whether to count the rows on all pages. The header `Total-Count` then has the number.',
  schema: { type: 'boolean' },
} as const satisfies Parameter;

const listRoute = ({ collection, path, operation, orders, example, row }: Table): Route => {
  const { name, key } = collection;
  const names = [...orders.keys()];
  const fields = chosenFields(row);
  return dataRoute({
    path,
    operationId: `list${operation}`,
    vintages: true,
    summary: `The rows of ${name}`,
    description:
      `Ordered by ${key.join(', ')} unless \`sort\` or a filter says otherwise. Filters on the first fields of an order ` +
      `are fast, as are limits on the next field: ${[...orders.values()].map((each) => each.join(', ')).join('; ')}. ` +
      'Other filters read the rows one by one.',
    parameters: {
      filters: filterColumns(collection),
      query: {
        sort: {
          description: 'The order, descending with a leading "-". Default: an order that fits the filters.',
          schema: { type: 'string', enum: names.flatMap((each) => [each, `-${each}`]) },
          example: names.at(-1)!,
          allowed:
            `${names.slice(0, MOST_LISTED).join(', ')}${names.length > MOST_LISTED ? ', ...' : ''}, or one of these with ` +
            'a "-" in front; the option --sort of import-table adds other columns',
        },
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
        'Total-Count': { description: 'The number of rows, if `count` is true.', example: '12' },
      },
    },
    async handler(input, context) {
      const { sort } = input as { readonly sort?: string };
      const order = sort === undefined ? undefined : orders.get(sort.replace(/^-/, ''));
      const matching = { where: conditionsOf(input), words: wordsOf(input) };
      if (input.count)
        context.setHeader('Total-Count', String(await selection.countMatching(context, collection, matching)));
      const chosen = { ...matching, order, descending: sort?.startsWith('-') ?? false };
      return { data: await paging.selectPage(context, collection, chosen, input) };
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
    // If a key column is named `as_of`, the path contains that name.
    vintages: !key.includes('as_of'),
    summary: `One row of ${name}`,
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
