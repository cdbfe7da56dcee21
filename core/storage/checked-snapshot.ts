/** Stands between handlers and an adapter's snapshot: every read is checked once, here. */
import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Query, Scalar, Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { checkKey, checkQuery } from './check-query.js';

/**
 * A typed reader of `snapshot`.
 * @param collections the declared ones; a read of another rejects with `unknown_collection`
 * @param signal ends every read with `aborted`
 * @returns a reader whose methods reject with a `StorageError` and nothing else: `invalid_query` for a read
 *   that its collection does not declare, `unavailable` for an error that the adapter left unnamed
 */
export const checkedSnapshot = (
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  signal?: AbortSignal,
): SnapshotReader => {
  const declared = ({ name }: { readonly name: string }): Collection => {
    const collection = collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
    return collection;
  };

  const named = (error: unknown, { name }: Collection): StorageError => {
    if (error instanceof StorageError) return error;
    return signal?.aborted
      ? new StorageError('aborted', `The read of "${name}" was aborted.`, { cause: error })
      : new StorageError('unavailable', `The adapter could not read "${name}".`, { cause: error });
  };

  const assertWanted = ({ name }: Collection): void => {
    if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
  };

  async function* stream<T extends object>(target: Collection<T>, query: Partial<Query> = {}) {
    const collection = declared(target);
    const checked = checkQuery(collection, query);
    assertWanted(collection);
    try {
      yield* snapshot.find(collection.name, checked, signal) as AsyncIterable<readonly T[]>;
    } catch (error) {
      throw named(error, collection);
    }
  }

  return {
    version: snapshot.version,
    publishedAt: snapshot.publishedAt,
    manifest: snapshot.manifest,
    async get<T extends object>(target: Collection<T>, key: readonly Scalar[]) {
      const collection = declared(target);
      checkKey(collection, key);
      assertWanted(collection);
      try {
        return (await snapshot.get(collection.name, key, signal)) as T | undefined;
      } catch (error) {
        throw named(error, collection);
      }
    },
    async find<T extends object>(target: Collection<T>, query?: Partial<Query>) {
      const found: T[] = [];
      for await (const batch of stream(target, query)) for (const document of batch) found.push(document);
      return found;
    },
    stream,
  };
};
