import { createHash } from 'node:crypto';
import { type Collection, type Dataset, type Document, publishing, StorageError } from 'metro-forecast-api/adapter';
import {
  BSON,
  type IndexDescription,
  type Collection as MongoCollection,
  MongoInvalidArgumentError,
  MongoServerError,
} from 'mongodb';
import type { Publication } from './catalog.js';
import type { Connection } from './connection.js';
import { dataCollection, indexOf, isDuplicate, LAYOUT, type Row, type VersionDocument } from './layout.js';

const { inKeyOrder, invalidCollection, rowJson, keyText, ordersOf, wordsToIndex } = publishing;

export interface Content {
  readonly rows: number;
  /** The SHA-256 of all rows in key order, written as one line of JSON per row. */
  readonly sha256: string;
}

export interface ContentTarget {
  readonly connection: Connection;
  readonly id: number;
  readonly collection: Collection;
  readonly batchSize: number;
  /** Throws to stop the publication. Called before each batch. */
  assertGoingOn(): void;
}

interface ReadTarget extends Omit<ContentTarget, 'collection'> {
  readonly collection: Pick<Collection, 'name' | 'key'>;
}

/** With two batches in flight, one is prepared while the other is being written. */
const IN_FLIGHT = 2;
/** MongoDB error codes for documents that are too large or too deeply nested. */
const UNFIT = new Set([10334, 15]);

const insertError = (error: unknown, collection: Collection): unknown => {
  if (isDuplicate(error)) {
    return invalidCollection(
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
    return invalidCollection(collection, `MongoDB cannot store a row: ${(error as Error).message}`, error);
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

/** Characters of JSON per batch. Rows are stored as both text and fields, so a batch is about twice this size. */
const BATCH_CHARACTERS = 4 * 2 ** 20;

async function* steps({ collection, batchSize }: ContentTarget, dataset: Dataset) {
  const { search } = collection;
  let step: Row[] = [];
  let characters = 0;
  let rows = 0;
  for await (const batch of inKeyOrder(collection, () => dataset.read(collection.name))) {
    for (const row of batch) {
      const json = rowJson(collection, row);
      const error = unstorable(row, json);
      if (error) {
        throw invalidCollection(collection, `MongoDB cannot store the row ${keyText(collection, row)}: ${error}`);
      }
      step.push({ _id: rows++, d: row, j: json, ...(search && { w: [...new Set(wordsToIndex(row, search))] }) });
      characters += json.length;
      if (step.length < batchSize && characters < BATCH_CHARACTERS) continue;
      yield step;
      step = [];
      characters = 0;
    }
  }
  if (step.length > 0) yield step;
}

/**
 * Builds all indexes of a collection in one scan, after all rows were written. With indexes, inserting rows would take
 * ten times as long: more than 240 seconds instead of 24 for a million rows and six indexes. If the build times out, it
 * continues on the server, and the next call waits for it. The wait ends if the publication stops, for example because
 * its lock expired.
 */
const buildIndexes = async ({ connection, id, collection, assertGoingOn }: ContentTarget): Promise<void> => {
  const name = dataCollection(id, collection.name);
  const indexes: IndexDescription[] = ordersOf(collection).map((order, i) => ({
    key: indexOf(order),
    unique: i === 0,
  }));
  if (collection.search) indexes.push({ key: { w: 1 } });
  for (let isBuilt = false; !isBuilt; ) {
    assertGoingOn();
    isBuilt = await connection
      .run(`build the indexes of "${collection.name}"`, (db) => db.collection(name).createIndexes(indexes))
      .then(
        () => true,
        (error: Error) => {
          if (error.cause instanceof MongoServerError) throw insertError(error.cause, collection);
          return false;
        },
      );
  }
};

export const writeContent = async (
  target: ContentTarget,
  dataset: Dataset,
  onWritten: (rows: number) => void,
): Promise<Content> => {
  const { connection, id, collection } = target;
  const name = dataCollection(id, collection.name);
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
    for await (const step of steps(target, dataset)) {
      target.assertGoingOn();
      if (failure) break;
      for (const { j } of step) hash.update(j).update('\n');
      rows += step.length;
      const writing = write(step).finally(() => inFlight.delete(writing));
      inFlight.add(writing);
      if (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight);
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure) throw failure.error;
  await buildIndexes(target);
  return { rows, sha256: hash.digest('hex') };
};

/**
 * Reads the stored rows and computes their digest. Each row is stored as fields (`d`) and as JSON text (`j`). If they
 * differ, the fields are hashed too, so that the digest does not match the published rows.
 */
const readContent = async ({ connection, id, collection, batchSize, assertGoingOn }: ReadTarget): Promise<Content> => {
  const cursor = connection.db
    .collection<Row>(dataCollection(id, collection.name))
    .find({}, { sort: indexOf(collection.key), hint: indexOf(collection.key), batchSize });
  const hash = createHash('sha256');
  let rows = 0;
  for await (const batch of connection.batches(`read "${collection.name}" back`, cursor)) {
    assertGoingOn();
    rows += batch.length;
    for (const { d, j } of batch) {
      // A manual edit might have removed the JSON text `j`.
      hash.update(j ?? '').update('\n');
      const fields = JSON.stringify(d);
      if (fields !== j) hash.update(fields);
    }
  }
  return { rows, sha256: hash.digest('hex') };
};

const differenceOf = (found: Content, expected: Content): string | undefined => {
  if (found.rows !== expected.rows) return `${found.rows} rows`;
  return found.sha256 === expected.sha256 ? undefined : 'other rows';
};

/** Rejects with `unavailable` if MongoDB has not stored all rows. */
export const verifyContent = async (
  { connection, id, collection }: ContentTarget,
  { rows }: Content,
): Promise<void> => {
  const found = await connection.run(`count "${collection.name}"`, (db) =>
    db.collection(dataCollection(id, collection.name)).countDocuments({}, { hint: { _id: 1 } }),
  );
  if (found === rows) return;
  throw new StorageError(
    'unavailable',
    `Collection "${collection.name}": ${rows} rows were written and ${found} are stored. Publish again.`,
  );
};

export interface StoredVersion {
  /** The document of the version in the collection `versions`. */
  readonly described: VersionDocument | undefined;
  /** A message for each difference between the stored rows and the published rows. */
  readonly errors: readonly string[];
}

interface ReadOptions {
  readonly batchSize: number;
  /** Throws to stop reading. Called before each batch. */
  readonly assertGoingOn?: () => void;
}

export const readStored = async (
  connection: Connection,
  { id }: Publication,
  { batchSize, assertGoingOn = () => undefined }: ReadOptions,
): Promise<StoredVersion> => {
  const described = await connection.run('read a version', (db) =>
    db.collection<VersionDocument>('versions').findOne({ _id: id }),
  );
  if (!described) return { described: undefined, errors: [`the document ${id} of "versions" is missing`] };
  if (described.layout !== LAYOUT)
    return { described, errors: ['it was published by another version of this program'] };
  const errors: string[] = [];
  for (const [name, { rows, sha256, orders }] of Object.entries(described.collections)) {
    const collection = { name, key: orders[0] ?? [] };
    const read = await readContent({ connection, id, collection, batchSize, assertGoingOn });
    const found = differenceOf(read, { rows, sha256 });
    if (found) errors.push(`the collection "${dataCollection(id, name)}" has ${found} where ${rows} were published`);
  }
  return { described, errors };
};

/** Matches the JSON of rows that MongoDB might be unable to store. Each value of such a row is checked. */
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
    // The driver interprets an object with the field `_bsontype` as a BSON type.
    if (name === '_bsontype') return `${at} has a name that is reserved by MongoDB's driver`;
    if (name === '$ref' && '$id' in value) return `${path} would be read back as a database reference`;
    const found = error(inner, at);
    if (found) return found;
  }
  return undefined;
};

/** Returns undefined if MongoDB can store the row unchanged. */
export const unstorable = (row: Document, json: string): string | undefined =>
  SUSPICIOUS.test(json) ? error(row, 'the row') : undefined;
