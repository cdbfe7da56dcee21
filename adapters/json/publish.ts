/** Publishes a dataset into a directory. */
import { readdir } from 'node:fs/promises';
import type { Document } from '../../core/contracts/dataset.js';
import type { AdapterContext, Dataset, PublishOptions } from '../../core/contracts/storage.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import { readable } from '../../core/data/publishing.js';
import { DatasetCheck } from '../../core/data/validate.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { OperatorError, StorageError } from '../../core/errors.js';
import { recordPublication } from './data-audit.js';

/**
 * Whether a directory has a dataset, whole or damaged; false where there is none, or no directory.
 * @throws StorageError `conflict` for a directory of other files, since its path is probably wrong
 */
export const hasDataset = async (path: string): Promise<boolean> => {
  const names = (await readdir(path).catch(() => [])).filter((name) => !name.startsWith('.'));
  if (names.includes(MANIFEST_FILE) || names.some((name) => name.endsWith('.ndjson'))) return true;
  // A first publication that was ended leaves a lock and temporary files.
  if (names.every((name) => name.startsWith(MANIFEST_FILE) || name.endsWith('.tmp'))) return false;
  throw new StorageError(
    'conflict',
    `${path} has files, and none of a dataset: name a folder of its own for the dataset.`,
  );
};

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
      repair: true,
      async beforeCommit(change) {
        assertValid();
        await recordPublication(path, change, clock);
      },
      onProgress: (progress) => onProgress?.({ ...progress, total: undefined }),
    });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new StorageError('unavailable', error.message, { cause: error });
  }
};
