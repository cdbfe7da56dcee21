/** Stands between handlers and an adapter's snapshot: every read is checked once, here. */
import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Query, Scalar, Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import type { Pauses } from '../event-loop.js';
import { checkKey, checkQuery } from './check-query.js';

/** What reads of a snapshot have in common. */
interface Reads {
  readonly snapshot: Snapshot;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly signal: AbortSignal | undefined;
  readonly pauses: Pauses | undefined;
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

/** Not within each reader, of which there are many: see `batchesOf` in `indexed-snapshot.ts`. */
async function* stream<T extends object>(reads: Reads, target: Collection<T>, query: Partial<Query> = {}) {
  const collection = declared(reads, target);
  const checked = checkQuery(collection, query);
  assertWanted(reads, collection);
  try {
    for await (const batch of reads.snapshot.find(collection.name, checked, reads.signal)) {
      yield batch as readonly T[];
      await reads.pauses?.pause();
    }
  } catch (error) {
    throw named(error, reads, collection);
  }
}

/**
 * A typed reader of `snapshot`.
 * @param collections the declared ones; a read of another rejects with `unknown_collection`
 * @param signal ends every read with `aborted`
 * @param pauses awaited after each batch of a read, where others are to run meanwhile
 * @returns a reader whose methods reject with a `StorageError` and nothing else: `invalid_query` for a read
 *   that its collection does not declare, `unavailable` for an error that the adapter left unnamed
 */
export const checkedSnapshot = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  signal?: AbortSignal,
  pauses?: Pauses,
): SnapshotReader => {
  const reads: Reads = { snapshot, collections, signal, pauses };
  return {
    version: snapshot.version,
    publishedAt: snapshot.publishedAt,
    manifest: snapshot.manifest,
    get: (target, key) => get(reads, target, key),
    async find<T extends object>(target: Collection<T>, query?: Partial<Query>) {
      const found: T[] = [];
      for await (const batch of stream(reads, target, query)) for (const document of batch) found.push(document);
      return found;
    },
    stream: (target, query) => stream(reads, target, query),
  };
};
