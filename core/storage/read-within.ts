/** All reads of one answer within one span of time, however many they are and in however many batches they come. */
import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { checkedSnapshot } from './checked-snapshot.js';

/**
 * Resolves with what `read` makes of a reader of `snapshot`.
 *
 * An adapter bounds each of its waits, and a store that is away is found out by the first. Of one that is only slow
 * the waits add up: what takes longer than `ms` in all rejects with `unavailable`, too.
 */
export const readWithin = async <Result>(
  ms: number,
  snapshot: Snapshot,
  collections: ReadonlyMap<string, Collection>,
  read: (reader: SnapshotReader) => Promise<Result>,
): Promise<Result> => {
  // Not `AbortSignal.timeout`, which would fire for every answer, also when it has long been given.
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), ms);
  try {
    return await read(checkedSnapshot(snapshot, collections, deadline.signal));
  } catch (error) {
    if (!(deadline.signal.aborted && error instanceof StorageError && error.code === 'aborted')) throw error;
    throw new StorageError('unavailable', `What one answer needs was not read within ${ms} ms.`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
};
