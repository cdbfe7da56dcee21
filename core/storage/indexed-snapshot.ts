/** A snapshot over collections in memory. */
import type { Manifest } from '../contracts/dataset.js';
import type { Query, Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import type { IndexedCollection } from './indexed-collection.js';

export interface IndexedDataset {
  readonly manifest: Manifest;
  readonly publishedAt: Date;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
}

/** @param assertOpen throws `closed` once the adapter is */
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
    async *find(name, query: Query, signal) {
      for (const batch of readable(name, signal).batches(query)) {
        readable(name, signal);
        yield batch;
      }
    },
    release: () => {},
  };
};
