/** Implements filtering, sorting, paging and field selection for all lists with one row per market. */
import {
  chosenFields,
  type DataContext,
  type JsonSchema,
  type PageInput,
  type Parameter,
  paging,
  type Scalar,
} from 'metro-forecast-api/plugin';
import { AREA_KINDS, kindOf, METRO_KINDS, metroAreas, statesOf } from '../areas.js';
import { type Market, RISK_GRADES, type RiskGrade, SIGNALS, type Signal } from '../collections.js';

export interface Selection extends PageInput {
  readonly kind?: readonly string[];
  readonly state?: readonly string[];
  readonly signal?: readonly string[];
  readonly risk_score?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: readonly string[];
}

/** Columns used for filtering and for the default order. */
export type ListRow = Pick<Market, 'cbsa' | 'name'> & {
  readonly signal?: Signal | null;
  readonly risk_score?: RiskGrade | null;
};

const filter = (what: string, values: readonly string[], example: readonly string[]) =>
  ({
    description: `${what} Separate several values by commas. A row needs to match only one of them.`,
    schema: { type: 'array', items: { type: 'string', enum: values } },
    example,
  }) as const satisfies Parameter;

export const kindParameter = {
  description: `Kinds of areas, separated by commas. Default: \`${METRO_KINDS.join()}\`.`,
  schema: { type: 'array', items: { type: 'string', enum: AREA_KINDS as readonly string[] } },
  example: ['state', 'nation'],
} as const satisfies Parameter;

/** @param kinds default: metropolitan areas and divisions */
export const isOfKind = (kinds: readonly string[] = METRO_KINDS): ((row: { readonly cbsa: string }) => boolean) => {
  const chosen = new Set(kinds);
  return ({ cbsa }) => chosen.has(kindOf(cbsa));
};

/** Sorts the kinds, or removes them if they equal the default, so that equivalent requests share a cached response. */
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
const STATE = filter('Postal codes of states. A market can be in several states.', STATES, ['TX', 'OK']);
const SIGNAL = filter('Signals.', SIGNALS, ['expand']);
const RISK_SCORE = filter('Risk grades.', RISK_GRADES, ['A', 'B']);

/** Builds sets first, so that the cost per row does not depend on the number of filter values. */
const chosenBy = ({ kind, state, signal, risk_score }: Selection): ((row: ListRow) => boolean) => {
  const setOf = (values: readonly string[] | undefined) =>
    values === undefined ? undefined : new Set<unknown>(values);
  const [states, signals, grades] = [setOf(state), setOf(signal), setOf(risk_score)];
  const hasKind = isOfKind(kind);
  return (row) =>
    hasKind(row) &&
    (signals?.has(row.signal) ?? true) &&
    (grades?.has(row.risk_score) ?? true) &&
    (states === undefined || statesOf(row).some((code) => states.has(code)));
};

interface ListOptions<T> {
  /** Default sort order, as in `rowOrder`. Default: the CBSA code. */
  readonly order?: readonly string[];
  /** Returns the sort value of a field. Default: the row's property with that name. */
  readonly read?: (row: T, field: string) => Scalar | null;
}

/**
 * Defines the query parameters of a list, and the functions that apply them in its route.
 * @param row schema of a row; `sort` and `fields` accept its properties
 */
export const listParameters = <T extends ListRow = ListRow>(
  row: JsonSchema,
  { order = ['cbsa'], read }: ListOptions<T> = {},
) => {
  const all = Object.keys(row['properties'] as object);
  const { parameter: fields, columns } = chosenFields(row);
  const parameters = {
    kind: kindParameter,
    state: STATE,
    signal: SIGNAL,
    ...(all.includes('risk_score') && { risk_score: RISK_SCORE }),
    sort: {
      description:
        'Properties to sort by, separated by commas. Prefix a property with "-" for descending order. Nulls come last. Ties are sorted by `cbsa`.',
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
    /** Sorts filter values and removes default values, so that equivalent requests share a cached response. */
    normalize<Input extends Selection>({ state, signal, risk_score, sort, fields, ...others }: Input): Input {
      const lists = Object.entries({ state, signal, risk_score }).flatMap(([name, values]) =>
        values === undefined ? [] : [[name, [...values].sort()]],
      );
      return {
        ...normalizeKind(others),
        ...Object.fromEntries(lists),
        ...(!isOwnOrder(sort) && { sort }),
        ...(fields !== undefined && { fields: columns(fields) }),
      } as unknown as Input;
    },
    answer<R extends T>(rows: readonly R[], given: Selection, context: DataContext) {
      const { sort } = given;
      const by = sort === undefined ? ownOrder : orderOf(sort);
      return { data: paging.pageOf<R>(context, rows.filter(chosenBy(given)), by, given) };
    },
  };
};
