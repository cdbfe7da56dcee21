/** Helpers for adapters that can publish datasets. */
import type { Document, Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';
import { StorageError } from '../errors.js';

/** Yields the batches. If reading them fails, the error is rethrown as an `invalid_dataset` error with its cause. */
export async function* readable(batches: AsyncIterable<readonly Document[]>): AsyncGenerator<readonly Document[]> {
  try {
    yield* batches;
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const message = `The dataset could not be read completely: ${(cause as Error).message}`;
    throw new StorageError('invalid_dataset', message, { cause });
  }
}

/** Returns the current time, or one millisecond after `previous` if that is later. */
export const momentAfter = (previous: Date, clock: Clock): Date =>
  new Date(Math.max(clock.now(), previous.getTime() + 1));

/**
 * Returns the publication time of a version: the time at which its manifest was created if that is later than the
 * previous publication, otherwise the current time.
 */
export const publicationTime = (manifest: Manifest, previous: Date | undefined, clock: Clock): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return momentAfter(previous, clock);
};
