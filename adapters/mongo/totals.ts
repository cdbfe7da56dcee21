import type { Condition, Group, TotalsQuery } from 'metro-forecast-api/adapter';
import type { Document, Filter } from 'mongodb';
import { type Row, wordFilters } from './layout.js';

const OPERATORS = { eq: '$eq', not: '$ne', in: '$in', gt: '$gt', gte: '$gte', lt: '$lt', lte: '$lte' } as const;

/** MongoDB takes these names for a path or a variable. */
const isPath = (field: string): boolean => field.includes('.') || field.startsWith('$');

const expressionOf = (field: string): unknown =>
  isPath(field) ? { $getField: { field: { $literal: field }, input: '$d' } } : `$d.${field}`;

/** Works like the filter of a simple name. In expressions, null is less than any other value. */
const pathFilterOf = ({ field, operator, value }: Condition): Filter<Row> => {
  const found = { $ifNull: [expressionOf(field), null] };
  if (operator === 'null') return { $expr: { [value ? '$eq' : '$ne']: [found, null] } };
  const compared = { [OPERATORS[operator]]: [found, { $literal: value }] };
  return { $expr: operator === 'not' ? compared : { $and: [{ $ne: [found, null] }, compared] } };
};

const filterOf = (condition: Condition): Filter<Row> => {
  const { field, operator, value } = condition;
  if (isPath(field)) return pathFilterOf(condition);
  // In MongoDB, null also matches missing fields.
  return { [`d.${field}`]: operator === 'null' ? { [value ? '$eq' : '$ne']: null } : { [OPERATORS[operator]]: value } };
};

export interface GroupDocument {
  /** The values that identify the group, in the order of the fields: `v0`, `v1` and so on. */
  readonly _id: Readonly<Record<string, Group['values'][number]>>;
  readonly count: number;
  readonly known: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

export const planTotals = ({ where, words = [], by, of, limit }: TotalsQuery): Document[] => {
  const filters = [...where.map(filterOf), ...wordFilters(words)];
  const values = Object.fromEntries(by.map((field, i) => [`v${i}`, { $ifNull: [expressionOf(field), null] }]));
  const number = of === undefined ? undefined : expressionOf(of);
  const numbers = {
    known: { $sum: { $cond: [{ $isNumber: number }, 1, 0] } },
    sum: { $sum: number },
    min: { $min: number },
    max: { $max: number },
  };
  return [
    ...(filters.length > 0 ? [{ $match: { $and: filters } }] : []),
    { $group: { _id: values, count: { $sum: 1 }, ...(of !== undefined && numbers) } },
    { $limit: limit },
  ];
};

export const groupsOf = (documents: readonly GroupDocument[], { by, of }: TotalsQuery): readonly Group[] => {
  // MongoDB returns no group if no document matches.
  if (documents.length === 0 && by.length === 0) return [{ values: [], count: 0 }];
  return documents.map(({ _id, count, known, sum, min, max }) => ({
    values: by.map((_, i) => _id[`v${i}`]!),
    count,
    ...(of !== undefined && known > 0 && { numbers: { count: known, sum, min, max } }),
  }));
};
