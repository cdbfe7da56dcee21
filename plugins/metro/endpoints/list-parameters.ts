import {
  type DataContext,
  type JsonSchema,
  type PageInput,
  type Parameter,
  paging,
  type Scalar,
  selection,
} from 'metro-forecast-api/plugin';
import { AREA_KINDS, kindOf, METRO_KINDS, metroAreas, statesOf } from '../areas.js';
import { type Market, RISK_GRADES, SIGNALS } from '../collections.js';

interface Selection extends PageInput, Partial<Record<FilterName, readonly string[]>> {
  readonly kind?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: readonly string[];
}

export type ListRow = Pick<Market, 'cbsa' | 'name'> & Partial<Pick<Market, PropertyFilter>>;

const filter = (what: string, values: readonly string[], example: readonly string[]) =>
  ({
    description: `${what} Separate several values with commas. A row matches if it has any of the values.`,
    schema: { type: 'array', items: { type: 'string', enum: values } },
    example,
  }) as const satisfies Parameter;

export const kindParameter = {
  description: `Kinds of areas, separated by commas. Default: \`${METRO_KINDS.join()}\`.`,
  schema: { type: 'array', items: { type: 'string', enum: AREA_KINDS as readonly string[] } },
  example: ['state', 'nation'],
} as const satisfies Parameter;

export const isOfKind = (kinds: readonly string[] = METRO_KINDS): ((row: { readonly cbsa: string }) => boolean) => {
  const chosen = new Set(kinds);
  return ({ cbsa }) => chosen.has(kindOf(cbsa));
};

/** Kinds are sorted and the default is removed, so that equivalent requests share a cached response. */
export const normalizeKind = <Input extends { readonly kind?: readonly string[] | undefined }>({
  kind,
  ...others
}: Input): Input => {
  const sorted = kind && [...new Set(kind)].sort();
  return {
    ...others,
    ...(sorted && sorted.join() !== METRO_KINDS.toSorted().join() && { kind: sorted }),
  } as unknown as Input;
};

const STATES = [...new Set([...metroAreas.values()].flatMap(({ states }) => states))].sort();

const FILTERS = {
  state: filter('Postal codes of states. A market can be in several states.', STATES, ['TX', 'OK']),
  signal: filter('Signals.', SIGNALS, ['expand']),
  risk_score: filter('Risk grades.', RISK_GRADES, ['A', 'B']),
} as const;

type FilterName = keyof typeof FILTERS;
type PropertyFilter = Exclude<FilterName, 'state'>;

const FILTER_NAMES = Object.keys(FILTERS) as readonly FilterName[];

const isFilter = (name: string): boolean => Object.hasOwn(FILTERS, name);

const filtersOf = (properties: readonly string[]) =>
  Object.fromEntries(
    Object.entries(FILTERS).filter(([name]) => name === 'state' || properties.includes(name)),
  ) as Partial<typeof FILTERS>;

const matches = (row: ListRow, name: FilterName, values: ReadonlySet<unknown>): boolean =>
  name === 'state' ? statesOf(row).some((code) => values.has(code)) : values.has(row[name]);

/** Sets make the cost per row independent of the number of filter values. */
const chosenBy = (given: Selection): ((row: ListRow) => boolean) => {
  const hasKind = isOfKind(given.kind);
  const filters = FILTER_NAMES.flatMap((name) => {
    const values = given[name] && new Set<unknown>(given[name]);
    return values ? [(row: ListRow) => matches(row, name, values)] : [];
  });
  return (row) => hasKind(row) && filters.every((isMatch) => isMatch(row));
};

interface ListOptions<T> {
  /** Sort order for requests without `sort`, in the format of `rowOrder`. Default: by CBSA code. */
  readonly order?: readonly string[];
  readonly read?: (row: T, field: string) => Scalar | null;
}

export const listParameters = <T extends ListRow = ListRow>(
  row: JsonSchema,
  { order = ['cbsa'], read }: ListOptions<T> = {},
) => {
  const all = Object.keys(row['properties'] as object);
  const { parameter: fields, columns } = selection.chosenFields(row);
  const parameters = {
    kind: kindParameter,
    ...filtersOf(all),
    sort: {
      description:
        'Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are broken by `cbsa`.',
      schema: { type: 'array', items: { type: 'string', enum: all.flatMap((name) => [name, `-${name}`]) } },
      example: [`-${all.includes('delta_pp') ? 'delta_pp' : 'forecast_12m'}`],
    },
    fields,
    ...paging.parameters,
  } as const satisfies Readonly<Record<string, Parameter>>;
  const ownOrder = paging.rowOrder(order, read);
  const isOwnOrder = (sort: readonly string[] | undefined) => sort === undefined || sort.join() === order.join();
  const orderOf = (sort: readonly string[]) => {
    const end = sort.findIndex((field) => /^-?cbsa$/.test(field));
    return paging.rowOrder<T, string>(end === -1 ? [...sort, 'cbsa'] : sort.slice(0, end + 1));
  };
  return {
    parameters,
    headers: paging.headers,
    columns: (given: Selection) => columns(given.fields),
    /** Sorts filter values and removes defaults, so that equivalent requests share a cached response. */
    normalize<Input extends Selection>({ sort, fields, ...others }: Input): Input {
      const entries = Object.entries(normalizeKind(others)).map(([name, value]) =>
        isFilter(name) && Array.isArray(value) ? [name, value.toSorted()] : [name, value],
      );
      return {
        ...Object.fromEntries(entries),
        ...(!isOwnOrder(sort) && { sort }),
        ...(fields !== undefined && { fields: columns(fields) }),
      } as unknown as Input;
    },
    respond<R extends T>(rows: readonly R[], given: Selection, context: DataContext) {
      const { sort } = given;
      const by = sort === undefined ? ownOrder : orderOf(sort);
      return { data: paging.pageOf<R>(context, rows.filter(chosenBy(given)), by, given) };
    },
  };
};
