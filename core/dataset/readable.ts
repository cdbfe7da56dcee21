/** What a publisher reads of a dataset, with a name for what its source throws. */
import type { Document } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';

/** The same batches. An error of their source's own becomes `invalid_dataset`, with its cause. */
export async function* readable(batches: AsyncIterable<readonly Document[]>): AsyncGenerator<readonly Document[]> {
  try {
    yield* batches;
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const message = `The dataset could not be read whole: ${(cause as Error).message}`;
    throw new StorageError('invalid_dataset', message, { cause });
  }
}
