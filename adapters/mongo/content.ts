/** Writes the collections of a version, and verifies the stored rows. */
import { createHash } from 'node:crypto';
import { type Collection, compareBy, type Document, readable, StorageError } from 'metro-forecast-api/adapter';
import { BSON, type Collection as MongoCollection, MongoInvalidArgumentError, MongoServerError } from 'mongodb';
import type { Publication } from './catalog.js';
import type { Connection } from './connection.js';
import { dataCollection, indexOf, isDuplicate, ordersOf, planFind, type Row } from './layout.js';
import type { VersionDocument } from './version-locks.js';

export interface Content {
  readonly rows: number;
  /** SHA-256 of the rows in key order, one line of JSON per row. */
  readonly sha256: string;
}

export interface ContentTarget {
  readonly connection: Connection;
  readonly id: number;
  readonly collection: Collection;
  readonly batchSize: number;
  /** Called before each batch. Throws to stop. */
  assertGoingOn(): void;
}

/** A stored collection of a version. */
interface ReadTarget extends Omit<ContentTarget, 'collection'> {
  readonly collection: Pick<Collection, 'name' | 'key'>;
}

/** Batches in flight: one is prepared while another is written. */
const IN_FLIGHT = 2;
/** MongoDB's error codes for documents that are too large or nested too deeply. */
const UNFIT = new Set([10334, 15]);

const invalid = (collection: Collection, error: string, cause?: unknown): StorageError =>
  new StorageError('invalid_dataset', `Collection "${collection.name}": ${error}.`, { cause });

const keyText = ({ key }: Collection, row: Document): string => JSON.stringify(key.map((field) => row[field]));

/** Turns the error of a rejected batch into `invalid_dataset` if a row caused it. */
const insertError = (error: unknown, collection: Collection): unknown => {
  if (isDuplicate(error)) {
    return invalid(
      collection,
      `two rows have the same key: ${JSON.stringify(error['keyValue'] ?? error.message)}`,
      error,
    );
  }
  if (
    BSON.BSONError.isBSONError(error) ||
    error instanceof MongoInvalidArgumentError ||
    (error instanceof MongoServerError && UNFIT.has(Number(error.code)))
  ) {
    return invalid(collection, `MongoDB cannot store a row: ${(error as Error).message}`, error);
  }
  return error;
};

const insert = async (rows: MongoCollection<Row>, step: readonly Row[], collection: Collection): Promise<void> => {
  try {
    await rows.insertMany(step, { ordered: false });
  } catch (error) {
    throw insertError(error, collection);
  }
};

/** Groups rows into batches of one size. Throws if they are not in key order. */
async function* steps({ collection, batchSize }: ContentTarget, batches: AsyncIterable<readonly Document[]>) {
  const compare = compareBy(collection.key);
  let step: Document[] = [];
  let last: Document | undefined;
  for await (const batch of readable(batches)) {
    for (const row of batch) {
      const order = last ? compare(last, row) : -1;
      if (order === 0) throw invalid(collection, `two rows have the key ${keyText(collection, row)}`);
      if (order > 0) throw invalid(collection, `the row with the key ${keyText(collection, row)} is not in key order`);
      last = row;
      step.push(row);
      if (step.length < batchSize) continue;
      yield step;
      step = [];
    }
  }
  if (step.length > 0) yield step;
}

/**
 * Creates the indexes, then inserts the rows. Building the indexes afterwards would be one long operation, for which no
 * time limit fits. The total time is the same (70,000 rows: 0.5 s).
 */
export const writeContent = async (
  target: ContentTarget,
  batches: AsyncIterable<readonly Document[]>,
  onWritten: (rows: number) => void,
): Promise<Content> => {
  const { connection, id, collection } = target;
  const name = dataCollection(id, collection.name);
  const indexes = ordersOf(collection).map((order, i) => ({ key: indexOf(order), unique: i === 0 }));
  await connection.run('create indexes', (db) => db.collection(name).createIndexes(indexes));

  const hash = createHash('sha256');
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let rows = 0;
  let written = 0;

  const write = async (stored: readonly Row[]): Promise<void> => {
    try {
      await connection.run(`write "${collection.name}"`, (db) => insert(db.collection<Row>(name), stored, collection));
      written += stored.length;
      onWritten(written);
    } catch (error) {
      failure ??= { error };
    }
  };

  try {
    for await (const step of steps(target, batches)) {
      target.assertGoingOn();
      if (failure) break;
      const stored = step.map((d): Row => {
        const json = JSON.stringify(d);
        const error = unstorable(d, json);
        if (error) throw invalid(collection, `MongoDB cannot store the row ${keyText(collection, d)}: ${error}`);
        hash.update(json).update('\n');
        return { _id: rows++, d };
      });
      const writing = write(stored).finally(() => inFlight.delete(writing));
      inFlight.add(writing);
      if (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight);
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure) throw failure.error;
  return { rows, sha256: hash.digest('hex') };
};

/** Reads all rows of a collection, in key order. */
const readContent = async ({ connection, id, collection, batchSize, assertGoingOn }: ReadTarget): Promise<Content> => {
  const { filter, options } = planFind({ order: collection.key }, batchSize);
  const cursor = connection.db.collection<Row>(dataCollection(id, collection.name)).find(filter, options);
  const hash = createHash('sha256');
  let rows = 0;
  for await (const batch of connection.batches(`read "${collection.name}" back`, cursor)) {
    assertGoingOn();
    rows += batch.length;
    for (const { d } of batch) hash.update(JSON.stringify(d)).update('\n');
  }
  return { rows, sha256: hash.digest('hex') };
};

/** Describes how the rows that were read differ from the expected rows. Undefined if they are equal. */
const differenceOf = (found: Content, expected: Content): string | undefined => {
  if (found.rows !== expected.rows) return `${found.rows} rows`;
  return found.sha256 === expected.sha256 ? undefined : 'other rows';
};

/** Reads the rows that were written. Rejects with `unavailable` if they differ. */
export const verifyContent = async (target: ContentTarget, expected: Content): Promise<void> => {
  const found = differenceOf(await readContent(target), expected);
  if (found === undefined) return;
  throw new StorageError(
    'unavailable',
    `Collection "${target.collection.name}": ${expected.rows} rows were written and ${found} read back. Publish again.`,
  );
};

export interface StoredVersion {
  /** Undefined if the version has no document in `versions`. */
  readonly described: VersionDocument | undefined;
  /** What is missing or differs from the publication, one sentence each. */
  readonly errors: readonly string[];
}

interface ReadOptions {
  readonly batchSize: number;
  /** Called before each batch. Throws to stop. */
  readonly assertGoingOn?: () => void;
}

/** Reads all rows of a version and compares them with its document in `versions`. */
export const readStored = async (
  connection: Connection,
  { id }: Publication,
  { batchSize, assertGoingOn = () => undefined }: ReadOptions,
): Promise<StoredVersion> => {
  const described = await connection.run('read a version', (db) =>
    db.collection<VersionDocument>('versions').findOne({ _id: id }),
  );
  if (!described) return { described: undefined, errors: [`the document ${id} of "versions" is missing`] };
  const errors: string[] = [];
  for (const [name, { rows, sha256, orders }] of Object.entries(described.collections)) {
    const collection = { name, key: orders[0] ?? [] };
    const read = await readContent({ connection, id, collection, batchSize, assertGoingOn });
    const found = differenceOf(read, { rows, sha256 });
    if (found) errors.push(`the collection "${dataCollection(id, name)}" has ${found} where ${rows} were published`);
  }
  return { described, errors };
};

/** Matches the JSON of rows that MongoDB may not be able to store. Only these rows are searched value by value. */
const SUSPICIOUS = /\\u|"_bsontype"|"\$ref"/i;

const HALF_PAIR = /\p{Surrogate}/u;

const error = (value: unknown, path: string): string | undefined => {
  if (typeof value === 'string') {
    return HALF_PAIR.test(value) ? `${path} contains half a surrogate pair, which UTF-8 cannot encode` : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`;
    if (name.includes('\0')) return `the name of ${JSON.stringify(at)} contains the character U+0000`;
    if (HALF_PAIR.test(name)) return `the name of ${JSON.stringify(at)} contains half a surrogate pair`;
    // The driver treats objects with this field as BSON types.
    if (name === '_bsontype') return `${at} has a name that is reserved by MongoDB's driver`;
    if (name === '$ref' && '$id' in value) return `${path} would be read back as a database reference`;
    const found = error(inner, at);
    if (found) return found;
  }
  return undefined;
};

/**
 * Returns why MongoDB cannot store a row without changing it, or undefined if it can.
 * @param json the row as JSON text
 */
export const unstorable = (row: Document, json: string): string | undefined =>
  SUSPICIOUS.test(json) ? error(row, 'the row') : undefined;
