/** Rejects datasets that do not fit into memory, because the operating system would kill the process. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Collection,
  type CollectionSize,
  type DirectoryDataset,
  resources,
  StorageError,
} from 'metro-forecast-api/adapter';

export interface DatasetSize {
  readonly bytes: number;
  /** The sum of rows × sort orders over all collections. */
  readonly positions: number;
}

interface MeasuredSize extends DatasetSize {
  readonly collections: ReadonlyMap<string, CollectionSize>;
}

const ROW_BYTES = 100;
const LEAST_ROW_BYTES = 3;

export const sizeOf = async (
  { path, fileOf }: Pick<DirectoryDataset, 'path' | 'fileOf'>,
  collections: ReadonlyMap<string, Collection>,
): Promise<MeasuredSize> => {
  const sizes = new Map<string, CollectionSize>();
  let positions = 0;
  for (const { name, orders = [] } of collections.values()) {
    const described = fileOf(name);
    if (!described) continue;
    const { size: bytes } = await stat(join(path, described.file)).catch(() => ({ size: 0 }));
    const rows = Math.min(described.rows ?? bytes / ROW_BYTES, bytes / LEAST_ROW_BYTES);
    sizes.set(name, { rows: Math.ceil(rows), bytes });
    positions += orders.length * rows;
  }
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size.bytes, 0);
  return { bytes, positions, collections: sizes };
};

const MIB = 2 ** 20;
/** Bytes of memory per byte of the dataset files, measured and rounded up. */
const PER_BYTE = 1.2;
/** Bytes of memory per index position while a dataset is being sorted. */
const PER_SORTED_POSITION = 24;
/** Bytes of memory per index position after sorting. */
const PER_POSITION = 4;
/** Memory that a serving process needs in addition to the dataset, in bytes. Includes the response cache. */
const SERVING = 170 * MIB;
const STARTING = 90 * MIB;
const PRIMARY = 80 * MIB;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / MIB).toLocaleString('en-US')} MiB`;

const memoryOf = ({ bytes, positions }: DatasetSize, perPosition: number): number =>
  bytes * PER_BYTE + positions * perPosition;

/**
 * @param limit the memory limit that all processes of the service share, in bytes
 * @throws StorageError `invalid_dataset` if the processes need more memory than the limit
 */
export const assertFits = (
  loaded: DatasetSize,
  served: DatasetSize | undefined,
  limit = resources.memoryLimit(),
  workers = resources.workerCount(),
): void => {
  const loading = memoryOf(loaded, PER_SORTED_POSITION);
  const held = served ? memoryOf(served, PER_SORTED_POSITION) : 0;
  const inProcess = served
    ? SERVING + held + loading
    : Math.max(STARTING + loading, SERVING + memoryOf(loaded, PER_POSITION));
  const needed = workers > 1 ? PRIMARY + workers * inProcess : inProcess;
  if (needed <= limit) return;
  const forServed = served ? `, in addition to ${mebibytes(held)} for the served version` : '';
  const each = workers > 1 ? `in each of ${workers} workers` : 'of memory';
  throw new StorageError(
    'invalid_dataset',
    `The dataset's files are ${mebibytes(loaded.bytes)} in size and need about ${mebibytes(loading)} ${each}${forServed}; ` +
      `this machine or container has ${mebibytes(limit)} of memory. Give it ${mebibytes(needed)}, ` +
      `${workers > 1 ? 'set server.workers to a lower number, ' : ''}or serve the dataset from another adapter, such as "mongo".`,
  );
};
