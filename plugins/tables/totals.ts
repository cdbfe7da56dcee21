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
  schemas,
  selection,
} from 'metro-forecast-api/plugin';
import { totalsPath } from './paths.js';
import { searchParameter, type Table, withWords, wordsOf } from './routes.js';

const { record } = schemas;

type Properties = Readonly<Record<string, JsonSchema>>;

const MEASURES = ['count', 'sum', 'mean', 'min', 'max'] as const;
type Measure = (typeof MEASURES)[number];

const measuresFor = (of: string | undefined): readonly Measure[] => (of === undefined ? ['count'] : MEASURES);

const MOST_COLUMNS = 2;

/** Appends underscores to a measure that has the same name as a column. */
const measureNames = (columns: readonly string[]): Readonly<Record<Measure, string>> => {
  const free = (name: string): string => (columns.includes(name) ? free(`${name}_`) : name);
  return Object.fromEntries(MEASURES.map((measure) => [measure, free(measure)])) as Record<Measure, string>;
};

const MEANINGS: Readonly<Record<Measure, string>> = {
  count: 'Number of rows.',
  sum: 'Sum of the numbers, rounded to 15 significant digits. Null if there are no numbers.',
  mean: 'Mean of the numbers. Null if there are no numbers.',
  min: 'Smallest number. Null if there are no numbers.',
  max: 'Largest number. Null if there are no numbers.',
};

/** Rows without a value form a group whose value is null, so an optional column becomes nullable. */
const groupColumn = (schema: JsonSchema, isRequired: boolean): JsonSchema => {
  const types = [schema['type']].flat();
  if (isRequired || types.includes('null')) return schema;
  const { enum: values } = schema;
  return { ...schema, type: [...types, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) };
};

/** Digits after the 15th significant digit would depend on the order of summation. */
const rounded = (value: number): number => (Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)));

const measuresOf = ({ count, numbers }: Group): Readonly<Record<Measure, number | null>> => {
  if (!numbers) return { count, sum: null, mean: null, min: null, max: null };
  const sum = rounded(numbers.sum);
  return { count, sum, mean: rounded(sum / numbers.count), min: numbers.min, max: numbers.max };
};

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
    /** Responses always include the columns in `by` and the count. */
    columns: ({ by = [], of, fields }: Input) => {
      const measures = measuresFor(of).map((measure) => names[measure]);
      return [...by, ...measures.filter((name) => name === names.count || !fields || fields.includes(name))];
    },
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
      description: `Up to ${MOST_COLUMNS} columns to group by. The response has one row for each combination of their values. Default: a single row for the whole table.`,
      schema: { type: 'array', items: { type: 'string', enum: grouped }, maxItems: MOST_COLUMNS },
      example: grouped.slice(0, 1),
    },
    ...(numeric.length > 0 && {
      of: {
        description:
          'A numeric column. If given, each row also contains the sum, mean, minimum and maximum of this column.',
        schema: { type: 'string', enum: numeric },
        example: numeric[0]!,
      },
    }),
    sort: {
      description: 'The measure to sort by. A leading "-" means descending. Default: sorted by the columns in `by`.',
      schema: { type: 'string', enum: sorts },
      example: `-${names.count}`,
    },
    fields: {
      description: `The measures in the response, separated by commas. Always included: ${names.count} and the columns in \`by\`. Default: all.`,
      schema: { type: 'array', items: { type: 'string', enum: MEASURES.map((measure) => names[measure]) } },
      example: [names.count],
    },
    ...searchParameter(collection),
    ...paging.parameters,
  } as const;
};

interface Input {
  readonly by?: readonly string[];
  readonly of?: string;
  readonly sort?: string;
  readonly fields?: readonly string[];
}

export const totalsRoute = (table: Table): Route => {
  const { collection, path, operation } = table;
  const filters = filterColumns(collection);
  const { names, row, example, columns } = describeGroups(table, Object.keys(filters));
  const needsNumbers = (sort: string) => sort.replace(/^-/, '') !== names.count;
  return dataRoute({
    path: totalsPath(path),
    operationId: `total${operation}`,
    vintages: true,
    summary: `Row counts and totals for ${collection.name}`,
    description:
      'Counts the matching rows, grouped by the values of up to two columns. With `of`, each group also has the sum, ' +
      'mean, minimum and maximum of a numeric column.',
    parameters: { filters, query: queryOf(collection, names) },
    columns: (input) => columns(input as Input),
    normalize: ({ fields, ...others }) =>
      withWords({
        ...others,
        ...(fields && { fields: columns({ ...(others as Input), fields: fields as string[] }) }),
      }),
    check(input) {
      const { sort, of, fields = [] } = input as Input;
      if (of !== undefined) return;
      if (sort !== undefined && needsNumbers(sort))
        throw invalidParameter('query', 'sort', `is not in the response: add "of", or sort by ${names.count}`);
      const missing = fields.find(needsNumbers);
      if (missing)
        throw invalidParameter('query', 'fields', `includes ${missing}, which is not in the response: add "of"`);
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
        data: paging.pageOf(context, rows, paging.rowOrder([...(sort ? [sort] : []), ...by]), input),
      };
    },
  });
};
