/** Helpers for adapters that publish. */
import type { Document, Manifest } from '../contracts/dataset.js';
import type { Clock } from '../contracts/runtime.js';
import { StorageError } from '../errors.js';

/** Yields the batches. An error of their source is rethrown as `invalid_dataset`, with its cause. */
export async function* readable(batches: AsyncIterable<readonly Document[]>): AsyncGenerator<readonly Document[]> {
  try {
    yield* batches;
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const message = `The dataset could not be read completely: ${(cause as Error).message}`;
    throw new StorageError('invalid_dataset', message, { cause });
  }
}

/** The current time, but at least one millisecond after `previous`. */
export const momentAfter = (previous: Date, clock: Clock): Date =>
  new Date(Math.max(clock.now(), previous.getTime() + 1));

/** The manifest's `created`, or the current time if that is not after `previous`, the last publication. */
export const publicationTime = (manifest: Manifest, previous: Date | undefined, clock: Clock): Date => {
  const created = Date.parse(manifest.created);
  if (previous === undefined || created > previous.getTime()) return new Date(created);
  return momentAfter(previous, clock);
};
