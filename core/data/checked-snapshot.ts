/** The snapshot reader that handlers use. It checks each query, and all reads for one response share a timeout. */

import { setMaxListeners } from 'node:events';
import type { Collection } from '../contracts/dataset.js';
import type { QueryOf, SnapshotReader } from '../contracts/plugin.js';
import type { Group, JsonRows, Query, Scalar, Snapshot, TotalsQuery } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { counted } from '../util/counted.js';
import type { Pauses } from '../util/event-loop.js';
import { filterColumns } from './conditions.js';
import { collectRows, lazyRows } from './lazy-rows.js';
import { isScalarOf, scalarType } from './scalars.js';

/** The state that all reads of one reader share. */
interface Reads {
  readonly snapshot: Snapshot;
  readonly collections: ReadonlyMap<string, Collection>;
  signal: AbortSignal | undefined;
  readonly pauses: Pauses | undefined;
}

export interface CheckedReader extends SnapshotReader {
  /** Replaces the timeout: from now on, reads are aborted only by this signal. */
  readUntil(signal: AbortSignal): void;
}

const declared = ({ collections }: Reads, { name }: { readonly name: string }): Collection => {
  const collection = collections.get(name);
  if (!collection) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
  return collection;
};

const assertWanted = ({ signal }: Reads, { name }: Collection): void => {
  if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
};

const named = (error: unknown, { signal }: Reads, { name }: Collection): StorageError => {
  if (error instanceof StorageError) return error;
  return signal?.aborted
    ? new StorageError('aborted', `The read of "${name}" was aborted.`, { cause: error })
    : new StorageError('unavailable', `The adapter could not read "${name}".`, { cause: error });
};

const get = async <T extends object>(reads: Reads, target: Collection<T>, key: readonly Scalar[]) => {
  const collection = declared(reads, target);
  checkKey(collection, key);
  assertWanted(reads, collection);
  try {
    return (await reads.snapshot.get(collection.name, key, reads.signal)) as T | undefined;
  } catch (error) {
    throw named(error, reads, collection);
  }
};

async function* asLazyRows(batches: AsyncIterable<JsonRows>) {
  for await (const rows of batches) yield lazyRows(rows);
}

/** Declared here rather than inside each reader, for the reason given at `eachBatch` in `indexed-snapshot.ts`. */
async function* stream<T extends object>(reads: Reads, target: Collection<T>, query: QueryOf<T> = {}) {
  const collection = declared(reads, target);
  const checked = checkQuery(collection, query as Partial<Query>);
  assertWanted(reads, collection);
  const { snapshot, signal } = reads;
  try {
    const batches = snapshot.findJson
      ? asLazyRows(snapshot.findJson(collection.name, checked, signal))
      : snapshot.find(collection.name, checked, signal);
    for await (const batch of batches) {
      yield batch as readonly T[];
      await reads.pauses?.pause();
    }
  } catch (error) {
    throw named(error, reads, collection);
  }
}

const totals = async <T extends object>(
  reads: Reads,
  target: Collection<T>,
  query: TotalsQuery,
): Promise<readonly Group[] | undefined> => {
  const collection = declared(reads, target);
  const { snapshot, signal } = reads;
  const columns = filterColumns(collection);
  const fields = [...query.by, ...query.where.map(({ field }) => field), ...(query.of === undefined ? [] : [query.of])];
  for (const field of fields)
    if (!Object.hasOwn(columns, field)) throw invalid(collection, `totals cannot use the field "${field}"`);
  assertWanted(reads, collection);
  if (query.words && !searchesFor(reads, collection)) return undefined;
  try {
    return await snapshot.totals?.(collection.name, query, signal);
  } catch (error) {
    throw named(error, reads, collection);
  }
};

/** Whether the store finds words, so that queries may have `words`. */
const searchesFor = ({ snapshot }: Reads, { search }: Collection): boolean =>
  search !== undefined && (snapshot.searches ?? false);

/**
 * Returns a typed reader of `snapshot`. Its methods reject only with a `StorageError`: `invalid_query` if the query
 * uses something that the collection does not declare, and `unavailable` for any other error that the adapter throws.
 * @param collections the declared collections; reading any other collection rejects with `unknown_collection`
 * @param signal aborts every read
 * @param pauses awaited after each batch, so that other requests can run
 */
export const checkedSnapshot = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  signal?: AbortSignal,
  pauses?: Pauses,
): CheckedReader => {
  const reads: Reads = { snapshot, collections, signal, pauses };
  return {
    version: snapshot.version,
    publishedAt: snapshot.publishedAt,
    manifest: snapshot.manifest,
    get: (target, key) => get(reads, target, key),
    find: (target, query) => collectRows(stream(reads, target, query)),
    stream: (target, query) => stream(reads, target, query),
    totals: (target, query) => totals(reads, target, query),
    searches: (target) => searchesFor(reads, declared(reads, target)),
    readUntil(signal) {
      reads.signal = signal;
    },
  };
};

/** Calls `work` with a reader, and resolves with the result of `work`. */
export type TimedRead = <Result>(work: (reader: CheckedReader) => Promise<Result>) => Promise<Result>;

/**
 * A reader of a snapshot whose reads must all end within `ms` milliseconds from now. Adapters have a timeout for each
 * operation, but a response may need many operations, which add up when a store is slow. Late reads reject with
 * `unavailable`.
 * @param pauses awaited after each batch, so that other requests can run
 */
export const timedReader = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  ms: number,
  pauses?: Pauses,
): TimedRead => readUntil(timeoutAfter(ms), { snapshot, collections, ms, pauses });

const timeoutAfter = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  // Each read adds a listener, so Node must not warn about their number.
  setMaxListeners(0, signal);
  return signal;
};

interface TimedReads {
  readonly snapshot: Snapshot;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly ms: number;
  readonly pauses: Pauses | undefined;
}

const readUntil = (signal: AbortSignal, { snapshot, collections, ms, pauses }: TimedReads): TimedRead => {
  const reader = checkedSnapshot(snapshot, collections, signal, pauses);
  return async <Result>(work: (reader: CheckedReader) => Promise<Result>): Promise<Result> => {
    try {
      return await work(reader);
    } catch (cause) {
      if (!(signal.aborted && cause instanceof StorageError && cause.code === 'aborted')) throw cause;
      throw new StorageError('unavailable', `The reads for one response did not end within ${ms} ms.`, { cause });
    }
  };
};

/** A timer is shared by all readers that are created within this fraction of the time limit. */
const SHARED = 1 / 8;

/**
 * Creates readers that share timers, because a timer costs as much as a read. Each reader has at least seven eighths of
 * `ms` left.
 */
export const sharedReader = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  ms: number,
): ((pauses?: Pauses) => TimedRead) => {
  let signal: AbortSignal | undefined;
  let since = 0;
  return (pauses) => {
    const now = performance.now();
    if (!signal || now - since > SHARED * ms) {
      signal = timeoutAfter(ms);
      since = now;
    }
    return readUntil(signal, { snapshot, collections, ms, pauses });
  };
};

const PARTS: ReadonlySet<string> = new Set<keyof Query>([
  'order',
  'equal',
  'range',
  'descending',
  'after',
  'limit',
  'words',
]);

const invalid = (collection: Collection, problem: string): StorageError =>
  new StorageError('invalid_query', `Query of "${collection.name}": ${problem}.`);

const list = (fields: readonly string[]): string => `[${fields.join(', ')}]`;

const checkValue = (collection: Collection, field: string, value: unknown): Scalar => {
  const type = scalarType(collection, field);
  if (type !== undefined && isScalarOf(type, value)) return value;
  const got = typeof value === 'string' ? `the string ${JSON.stringify(value)}` : String(value);
  throw invalid(collection, `the value of "${field}" must be of type ${type}, not ${got}`);
};

/** @throws StorageError `invalid_query` unless there is one value of the right type for each field of the key */
export const checkKey = (collection: Collection, key: readonly Scalar[]): void => {
  if (key.length !== collection.key.length) {
    throw invalid(collection, `a key has ${counted(collection.key.length, 'value')}, for ${list(collection.key)}`);
  }
  for (const [i, field] of collection.key.entries()) checkValue(collection, field, key[i]);
};

const checkOrder = (collection: Collection, order: readonly string[] = collection.key): readonly string[] => {
  const allowed = [collection.key, ...(collection.orders ?? [])];
  const same = allowed.find((one) => one.length === order.length && one.every((field, i) => field === order[i]));
  if (same) return same;
  throw invalid(collection, `the order ${list(order)} is not one of ${allowed.map(list).join(', ')}`);
};

const checkEqual = (collection: Collection, order: readonly string[], equal: Record<string, unknown>) => {
  const fields = order.slice(0, Object.keys(equal).length);
  if (fields.length === 0) return undefined;
  if (!fields.every((field) => Object.hasOwn(equal, field)) || fields.length < Object.keys(equal).length) {
    const named = list(Object.keys(equal));
    throw invalid(collection, `"equal" names ${named}, which are not the leading fields of the order ${list(order)}`);
  }
  return Object.fromEntries(fields.map((field) => [field, checkValue(collection, field, equal[field])]));
};

const checkRange = (collection: Collection, free: readonly string[], range: NonNullable<Query['range']>) => {
  const { field, from, to } = range;
  if (!free.includes(field)) {
    throw invalid(
      collection,
      `"range" is over "${field}", which is not one of the order's further fields ${list(free)}`,
    );
  }
  if (from === undefined && to === undefined) return undefined;
  return {
    field,
    ...(from !== undefined && { from: checkValue(collection, field, from) }),
    ...(to !== undefined && { to: checkValue(collection, field, to) }),
  };
};

const checkAfter = (collection: Collection, free: readonly string[], after: unknown): readonly Scalar[] => {
  if (!Array.isArray(after) || free.length === 0 || after.length !== free.length) {
    const problem =
      free.length === 0
        ? '"after" needs a field that "equal" does not name'
        : `"after" must be a list of ${counted(free.length, 'value')}, for ${list(free)}`;
    throw invalid(collection, problem);
  }
  return free.map((field, i) => checkValue(collection, field, after[i]));
};

/**
 * Completes a query for an adapter: `order` defaults to the key, the fields of `equal` are put in the sequence of the
 * order, and empty parts are omitted.
 * @throws StorageError `invalid_query` for a query that the collection does not declare
 */
export const checkQuery = (collection: Collection, query: Partial<Query>): Query => {
  const unknown = Object.keys(query).filter((part) => !PARTS.has(part));
  if (unknown.length > 0) throw invalid(collection, `there is no ${list(unknown)}; a query has ${list([...PARTS])}`);
  const { descending = false, limit } = query;
  if (typeof descending !== 'boolean') throw invalid(collection, '"descending" must be true or false');
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw invalid(collection, `"limit" must be a whole number from 0, not ${limit}`);
  }
  const order = checkOrder(collection, query.order);
  const equal = query.equal && checkEqual(collection, order, query.equal);
  const free = order.slice(equal ? Object.keys(equal).length : 0);
  const range = query.range && checkRange(collection, free, query.range);
  return {
    order,
    ...(equal && { equal }),
    ...(range && { range }),
    ...(descending && { descending }),
    ...(query.after !== undefined && { after: checkAfter(collection, free, query.after) }),
    ...(limit !== undefined && { limit }),
    ...(query.words && { words: query.words }),
  };
};
