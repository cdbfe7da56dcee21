/** Publishes a dataset into a directory. */
import type { Document } from '../../core/contracts/dataset.js';
import type { AdapterContext, Dataset, PublishOptions } from '../../core/contracts/storage.js';
import { DatasetCheck } from '../../core/dataset/dataset-check.js';
import { writeDirectory } from '../../core/dataset/write-directory.js';
import { OperatorError, StorageError } from '../../core/errors.js';
import { readable } from '../../core/storage/publishing.js';
import { recordPublication } from './data-audit.js';

/** Hands a collection's rows on, each checked in passing. */
async function* checked(check: DatasetCheck, name: string, batches: AsyncIterable<readonly Document[]>) {
  let firstRow = 1;
  for await (const documents of readable(batches)) {
    check.add(name, { firstRow, documents });
    firstRow += documents.length;
    yield documents;
  }
  check.complete(name);
}

/**
 * Writes the dataset, reading it once. Nothing is changed unless the whole dataset is valid.
 * @throws StorageError and nothing else: `invalid_dataset`, `conflict`, `aborted`, or `unavailable`
 */
export const publishInto = async (
  path: string,
  dataset: Dataset,
  { collections, clock }: Pick<AdapterContext, 'collections' | 'clock'>,
  { onProgress, signal }: PublishOptions,
): Promise<void> => {
  const check = new DatasetCheck(collections, dataset.manifest);
  const batches = check.order.map(({ name }) => [name, checked(check, name, dataset.read(name))] as const);
  const assertValid = (): void => {
    const faults = check.finish();
    if (faults.total === 0) return;
    throw new StorageError('invalid_dataset', ['The dataset is not valid:', ...faults.lines()].join('\n  - '));
  };
  try {
    await writeDirectory(path, dataset.manifest, Object.fromEntries(batches), {
      signal,
      async beforeCommit(previous) {
        assertValid();
        await recordPublication(path, dataset.manifest.version, previous, clock);
      },
      onProgress: (progress) => onProgress?.({ ...progress, total: undefined }),
    });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new StorageError('unavailable', error.message, { cause: error });
  }
};
