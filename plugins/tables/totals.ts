/** Defines the endpoint for a table's totals, such as the number of rows for each value of a column. */
import {
  type Collection,
  conditionsOf,
  dataRoute,
  filterColumns,
  type Group,
  invalidParameter,
  type JsonSchema,
  paging,
  type Route,
  type Scalar,
  schemas,
  selection,
} from 'metro-forecast-api/plugin';
import { searchParameter, type Table, withWords, wordsOf } from './routes.js';

const { record } = schemas;

type Properties = Readonly<Record<string, JsonSchema>>;

const MEASURES = ['count', 'sum', 'mean', 'min', 'max'] as const;
type Measure = (typeof MEASURES)[number];

/** The measures in the response, given the column with numbers in `of`. */
const measuresFor = (of: string | undefined): readonly Measure[] => (of === undefined ? ['count'] : MEASURES);

/** The maximum number of columns in `by`. */
const MOST_COLUMNS = 2;

/** Names the measures. If a column already has the name, an underscore is appended. */
const measureNames = (columns: readonly string[]): Readonly<Record<Measure, string>> => {
  const free = (name: string): string => (columns.includes(name) ? free(`${name}_`) : name);
  return Object.fromEntries(MEASURES.map((measure) => [measure, free(measure)])) as Record<Measure, string>;
};

const MEANINGS: Readonly<Record<Measure, string>> = {
  count: 'The number of rows.',
  sum: 'The sum of the numbers, rounded to 15 digits. Null if there are no numbers.',
  mean: 'The mean of the numbers. Null if there are no numbers.',
  min: 'The least number. Null if there are no numbers.',
  max: 'The greatest number. Null if there are no numbers.',
};

/** The schema of a column that groups rows. Rows without a value are in a group whose value is null. */
const groupColumn = (schema: JsonSchema, isRequired: boolean): JsonSchema => {
  const types = [schema['type']].flat();
  if (isRequired || types.includes('null')) return schema;
  const { enum: values } = schema;
  return { ...schema, type: [...types, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) };
};

/** Rounds a sum, so that the order of the numbers and binary fractions do not change it. */
const rounded = (value: number): number => (Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)));

const measuresOf = ({ count, numbers }: Group): Readonly<Record<Measure, number | null>> => {
  if (!numbers) return { count, sum: null, mean: null, min: null, max: null };
  const sum = rounded(numbers.sum);
  return { count, sum, mean: rounded(sum / numbers.count), min: numbers.min, max: numbers.max };
};

/** The schema of a group, and its columns for a request. */
const describeGroups = ({ collection: { schema }, operation, example }: Table, grouped: readonly string[]) => {
  const properties = schema['properties'] as Properties;
  const required = (schema['required'] ?? []) as readonly string[];
  const names = measureNames(Object.keys(properties));
  const numeric = { type: ['number', 'null'] };
  const row: JsonSchema = {
    title: `${operation}Totals`,
    type: 'object',
    required: [names.count],
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(grouped.map((name) => [name, groupColumn(properties[name]!, required.includes(name))])),
      ...Object.fromEntries(
        MEASURES.map((measure) => [
          names[measure],
          { ...(measure === 'count' ? { type: 'integer', minimum: 0 } : numeric), description: MEANINGS[measure] },
        ]),
      ),
    },
  };
  const [first] = grouped;
  return {
    names,
    row,
    example: { ...(first !== undefined && { [first]: example[first] ?? null }), [names.count]: 12 },
    columns: (by: readonly string[] = [], of?: string) => [...by, ...measuresFor(of).map((measure) => names[measure])],
  };
};

const isNumeric = ({ type }: JsonSchema): boolean => type === 'number' || type === 'integer';

const queryOf = (collection: Collection, names: Readonly<Record<Measure, string>>) => {
  const columns = filterColumns(collection);
  const grouped = Object.keys(columns);
  const numeric = grouped.filter((name) => isNumeric(columns[name]!));
  const sorts = MEASURES.flatMap((measure) => [names[measure], `-${names[measure]}`]);
  return {
    by: {
      description: `Up to ${MOST_COLUMNS} columns. The response has a row for each combination of their values. Default: one row for all.`,
      schema: { type: 'array', items: { type: 'string', enum: grouped }, maxItems: MOST_COLUMNS },
      example: grouped.slice(0, 1),
    },
    ...(numeric.length > 0 && {
      of: {
        description: 'A column with numbers. Each row then also has their sum, mean, least and greatest value.',
        schema: { type: 'string', enum: numeric },
        example: numeric[0]!,
      },
    }),
    sort: {
      description: 'The order, descending with a leading "-". Default: by the values of the columns.',
      schema: { type: 'string', enum: sorts },
      example: `-${names.count}`,
    },
    ...searchParameter(collection),
    ...paging.parameters,
  } as const;
};

interface Input {
  readonly by?: readonly string[];
  readonly of?: string;
  readonly sort?: string;
}

/** The value by which rows are sorted. */
const sortValue = (row: Readonly<Record<string, Group['values'][number]>>, field: string): Scalar | null => {
  const value = row[field] ?? null;
  return typeof value === 'boolean' ? Number(value) : value;
};

export const totalsRoute = (table: Table): Route => {
  const { collection, path, operation } = table;
  const filters = filterColumns(collection);
  const { names, row, example, columns } = describeGroups(table, Object.keys(filters));
  const isOfNumbers = (sort: string) => sort.replace(/^-/, '') !== names.count;
  return dataRoute({
    path: `/totals${path}`,
    operationId: `total${operation}`,
    vintages: true,
    summary: `The number of rows of ${collection.name}, and totals of a column`,
    description:
      'Counts the rows that match, by the values of up to two columns. With `of`, each row also has the sum, mean, ' +
      'least and greatest value of a column with numbers.',
    parameters: { filters, query: queryOf(collection, names) },
    columns: (input) => columns((input as Input).by, (input as Input).of),
    normalize: withWords,
    check(input) {
      const { sort, of } = input as Input;
      if (sort === undefined || of !== undefined || !isOfNumbers(sort)) return;
      throw invalidParameter('query', 'sort', `is not in the response: add "of", or sort by ${names.count}`);
    },
    errors: [selection.tooManyRows],
    response: {
      description: 'The totals.',
      schema: record({ data: { type: 'array', items: row } }) as JsonSchema,
      example: { data: [example] },
      headers: paging.headers,
    },
    async handler(input, context) {
      const { by = [], of, sort } = input as Input;
      const matching = { where: conditionsOf(input), words: wordsOf(input) };
      const groups = await selection.selectTotals(context, collection, { ...matching, by, of });
      const rows = groups.map((group) => {
        const measures = measuresOf(group);
        return Object.fromEntries([
          ...by.map((name, i) => [name, group.values[i]!]),
          ...measuresFor(of).map((measure) => [names[measure], measures[measure]]),
        ]);
      });
      return {
        data: paging.pageOf(context, rows, paging.rowOrder([...(sort ? [sort] : []), ...by], sortValue), input),
      };
    },
  });
};
