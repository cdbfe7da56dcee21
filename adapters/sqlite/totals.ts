import {
  type Collection,
  type Condition,
  filterColumns,
  type Group,
  type TotalsQuery,
} from 'metro-forecast-api/adapter';
import { type StoredCollection, wordsTable } from './catalog.js';
import { matchOf } from './query.js';
import type { Row, Value } from './threaded-database.js';

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** In a JSON path, these characters end or escape the name of a field. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters.
const NOT_IN_PATH = /["\\\u0000-\u001f]/;

const expressionOf = ({ fields, table }: StoredCollection, field: string): string => {
  const column = fields.indexOf(field);
  if (column >= 0) return `c${column}`;
  if (NOT_IN_PATH.test(field)) return `(SELECT value FROM json_each(${table}.json) WHERE key = ${literal(field)})`;
  return `json_extract(json, ${literal(`$."${field}"`)})`;
};

/**
 * Selects text with U+0000 as a blob, because the driver truncates text at that character. Blobs are slower, so other
 * text is selected as text.
 */
const selected = (expression: string): string =>
  `CASE WHEN instr(CAST(${expression} AS BLOB), x'00') > 0 THEN CAST(${expression} AS BLOB) ELSE ${expression} END`;

const bound = (value: unknown): Value => (typeof value === 'boolean' ? Number(value) : (value as Value));

const COMPARISONS = { eq: '=', not: 'IS NOT', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

const conditionOf = (
  expression: string,
  { operator, value }: Condition,
): readonly [sql: string, ...values: Value[]] => {
  if (operator === 'null') return [`${expression} IS ${value ? '' : 'NOT '}NULL`];
  if (operator !== 'in') return [`${expression} ${COMPARISONS[operator]} ?`, bound(value)];
  const values = (value as readonly unknown[]).map(bound);
  return [`${expression} IN (${values.map(() => '?').join()})`, ...values];
};

/**
 * Order fields have a value in every row, so their values need no separate count. `total` replaces `sum`, which fails
 * if a sum of integers exceeds 64 bits.
 */
const numbersOf = (table: StoredCollection, field: string): readonly string[] => {
  const number = expressionOf(table, field);
  const count = table.orders.flat().includes(field) ? 'count(*)' : `count(${number})`;
  return [count, ...['total', 'min', 'max'].map((name) => `${name}(${number})`)];
};

/**
 * Selects one row per group, with the values and the number of rows of the group. With `of`, the row ends with the
 * count, sum, minimum and maximum of that field.
 */
export const selectTotals = (
  table: StoredCollection,
  { where, words, by, of, limit }: TotalsQuery,
): { readonly sql: string; readonly values: readonly Value[] } => {
  const index = wordsTable(table.table);
  const isCount = by.length === 0 && of === undefined && where.length === 0;
  const conditions = where.map((condition) => conditionOf(expressionOf(table, condition.field), condition));
  if (words) {
    const found = `${index} MATCH ?`;
    const sql = isCount ? found : `rowid IN (SELECT rowid FROM ${index} WHERE ${found})`;
    conditions.push([sql, matchOf(words)]);
  }
  const groups = by.map((field) => expressionOf(table, field));
  const numbers = of === undefined ? [] : numbersOf(table, of);
  const columns = [...groups.map(selected), 'count(*)', ...numbers];
  const filter = conditions.length > 0 ? ` WHERE ${conditions.map(([sql]) => sql).join(' AND ')}` : '';
  const grouping = groups.length > 0 ? ` GROUP BY ${groups.join()}` : '';
  return {
    // With sorting, the driver thread does all the work before it returns the first row.
    sql: `SELECT ${columns.join()} FROM ${words && isCount ? index : table.table}${filter}${grouping} ORDER BY count(*) DESC LIMIT ?`,
    values: [...conditions.flatMap(([, ...values]) => values), limit],
  };
};

export const groupsOf = (rows: readonly Row[], { by }: TotalsQuery, collection: Collection): readonly Group[] => {
  const columns = filterColumns(collection);
  const booleans = by.map((field) => columns[field]?.['type'] === 'boolean');
  return rows.map((row) => {
    const values = by.map((_, i) => {
      const value = row[i] as string | number | null | Buffer;
      if (Buffer.isBuffer(value)) return value.toString();
      return booleans[i] && value !== null ? value === 1 : value;
    });
    const [count, known = 0, ...rest] = row.slice(by.length).map(Number) as [number, number?, ...number[]];
    const [sum, min, max] = rest as [number, number, number];
    return { values, count, ...(known > 0 && { numbers: { count: known, sum, min, max } }) };
  });
};
