/** Writes the rows of a collection to its table, and compares stored rows with their digest. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type Collection, type Dataset, filterColumns, publishing } from 'metro-forecast-api/adapter';
import { type StoredCollection, type StoredVersion, wordsTable } from './catalog.js';
import type { ThreadedConnection } from './connection.js';
import type { Bound, Value } from './threaded-database.js';

/** A block of rows that are written together. The bytes are valid only until the next block is requested. */
export interface RowBlock {
  /** The JSON of the rows, as `JSON.stringify` writes it. A line feed follows each row. */
  readonly bytes: Buffer;
  /** The position in `bytes` at which each row ends, before its line feed. */
  readonly ends: readonly number[];
  /** The values of the requested fields, row after row. */
  readonly values: readonly unknown[];
}

const { inKeyOrder, rowJson, ordersOf, wordsToIndex } = publishing;

/** Rows per transaction. Inserting 1,000 rows blocks the event loop for a few milliseconds. */
const STEP = 1000;
/** A block of rows ends when its JSON reaches this length, so that long rows need little memory. */
const MAX_LENGTH = 256 * 1024;
/** Rows per `INSERT` statement. Inserting several rows per statement needs fewer driver calls. */
const ROWS = 100;
/** SQLite allows this number of values per statement. */
const MAX_VALUES = 32_766;
/** After this many bytes of JSON, a checkpoint moves the pages of the write-ahead log into the database. */
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/**
 * If the write-ahead log exceeds this size after a checkpoint, the publication waits for readers that need its pages.
 */
const MAX_LOG_BYTES = 256 * 1024 * 1024;

export interface ContentTarget {
  readonly connection: ThreadedConnection;
  readonly table: string;
  readonly collection: Collection;
  /** Throws to stop the publication. Called before each step. */
  assertGoingOn(): void;
  onWritten(rows: number): void;
  poll(): void;
}

const TYPES: Readonly<Record<string, string>> = { string: 'TEXT', integer: 'INTEGER' };

/**
 * Returns the fields that are stored in columns: the fields used for sorting, and all numbers. SQLite reads some
 * numbers in JSON with less precision.
 */
const columnsOf = (collection: Collection): ReadonlyMap<string, string> => {
  const properties = collection.schema['properties'] as Readonly<Record<string, { readonly type?: unknown }>>;
  const ordered = ordersOf(collection).flat();
  const filters = filterColumns(collection);
  const typeOf = (field: string): string => String((filters[field] ?? properties[field])?.['type']);
  const numbers = Object.keys(filters).filter((field) => ['number', 'integer'].includes(typeOf(field)));
  return new Map(
    [...new Set([...ordered, ...numbers])].map((field) => {
      const type = TYPES[typeOf(field)] ?? 'REAL';
      return [field, ordered.includes(field) ? `${type} NOT NULL` : type];
    }),
  );
};

/**
 * Converts rows to JSON with the values of the given fields.
 * @throws StorageError `invalid_dataset` if the rows are not in key order
 */
export async function* written(
  collection: Collection,
  dataset: Pick<Dataset, 'read'>,
  fields: readonly string[],
): AsyncGenerator<RowBlock> {
  let rows: string[] = [];
  let values: unknown[] = [];
  let length = 0;
  const take = (): RowBlock => {
    let end = -1;
    const block = {
      bytes: Buffer.from(`${rows.join('\n')}\n`),
      ends: rows.map((json) => (end += 1 + Buffer.byteLength(json))),
      values,
    };
    [rows, values, length] = [[], [], 0];
    return block;
  };
  for await (const batch of inKeyOrder(collection, () => dataset.read(collection.name))) {
    for (const row of batch) {
      const json = rowJson(collection, row);
      rows.push(json);
      length += json.length;
      for (const field of fields) values.push(row[field]);
      if (rows.length === STEP || length >= MAX_LENGTH) yield take();
    }
  }
  if (rows.length > 0) yield take();
}

/**
 * Moves pages from the write-ahead log to the database, so that the log can be reused. Pages that readers need stay in
 * the log until the readers renew their transactions, as they do on every poll.
 */
const checkpoint = async ({ connection, poll }: ContentTarget): Promise<void> => {
  await connection.exec('PRAGMA wal_checkpoint(PASSIVE)');
  if ((await connection.logBytes()) > MAX_LOG_BYTES) await connection.emptyLog(poll);
};

/**
 * Returns a function that inserts `rows` rows. It gets the values from `valuesOf(first, end)`, where `end` is the index
 * after the last row.
 * @param row the SQL of a row
 * @param width the number of values in a row
 */
const inserter = async (connection: ThreadedConnection, table: string, row: string, width: number) => {
  const most = Math.min(ROWS, Math.floor((MAX_VALUES - 1) / width));
  const prepare = (count: number) => connection.prepare(`INSERT INTO ${table} VALUES ${Array(count).fill(row).join()}`);
  const [insertOne, insertSome] = [await prepare(1), await prepare(most)];
  return (rows: number, valuesOf: (first: number, end: number) => readonly Bound[]): void => {
    let first = 0;
    for (; first + most <= rows; first += most) insertSome(valuesOf(first, first + most));
    for (; first < rows; first++) insertOne(valuesOf(first, first + 1));
  };
};

type Inserter = (block: RowBlock) => void;

/** Binds the bytes of several rows as one value. Binding each row as a string would copy it three times. */
const rowsInserter = async ({ connection, table }: ContentTarget, width: number, stride: number): Promise<Inserter> => {
  const row = `(CAST(substr(?1, ?, ?) AS TEXT)${', ?'.repeat(width)})`;
  const insert = await inserter(connection, table, row, width + 2);
  return ({ bytes, ends, values }) =>
    insert(ends.length, (first, end) => {
      const start = first === 0 ? 0 : ends[first - 1]! + 1;
      const bound = new Array<Bound>(1 + (end - first) * (width + 2));
      bound[0] = bytes.subarray(start, ends[end - 1]);
      let filled = 1;
      let from = start;
      for (let i = first; i < end; i++) {
        bound[filled++] = from - start + 1;
        bound[filled++] = ends[i]! - from;
        for (let at = i * stride; at < i * stride + width; at++) bound[filled++] = (values[at] ?? null) as Value;
        from = ends[i]! + 1;
      }
      return bound;
    });
};

/**
 * Creates the full-text index, which stores only words. Returns a function that adds rows to the index.
 * @param at the position of the first search field in the values of a row
 */
const wordsInserter = async (
  { connection, table }: ContentTarget,
  search: readonly string[],
  at: number,
): Promise<Inserter> => {
  const name = wordsTable(table);
  // The words contain only letters, digits and non-ASCII characters, so the tokenizer splits only at spaces.
  const options = `content = '', columnsize = 0, detail = none, tokenize = 'ascii'`;
  await connection.exec(`CREATE VIRTUAL TABLE ${name} USING fts5(words, ${options})`);
  const insert = await inserter(connection, `${name}(rowid, words)`, '(?, ?)', 2);
  const wordsOf = (values: readonly unknown[], row: number): string => {
    const start = row * (at + search.length) + at;
    const fields = Object.fromEntries(search.map((field, i) => [field, values[start + i]]));
    return wordsToIndex(fields, search).join(' ');
  };
  let inserted = 0;
  return ({ ends, values }) => {
    insert(ends.length, (first, end) =>
      Array.from({ length: end - first }, (_, i) => [inserted + first + i + 1, wordsOf(values, first + i)]).flat(),
    );
    inserted += ends.length;
  };
};

/**
 * Builds the indexes of a table. Must be called after all rows have been written, because inserting into indexes is
 * slow.
 */
const buildIndexes = async (target: ContentTarget, fields: readonly string[], rows: number): Promise<void> => {
  const { connection, table, collection, assertGoingOn } = target;
  for (const [i, order] of ordersOf(collection).entries()) {
    assertGoingOn();
    const indexed = order.map((field) => `c${fields.indexOf(field)}`).join(', ');
    await connection.exec(`CREATE ${i === 0 ? 'UNIQUE ' : ''}INDEX ${table}_${i} ON ${table} (${indexed})`);
    if (rows > STEP) await checkpoint(target);
  }
};

export const writeContent = async (
  target: ContentTarget,
  read: (fields: readonly string[]) => AsyncIterable<RowBlock>,
): Promise<StoredCollection> => {
  const { connection, table, collection, assertGoingOn, onWritten } = target;
  const { search } = collection;
  const columns = [...columnsOf(collection)];
  const fields = columns.map(([field]) => field);
  const declared = columns.map(([, type], i) => `c${i} ${type}`);
  await connection.exec(`CREATE TABLE ${table} (json TEXT NOT NULL, ${declared.join(', ')})`);
  const stride = fields.length + (search?.length ?? 0);
  const insert = await rowsInserter(target, fields.length, stride);
  const insertWords = search && (await wordsInserter(target, search, fields.length));

  const hash = createHash('sha256');
  let rows = 0;
  let unmoved = 0;
  for await (const block of read([...fields, ...(search ?? [])])) {
    assertGoingOn();
    hash.update(block.bytes);
    unmoved += block.bytes.length;
    await connection.transaction(async () => {
      insert(block);
      insertWords?.(block);
    });
    rows += block.ends.length;
    onWritten(rows);
    if (unmoved > CHECKPOINT_BYTES) {
      await checkpoint(target);
      unmoved = 0;
    }
    await setImmediate();
  }
  await buildIndexes(target, fields, rows);
  const orders = ordersOf(collection);
  return { table, rows, sha256: hash.digest('hex'), fields, orders, ...(search && { search }) };
};

/** Describes how the stored rows differ from the published rows. Resolves with undefined if they are equal. */
const differenceIn = async (
  connection: ThreadedConnection,
  { table, rows, sha256 }: StoredCollection,
): Promise<string | undefined> => {
  const hash = createHash('sha256');
  let found = 0;
  let last = 0;
  for (;;) {
    const batch = await connection.rows(
      `SELECT rowid, json FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${STEP}`,
      last,
    );
    if (batch.length === 0) break;
    for (const [, json] of batch) hash.update(String(json)).update('\n');
    found += batch.length;
    last = Number(batch.at(-1)![0]);
  }
  if (found !== rows) return `${found} rows`;
  return hash.digest('hex') === sha256 ? undefined : 'other rows';
};

export const differencesIn = async (
  connection: ThreadedConnection,
  { collections }: Pick<StoredVersion, 'collections'>,
): Promise<readonly string[]> => {
  const differences: string[] = [];
  for (const [name, stored] of Object.entries(collections)) {
    const found = await differenceIn(connection, stored);
    if (found) differences.push(`the collection "${name}" has ${found} where ${stored.rows} were published`);
  }
  return differences;
};
