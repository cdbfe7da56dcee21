import { setImmediate as laterTurn } from 'node:timers/promises';
import type { Document, Manifest } from '../contracts/dataset.js';
import type { Group, JsonRows, Query, Snapshot, TotalsQuery } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import type { IndexedCollection } from './indexed-collection.js';

export interface IndexedDataset {
  readonly manifest: Manifest;
  readonly publishedAt: Date;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
}

/**
 * All snapshots share this generator function. If each snapshot created its own, V8 would have to recompile the
 * callers.
 */
async function* eachBatch<Batch>(
  readable: () => IndexedCollection,
  read: (collection: IndexedCollection, query: Query) => Iterable<Batch>,
  query: Query,
): AsyncGenerator<Batch> {
  for (const batch of read(readable(), query)) {
    readable();
    yield batch;
  }
}

const batchesOf = (collection: IndexedCollection, query: Query): Iterable<readonly Document[]> =>
  collection.batches(query);
const jsonOf = (collection: IndexedCollection, query: Query): Iterable<JsonRows> => collection.json(query);

const GROUPS = 50;

const totalsIn = async (
  readable: () => IndexedCollection,
  query: TotalsQuery,
): Promise<readonly Group[] | undefined> => {
  const groups = readable().totals(query);
  if (!groups) return undefined;
  const found: Group[] = [];
  for (const group of groups) {
    if (found.push(group) === query.limit) break;
    if (found.length % GROUPS > 0) continue;
    await laterTurn();
    readable();
  }
  return found;
};

export const indexedSnapshot = (
  { manifest, publishedAt, collections }: IndexedDataset,
  assertOpen: () => void,
): Snapshot => {
  const readable = (name: string, signal?: AbortSignal): IndexedCollection => {
    assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
    const collection = collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `There is no collection "${name}".`);
    return collection;
  };
  return {
    version: manifest.version,
    publishedAt,
    manifest,
    get: async (name, key, signal) => readable(name, signal).get(key),
    getJson: async (name, key, signal) => readable(name, signal).getJson(key),
    find: (name, query, signal) => eachBatch(() => readable(name, signal), batchesOf, query),
    findJson: (name, query, signal) => eachBatch(() => readable(name, signal), jsonOf, query),
    totals: async (name, query, signal) => totalsIn(() => readable(name, signal), query),
    release: () => {},
  };
};
