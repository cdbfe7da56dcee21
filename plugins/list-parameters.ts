/** Filters and sorting of lists with a row a market: declared once, for every list that has the columns. */
import type { JsonSchema } from '../core/contracts/json-schema.js';
import type { Parameter } from '../core/contracts/plugin.js';
import { ApiError, errors } from '../core/errors.js';
import { nearest } from '../core/nearest.js';
import { compareScalars } from '../core/storage/compare.js';
import { statesOf } from '../metro/areas.js';
import { type Market, RISK_GRADES, type RiskGrade, SIGNALS, type Signal } from '../metro/collections.js';

/** As given: lists of values are separated by commas. */
export interface Selection {
  readonly state?: string;
  readonly signal?: string;
  readonly risk_score?: string;
  readonly sort?: string;
}

type Row = Pick<Market, 'cbsa' | 'name'> & { readonly signal: Signal | null; readonly risk_score?: RiskGrade | null };

const filter = (what: string, example: string): Parameter => ({
  description: `${what} Several are separated by commas, and any of them will do.`,
  schema: { type: 'string', minLength: 1 },
  example,
});

const STATE: Parameter = filter('Postal codes of states, which may be any of those that a market lies in.', 'TX,OK');
const SIGNAL: Parameter = filter(`Signals: ${SIGNALS.join(', ')}.`, 'expand');
const RISK_SCORE: Parameter = filter(`Risk grades: ${RISK_GRADES.join(', ')}.`, 'A,B');

/** @throws ApiError naming the value that is none of those allowed, and the nearest that is */
const checkOneOf = (name: string, value: string, allowed: readonly string[], shown = value): void => {
  if (allowed.includes(value)) return;
  const guess = nearest(value, allowed);
  const issue = `has no value "${shown}"; ${guess ? `did you mean "${guess}"?` : `it has: ${allowed.join(', ')}`}`;
  throw new ApiError(errors.invalid_parameter, `The query parameter "${name}" ${issue}`, {
    details: [{ in: 'query', name, issue }],
  });
};

const partsOf = (value: string | undefined): string[] | undefined => value?.split(',').map((part) => part.trim());

const check = (columns: readonly string[], { state, signal, risk_score, sort }: Selection): void => {
  for (const part of partsOf(signal) ?? []) checkOneOf('signal', part, SIGNALS);
  for (const part of partsOf(risk_score) ?? []) checkOneOf('risk_score', part, RISK_GRADES);
  for (const part of partsOf(state) ?? []) {
    if (/^[A-Z]{2}$/.test(part)) continue;
    const issue = `must be postal codes like TX or TX,OK, and has "${part}"`;
    throw new ApiError(errors.invalid_parameter, `The query parameter "state" ${issue}.`, {
      details: [{ in: 'query', name: 'state', issue }],
    });
  }
  if (sort !== undefined) checkOneOf('sort', sort.replace(/^-/, ''), columns, sort);
};

const select = <T extends Row>(rows: readonly T[], { state, signal, risk_score, sort }: Selection): T[] => {
  const [states, signals, grades] = [partsOf(state), partsOf(signal), partsOf(risk_score)];
  const chosen = rows.filter(
    (row) =>
      (states?.some((code) => statesOf(row.name).includes(code)) ?? true) &&
      (signals?.some((one) => one === row.signal) ?? true) &&
      (grades?.some((one) => one === row.risk_score) ?? true),
  );
  if (sort === undefined) return chosen;
  const column = sort.replace(/^-/, '') as keyof T;
  const sign = sort.startsWith('-') ? -1 : 1;
  return chosen.sort((a, b) => {
    const [x, y] = [a[column], b[column]] as (string | number | null)[];
    if (x === y) return compareScalars(a.cbsa, b.cbsa);
    // What is not known comes last, whichever way the rest goes.
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return sign * compareScalars(x, y);
  });
};

/**
 * The parameters of a list, their check, and what they make of its rows. Without parameters the rows stay as they come.
 * @param row the schema of a row: its properties are what can be sorted by
 */
export const listParameters = ({ properties }: JsonSchema) => {
  const columns = Object.keys(properties as object);
  const parameters: Readonly<Record<string, Parameter>> = {
    state: STATE,
    signal: SIGNAL,
    ...(columns.includes('risk_score') && { risk_score: RISK_SCORE }),
    sort: {
      description: `What to sort by: ${columns.join(', ')}. Ascending; descending with a "-" before it. Nulls come last.`,
      schema: { type: 'string', minLength: 1 },
      example: `-${columns.includes('delta_pp') ? 'delta_pp' : 'forecast_12m'}`,
    },
  };
  return { parameters, check: (given: Selection) => check(columns, given), select };
};
