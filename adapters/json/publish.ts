import { readdir } from 'node:fs/promises';
import type { Batches, DirectoryManifest } from 'metro-forecast-api/adapter';
import {
  type AdapterContext,
  audit,
  type Collection,
  type Dataset,
  DatasetCheck,
  DirectoryDataset,
  type Document,
  type IndexedDataset,
  MANIFEST_FILE,
  OperatorError,
  type PublishOptions,
  publishing,
  StorageError,
  writeDirectory,
} from 'metro-forecast-api/adapter';

const { recordPublication } = audit;
const { assertNotAborted, publicationTime, readable } = publishing;

/**
 * Returns true if the directory contains a dataset, even a damaged one.
 * @throws StorageError `conflict` if the directory contains only other files
 */
export const hasDataset = async (path: string): Promise<boolean> => {
  const names = (await readdir(path).catch(() => [])).filter((name) => !name.startsWith('.'));
  if (names.includes(MANIFEST_FILE) || names.some((name) => name.endsWith('.ndjson'))) return true;
  // An interrupted first publication leaves a lock and temporary files.
  if (names.every((name) => name.startsWith(MANIFEST_FILE) || name.endsWith('.tmp'))) return false;
  throw new StorageError('conflict', `${path} contains files but no dataset: choose an empty folder or a new one.`);
};

interface Source {
  readonly batches: Readonly<Record<string, Batches>>;
  /**
   * Throws if the rows are invalid. Must be called after all batches have been read.
   * @throws StorageError `invalid_dataset`
   */
  assertValid(): void;
}

/** Reads the rows of a directory that has already been checked. Fails if a file has changed since then. */
const checkedBefore = (dataset: Dataset, collections: ReadonlyMap<string, Collection>): Source => ({
  batches: Object.fromEntries([...collections.keys()].map((name) => [name, readable(() => dataset.read(name))])),
  assertValid: () => {},
});

const checkedNow = (dataset: Dataset, collections: ReadonlyMap<string, Collection>): Source => {
  const check = new DatasetCheck(collections, dataset.manifest);
  const refuse = (): never => {
    const lines = ['The dataset is not valid:', ...check.errors.lines()];
    throw new StorageError('invalid_dataset', lines.join('\n  - '));
  };
  async function* rowsOf(name: string): AsyncGenerator<readonly Document[]> {
    let firstRow = 1;
    for await (const documents of readable(() => dataset.read(name))) {
      check.add(name, { firstRow, documents });
      if (check.errors.isFull) refuse();
      firstRow += documents.length;
      yield documents;
    }
    check.complete(name);
  }
  return {
    batches: Object.fromEntries(check.order.map(({ name }) => [name, rowsOf(name)])),
    assertValid() {
      if (check.finish().total > 0) refuse();
    },
  };
};

interface IntoOptions extends PublishOptions {
  assertLoadable(next: DirectoryManifest): Promise<void>;
  served(): Pick<IndexedDataset, 'manifest' | 'publishedAt'> | undefined;
}

export const publishInto = async (
  path: string,
  dataset: Dataset,
  { collections, clock }: Pick<AdapterContext, 'collections' | 'clock'>,
  { onProgress, signal, assertLoadable, served }: IntoOptions,
): Promise<DirectoryManifest> => {
  const isChecked = dataset instanceof DirectoryDataset && dataset.isValidFor(collections);
  const { batches, assertValid } = (isChecked ? checkedBefore : checkedNow)(dataset, collections);
  try {
    return await writeDirectory(path, dataset.manifest, batches, {
      signal,
      repair: true,
      timeOf(next, previous) {
        const current = served();
        if (current?.manifest.version === next.version) return current.publishedAt;
        const last = current && !(previous && previous > current.publishedAt) ? current.publishedAt : previous;
        return publicationTime(next, last, clock);
      },
      async beforeCommit(change) {
        assertValid();
        await assertLoadable(change.next);
        assertNotAborted(signal);
        await recordPublication(path, change, clock);
      },
      onProgress: (progress) => onProgress?.({ ...progress, total: undefined }),
    });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new StorageError('unavailable', error.message, { cause: error });
  }
};
