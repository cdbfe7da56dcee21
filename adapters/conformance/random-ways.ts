/** The ways in which a caller can read a list. An adapter may only handle the most common way correctly. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Collection, Document, JsonRows, Query, Snapshot } from 'metro-forecast-api/adapter';
import { find, findJson, parseRows } from './find-rows.js';

export type ListMethod = 'find' | 'findJson';

export interface ListRead {
  readonly snapshot: Snapshot;
  readonly method: ListMethod;
  readonly collection: Collection;
  readonly query: Query;
  readonly signal?: AbortSignal | undefined;
}

/** The documents that a read returned, which are the first documents of the list if `isPart` is true. */
export interface Found {
  readonly documents: readonly Document[];
  readonly isPart?: boolean;
}

type Batch = readonly Document[] | JsonRows;

const batchesOf = ({ snapshot, method, collection: { name }, query, signal }: ListRead): AsyncIterable<Batch> =>
  method === 'find' ? snapshot.find(name, query, signal) : snapshot.findJson!(name, query, signal);

const documentsIn = (batch: Batch): readonly Document[] => ('json' in batch ? parseRows(batch) : batch);

const whole = async ({ snapshot, method, collection, query, signal }: ListRead): Promise<Found> => ({
  documents: await (method === 'find' ? find : findJson)(snapshot, collection, query, signal),
});

/** Keeps all batches, and looks at them only at the end. */
const kept = async (read: ListRead): Promise<Found> => {
  const batches: Batch[] = [];
  for await (const batch of batchesOf(read)) batches.push(batch);
  return { documents: batches.flatMap(documentsIn) };
};

/** Pauses after each batch, and reads other lists of the same collection meanwhile. */
const paused = async (read: ListRead): Promise<Found> => {
  const { snapshot, collection, query } = read;
  const documents: Document[] = [];
  for await (const batch of batchesOf(read)) {
    documents.push(...documentsIn(batch));
    await turn();
    await find(snapshot, collection, { ...query, descending: !query.descending, limit: 2 });
  }
  return { documents };
};

/** Starts to read some time after it has called the method. */
const late = async (read: ListRead): Promise<Found> => {
  const batches = batchesOf(read);
  await turn();
  const documents: Document[] = [];
  for await (const batch of batches) documents.push(...documentsIn(batch));
  return { documents };
};

/** Stops after the first batch. */
const start = async (read: ListRead): Promise<Found> => {
  for await (const batch of batchesOf(read)) return { documents: documentsIn(batch), isPart: true };
  return { documents: [] };
};

/** Reads the first batch, and never closes the iterator. */
const abandoned = async (read: ListRead): Promise<Found> => {
  const { done, value } = await batchesOf(read)[Symbol.asyncIterator]().next();
  return done ? { documents: [] } : { documents: documentsIn(value), isPart: true };
};

/** In the way `changed`, the caller modifies the documents afterwards. With `reused`, it uses its query object again. */
export const WAYS = { whole, kept, paused, late, start, abandoned, changed: whole, reused: whole };
export type Way = keyof typeof WAYS;

/** Modifies a document and the values in it, unless they are frozen. */
export const modify = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    modify(each);
    Reflect.set(value, name, 'changed');
  }
  if (Array.isArray(value)) Reflect.set(value, value.length, 'added');
};
