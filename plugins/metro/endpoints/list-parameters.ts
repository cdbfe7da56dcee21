/** Filters, sorting, pages and columns of lists with a row a market: declared once, for every list that has the columns. */
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

/** The parameters as a request gives them: lists of values are separated by commas. */
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
  description: `${what} Several are separated by commas, and any of them will do.`,
  schema: text,
  example,
});

const STATE = filter('Postal codes of states, which may be any of those that a market lies in.', 'TX,OK');
const SIGNAL = filter(`Signals: ${SIGNALS.join(', ')}.`, 'expand');
const RISK_SCORE = filter(`Risk grades: ${RISK_GRADES.join(', ')}.`, 'A,B');

/** @throws ApiError naming the value that is none of those allowed, and the nearest that is */
const checkOneOf = (name: string, value: string, allowed: readonly string[], given = value): void => {
  if (allowed.includes(value)) return;
  const guess = nearest(value, allowed);
  const advice = guess ? `did you mean "${guess}"?` : `it has: ${allowed.join(', ')}`;
  throw invalidParameter('query', name, `has no value "${excerpt(given)}"; ${advice}`);
};

const partsOf = (value: string | undefined): string[] | undefined => (value === undefined ? value : listed(value));

export const fieldsParameter = (columns: readonly string[], example: string) => ({
  description: `Which keys each row has, separated by commas: ${columns.join(', ')}. Their sequence stays the same.`,
  schema: text,
  example,
});

export const checkFields = (columns: readonly string[], fields: string | undefined): void => {
  for (const part of partsOf(fields) ?? []) checkOneOf('fields', part, columns);
};

/** The columns that are asked for, in their own sequence. */
export const fieldsOf = (columns: readonly string[], fields: string | undefined): readonly string[] | undefined => {
  const chosen = partsOf(fields);
  return chosen && columns.filter((name) => chosen.includes(name));
};

const check = (columns: readonly string[], { state, signal, risk_score, sort, fields }: Selection): void => {
  for (const part of partsOf(signal) ?? []) checkOneOf('signal', part, SIGNALS);
  for (const part of partsOf(risk_score) ?? []) checkOneOf('risk_score', part, RISK_GRADES);
  for (const part of partsOf(state) ?? []) {
    if (!/^[A-Z]{2}$/.test(part)) {
      throw invalidParameter('query', 'state', `must be postal codes like TX or TX,OK, and has "${excerpt(part)}"`);
    }
  }
  if (sort !== undefined) checkOneOf('sort', sort.replace(/^-/, ''), columns, sort);
  checkFields(columns, fields);
};

const isChosen = (row: ListRow, { state, signal, risk_score }: Selection): boolean =>
  (partsOf(state)?.some((code) => statesOf(row.name).includes(code)) ?? true) &&
  (partsOf(signal)?.some((one) => one === row.signal) ?? true) &&
  (partsOf(risk_score)?.some((one) => one === row.risk_score) ?? true);

interface ListOptions<T> {
  /** What the rows are ordered by without `sort`: fields as in `rowOrder`. Default: the CBSA code. */
  readonly order?: readonly string[];
  /** The value of a field of that order which rows do not have. */
  readonly read?: (row: T, field: string) => Scalar | null;
}

/**
 * The parameters of a list, and what they make of its rows. Without parameters the rows stay as they are.
 * @param row the schema of a row: its properties are what can be sorted by and chosen
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
      description: `What to sort by: ${all.join(', ')}. Ascending; descending with a "-" before it. Nulls come last.`,
      schema: text,
      example: `-${all.includes('delta_pp') ? 'delta_pp' : 'forecast_12m'}`,
    },
    fields: fieldsParameter(all, 'cbsa,name'),
    ...pageParameters,
  } satisfies Readonly<Record<string, Parameter>>;
  const ownOrder = rowOrder(order, read);
  const orderOf = (sort: string) => rowOrder<T>(/^-?cbsa$/.test(sort) ? [sort] : [sort, 'cbsa']);
  return {
    parameters,
    headers: pageHeaders,
    check: (given: Selection): void => check(all, given),
    columns: ({ fields }: Selection) => fieldsOf(all, fields),
    /** @param rows in any order */
    answer<R extends T>(rows: readonly R[], given: Selection, context: DataContext) {
      const { sort } = given;
      const by = sort === undefined ? ownOrder : orderOf(sort);
      const chosen = rows.filter((row) => isChosen(row, given));
      return { data: pageOf<R>(context, chosen, by, given) };
    },
  };
};
