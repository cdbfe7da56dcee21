/** Writes the rows of a collection to its table, and compares stored rows with their digest. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type Collection, type Dataset, filterColumns, publishing } from 'metro-forecast-api/adapter';
import { type StoredCollection, type StoredVersion, wordsTable } from './catalog.js';
import type { ThreadedConnection } from './connection.js';
import type { Value } from './threaded-database.js';

/** The JSON of a row, as `JSON.stringify` writes it, followed by the values of the requested fields. */
export type WrittenRow = readonly [json: string, ...values: readonly unknown[]];

const { inKeyOrder, jsonOf, ordersOf, wordsToIndex } = publishing;

/** Rows per transaction. Inserting 1,000 rows blocks the event loop for a few milliseconds. */
const STEP = 1000;
/** Rows per `INSERT` statement. Fewer statements need fewer calls of the driver. */
const ROWS = 50;
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
 * Returns the fields that are stored in columns: the fields used for sorting, and all numbers, because SQLite reads
 * some numbers in JSON with less precision.
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
): AsyncGenerator<readonly WrittenRow[]> {
  for await (const batch of inKeyOrder(collection, () => dataset.read(collection.name)))
    yield batch.map((row) => [jsonOf(collection, row), ...fields.map((field) => row[field])]);
}

async function* steps(batches: AsyncIterable<readonly WrittenRow[]>): AsyncGenerator<readonly WrittenRow[]> {
  let step: WrittenRow[] = [];
  for await (const batch of batches) {
    for (const row of batch) {
      step.push(row);
      if (step.length < STEP) continue;
      yield step;
      step = [];
    }
  }
  if (step.length > 0) yield step;
}

/**
 * Moves pages from the write-ahead log to the database, so that the log can be reused. Pages that readers need stay in
 * the log until the readers renew their transactions, which happens on every poll.
 */
const checkpoint = async ({ connection, poll }: ContentTarget): Promise<void> => {
  await connection.exec('PRAGMA wal_checkpoint(PASSIVE)');
  if ((await connection.logBytes()) > MAX_LOG_BYTES) await connection.emptyLog(poll);
};

const inserter = async (connection: ThreadedConnection, table: string, width: number) => {
  const row = `(?${', ?'.repeat(width - 1)})`;
  const prepare = (count: number) => connection.prepare(`INSERT INTO ${table} VALUES ${Array(count).fill(row).join()}`);
  const [insertOne, insertSome] = [await prepare(1), await prepare(ROWS)];
  // The array is reused, so that an import creates less garbage.
  const values = new Array<Value>(ROWS * width);
  return (rows: readonly (readonly unknown[])[]): void => {
    let filled = 0;
    for (const row of rows) {
      for (let column = 0; column < width; column++) values[filled++] = (row[column] ?? null) as Value;
      if (filled < values.length) continue;
      insertSome(values);
      filled = 0;
    }
    for (let at = 0; at < filled; at += width) insertOne(values.slice(at, at + width));
  };
};

/**
 * Creates the full-text index, which stores only words. Returns a function that adds rows to the index.
 * @param at the position of the first search field in a row
 */
const wordsInserter = async (
  { connection, table }: ContentTarget,
  search: readonly string[],
  at: number,
): Promise<(rows: readonly WrittenRow[], first: number) => void> => {
  const name = wordsTable(table);
  // The words contain only letters, digits and non-ASCII characters, so the tokenizer splits only at spaces.
  const options = `content = '', columnsize = 0, detail = none, tokenize = 'ascii'`;
  await connection.exec(`CREATE VIRTUAL TABLE ${name} USING fts5(words, ${options})`);
  const insert = await inserter(connection, `${name}(rowid, words)`, 2);
  const wordsOf = (row: WrittenRow): string => {
    const fields = Object.fromEntries(search.map((field, i) => [field, row[at + i]]));
    return wordsToIndex(fields, search).join(' ');
  };
  return (rows, first) => insert(rows.map((row, i) => [first + i, wordsOf(row)]));
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
  read: (fields: readonly string[]) => AsyncIterable<readonly WrittenRow[]>,
): Promise<StoredCollection> => {
  const { connection, table, collection, assertGoingOn, onWritten } = target;
  const { search } = collection;
  const columns = [...columnsOf(collection)];
  const fields = columns.map(([field]) => field);
  const declared = columns.map(([, type], i) => `c${i} ${type}`);
  await connection.exec(`CREATE TABLE ${table} (json TEXT NOT NULL, ${declared.join(', ')})`);
  const width = fields.length + 1;
  const insert = await inserter(connection, table, width);
  const insertWords = search && (await wordsInserter(target, search, width));

  const hash = createHash('sha256');
  let rows = 0;
  let unmoved = 0;
  for await (const step of steps(read([...fields, ...(search ?? [])]))) {
    assertGoingOn();
    // The rows are hashed one at a time. If they were joined, V8 would allocate and free memory for each string above
    // 128 KB.
    for (const [json] of step) {
      hash.update(json).update('\n');
      unmoved += json.length + 1;
    }
    await connection.transaction(async () => {
      insert(step);
      insertWords?.(step, rows + 1);
    });
    rows += step.length;
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
