/** Filters, sorting, paging and columns of every list with one row per market. */
import {
  type DataContext,
  excerpt,
  invalidParameter,
  type JsonSchema,
  nearest,
  type PageInput,
  type Parameter,
  pageHeaders,
  pageOf,
  pageParameters,
  rowOrder,
  type Scalar,
} from 'metro-forecast-api/plugin';
import { statesOf } from '../areas.js';
import { type Market, RISK_GRADES, type RiskGrade, SIGNALS, type Signal, text } from '../collections.js';

import { listed } from './shared.js';

/** The parameters of a request. Several values are separated by commas. */
export interface Selection extends PageInput {
  readonly state?: string;
  readonly signal?: string;
  readonly risk_score?: string;
  readonly sort?: string;
  readonly fields?: string;
}

/** The columns that the rows of every list have. */
export type ListRow = Pick<Market, 'cbsa' | 'name'> & {
  readonly signal: Signal | null;
  readonly risk_score?: RiskGrade | null;
};

const filter = (what: string, example: string) => ({
  description: `${what} Separate several values by commas; a row matches any of them.`,
  schema: text,
  example,
});

const STATE = filter('Postal codes of states. A market can lie in several.', 'TX,OK');
const SIGNAL = filter(`Signals: ${SIGNALS.join(', ')}.`, 'expand');
const RISK_SCORE = filter(`Risk grades: ${RISK_GRADES.join(', ')}.`, 'A,B');

/** @throws ApiError for a value that is not allowed, with the nearest one that is */
const checkOneOf = (name: string, value: string, allowed: readonly string[], given = value): void => {
  if (allowed.includes(value)) return;
  const guess = nearest(value, allowed);
  const advice = guess ? `did you mean "${guess}"?` : `it has: ${allowed.join(', ')}`;
  throw invalidParameter('query', name, `has no value "${excerpt(given)}"; ${advice}`);
};

const partsOf = (value: string | undefined): readonly string[] => (value === undefined ? [] : listed(value));

export const fieldsParameter = (columns: readonly string[], example: string) => ({
  description: `Keys of each row, separated by commas: ${columns.join(', ')}. Rows keep the original order of keys.`,
  schema: text,
  example,
});

export const checkFields = (columns: readonly string[], fields: string | undefined): void => {
  for (const part of partsOf(fields)) checkOneOf('fields', part, columns);
};

/** The requested columns, in the sequence of `columns`. */
export const fieldsOf = (columns: readonly string[], fields: string | undefined): readonly string[] | undefined => {
  if (fields === undefined) return undefined;
  const chosen = listed(fields);
  return columns.filter((name) => chosen.includes(name));
};

const check = (columns: readonly string[], { state, signal, risk_score, sort, fields }: Selection): void => {
  for (const part of partsOf(signal)) checkOneOf('signal', part, SIGNALS);
  for (const part of partsOf(risk_score)) checkOneOf('risk_score', part, RISK_GRADES);
  for (const part of partsOf(state)) {
    if (!/^[A-Z]{2}$/.test(part)) {
      throw invalidParameter('query', 'state', `must be postal codes like TX or TX,OK, and has "${excerpt(part)}"`);
    }
  }
  if (sort !== undefined) checkOneOf('sort', sort.replace(/^-/, ''), columns, sort);
  checkFields(columns, fields);
};

/** Returns a function that tests rows against the filters. Its cost does not depend on the number of values of a filter. */
const chosenBy = ({ state, signal, risk_score }: Selection): ((row: ListRow) => boolean) => {
  const setOf = (values: string | undefined) => (values === undefined ? undefined : new Set<unknown>(listed(values)));
  const [states, signals, grades] = [setOf(state), setOf(signal), setOf(risk_score)];
  return (row) =>
    (signals?.has(row.signal) ?? true) &&
    (grades?.has(row.risk_score) ?? true) &&
    (states === undefined || statesOf(row.name).some((code) => states.has(code)));
};

interface ListOptions<T> {
  /** The order without `sort`: fields as in `rowOrder`. Default: the CBSA code. */
  readonly order?: readonly string[];
  /** Returns the value of a field of this order. Default: the row's property. */
  readonly read?: (row: T, field: string) => Scalar | null;
}

/**
 * The parameters of a list, and the functions of its route that apply them.
 * @param row the schema of a row. Lists can be sorted by its properties, and reduced to some of them
 */
export const listParameters = <T extends ListRow = ListRow>(
  { properties }: JsonSchema,
  { order = ['cbsa'], read }: ListOptions<T> = {},
) => {
  const all = Object.keys(properties as object);
  const parameters = {
    state: STATE,
    signal: SIGNAL,
    ...(all.includes('risk_score') && { risk_score: RISK_SCORE }),
    sort: {
      description: `Property to sort by: ${all.join(', ')}. Ascending; descending with a leading "-". Nulls are last.`,
      schema: text,
      example: `-${all.includes('delta_pp') ? 'delta_pp' : 'forecast_12m'}`,
    },
    fields: fieldsParameter(all, 'cbsa,name'),
    ...pageParameters,
  } satisfies Readonly<Record<string, Parameter>>;
  const ownOrder = rowOrder(order, read);
  const isOwnOrder = (sort: string | undefined) => sort === undefined || (order.length === 1 && sort === order[0]);
  const orderOf = (sort: string) => rowOrder<T>(/^-?cbsa$/.test(sort) ? [sort] : [sort, 'cbsa']);
  return {
    parameters,
    headers: pageHeaders,
    check: (given: Selection): void => check(all, given),
    columns: ({ fields }: Selection) => fieldsOf(all, fields),
    /** Sorts the values of filters, and removes default values. */
    normalize<Input extends Selection>({ state, signal, risk_score, sort, fields, ...others }: Input): Input {
      const sorted = { state, signal, risk_score };
      const lists = Object.entries(sorted).flatMap(([name, values]) =>
        values === undefined ? [] : [[name, listed(values).sort().join()]],
      );
      return {
        ...others,
        ...Object.fromEntries(lists),
        ...(!isOwnOrder(sort) && { sort }),
        ...(fields !== undefined && { fields: fieldsOf(all, fields)!.join() }),
      } as unknown as Input;
    },
    /** Filters and sorts the rows, and returns one page of them. */
    answer<R extends T>(rows: readonly R[], given: Selection, context: DataContext) {
      const { sort } = given;
      const by = sort === undefined ? ownOrder : orderOf(sort);
      return { data: pageOf<R>(context, rows.filter(chosenBy(given)), by, given) };
    },
  };
};
