import { compareScalars, positions, type Query, type Scalar } from 'metro-forecast-api/adapter';
import { type StoredCollection, wordsTable } from './catalog.js';

const { freeFields } = positions;

interface Condition {
  readonly sql: string;
  readonly values: readonly Scalar[];
}

export interface Select {
  readonly sql: string;
  readonly values: readonly Scalar[];
}

type Table = Pick<StoredCollection, 'table' | 'fields' | 'orders'>;

const columnOf = ({ fields }: Table, field: string): string => `c${fields.indexOf(field)}`;

/** Field names can contain any character except U+0000. */
const nameOf = (order: readonly string[]): string => order.join('\0');

/** The query names the index, because SQLite's query planner could choose a different one. */
const indexed = (table: Table, order: readonly string[]): string => {
  const name = nameOf(order);
  return `${table.table} INDEXED BY ${table.table}_${table.orders.findIndex((each) => nameOf(each) === name)}`;
};

/**
 * Returns true if `range` does not restrict the first index field that has no equality condition. The matches are then
 * not adjacent in the index, so SQLite must skip the entries between them.
 */
export const skipsEntries = (query: Query): boolean =>
  query.range !== undefined && query.range.field !== freeFields(query)[0];

/**
 * A scan can start at a bound of the range or after the position `after`. Only the start that comes later is needed.
 * Removes the other one, because SQLite might start the scan there.
 */
const withoutImplied = (query: Query): Query => {
  const { range, after, ...rest } = query;
  const first = query.descending ? range?.to : range?.from;
  if (!range || !after || first === undefined || skipsEntries(query)) return query;
  const order = compareScalars(after[0]!, first);
  const isInside = query.descending ? order <= 0 : order >= 0;
  if (!isInside) return { ...rest, range };
  const { field, from, to } = range;
  const last = query.descending ? { from } : { to };
  return { ...rest, after, range: { field, ...last } as NonNullable<Query['range']> };
};

const tuple = (columns: readonly string[]): string => `(${columns.join()})`;
const places = (count: number): string => `(${Array(count).fill('?').join()})`;

const conditionsOf = (table: Table, given: Query, upTo?: readonly Scalar[]): Condition => {
  const query = withoutImplied(given);
  const { equal = {}, range, after, descending } = query;
  const parts: string[] = [];
  const values: Scalar[] = [];
  const add = (sql: string, ...added: readonly Scalar[]) => {
    parts.push(sql);
    values.push(...added);
  };
  for (const [field, value] of Object.entries(equal)) add(`${columnOf(table, field)} = ?`, value);
  if (range?.from !== undefined) add(`${columnOf(table, range.field)} >= ?`, range.from);
  if (range?.to !== undefined) add(`${columnOf(table, range.field)} <= ?`, range.to);
  const free = freeFields(query).map((field) => columnOf(table, field));
  if (after) add(`${tuple(free)} ${descending ? '<' : '>'} ${places(free.length)}`, ...after);
  if (upTo) add(`${tuple(free)} ${descending ? '>=' : '<='} ${places(free.length)}`, ...upTo);
  return { sql: parts.length > 0 ? ` WHERE ${parts.join(' AND ')}` : '', values };
};

const sortOf = (table: Table, { order, descending }: Query): string =>
  order.map((field) => columnOf(table, field) + (descending ? ' DESC' : '')).join();

export const selectRows = (table: Table, query: Query, limit: number, upTo?: readonly Scalar[]): Select => {
  const { sql, values } = conditionsOf(table, query, upTo);
  return {
    // Returns one value instead of many rows, because passing a value to JavaScript takes half a microsecond.
    sql: `SELECT CAST(group_concat(json, char(10)) AS BLOB) FROM (SELECT json FROM ${indexed(table, query.order)}${sql} ORDER BY ${sortOf(table, query)} LIMIT ?)`,
    values: [...values, limit],
  };
};

/** Selects the last row of the next `count` index entries. The row can be outside the range. */
export const selectAhead = (table: Table, { range: _, ...query }: Query, count: number): Select => {
  const { sql, values } = conditionsOf(table, query);
  return {
    sql: `SELECT json FROM ${indexed(table, query.order)}${sql} ORDER BY ${sortOf(table, query)} LIMIT 1 OFFSET ?`,
    values: [...values, count - 1],
  };
};

export const matchOf = (words: readonly string[]): string =>
  words.map((word) => (word.endsWith('*') ? `"${word.slice(0, -1)}"*` : `"${word}"`)).join(' ');

/** Row ids have the same order as keys, so a search in key order continues after the row id in `after`. */
export const selectFound = (table: Table, query: Query, limit: number): Select => {
  const { order, equal = {}, after, words = [], descending } = query;
  const isByKey = nameOf(order) === nameOf(table.orders[0]!);
  const { after: _, ...rest } = query;
  const { sql, values } = conditionsOf(table, isByKey ? rest : query);
  const parts: string[] = [`${wordsTable(table.table)} MATCH ?`];
  const position: Scalar[] = [];
  if (isByKey && after) {
    const [least, direction] = descending ? ['>=', ''] : ['<=', ' DESC'];
    const key = order.map((field) => columnOf(table, field));
    position.push(...Object.values(equal), ...after);
    parts.push(
      `w.rowid ${descending ? '<' : '>'} coalesce((SELECT rowid FROM ${indexed(table, order)} WHERE ${tuple(key)} ${least} ` +
        `${places(key.length)} ORDER BY ${key.map((column) => column + direction).join()} LIMIT 1), ` +
        `${descending ? Number.MAX_SAFE_INTEGER : 0})`,
    );
  }
  const sort = isByKey ? `w.rowid${descending ? ' DESC' : ''}` : sortOf(table, query);
  return {
    sql:
      'SELECT CAST(group_concat(json, char(10)) AS BLOB) FROM (SELECT json FROM ' +
      `${wordsTable(table.table)} w CROSS JOIN ${table.table} t ON t.rowid = w.rowid ` +
      `WHERE ${parts.join(' AND ')}${sql.replace(' WHERE ', ' AND ')} ORDER BY ${sort} LIMIT ?)`,
    values: [matchOf(words), ...position, ...values, limit],
  };
};

const keySelects = new WeakMap<Table, string>();

export const selectKey = (table: Table): string => {
  let sql = keySelects.get(table);
  if (!sql) {
    const [key] = table.orders as readonly [readonly string[]];
    const conditions = key.map((field) => `${columnOf(table, field)} = ?`).join(' AND ');
    sql = `SELECT json FROM ${indexed(table, key)} WHERE ${conditions}`;
    keySelects.set(table, sql);
  }
  return sql;
};
