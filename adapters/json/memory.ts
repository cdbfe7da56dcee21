/** Estimates the memory of a dataset, so that the service refuses it instead of being killed by the system. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Collection,
  type DirectoryDataset,
  memoryLimit,
  StorageError,
  workerCount,
} from 'metro-forecast-api/adapter';

export interface DatasetSize {
  /** Size of the files. */
  readonly bytes: number;
  /** Rows, times the orders of their collection. */
  readonly positions: number;
}

/** Size of a row, where the manifest does not have the number of rows. */
const ROW_BYTES = 100;

export const sizeOf = async (
  { path, fileOf }: Pick<DirectoryDataset, 'path' | 'fileOf'>,
  collections: ReadonlyMap<string, Collection>,
): Promise<DatasetSize> => {
  let [bytes, positions] = [0, 0];
  for (const { name, orders = [] } of collections.values()) {
    const described = fileOf(name);
    if (!described) continue;
    // A missing file is reported when it is read.
    const { size } = await stat(join(path, described.file)).catch(() => ({ size: 0 }));
    bytes += size;
    positions += orders.length * (described.rows ?? size / ROW_BYTES);
  }
  return { bytes, positions };
};

const MIB = 2 ** 20;
/** Measured, and rounded up: bytes of memory for each byte of the files. */
const PER_BYTE = 1.2;
/** Bytes for each position while a dataset is sorted, and later. */
const PER_SORTED_POSITION = 24;
const PER_POSITION = 4;
/** A process that serves requests, with its response cache, and one that has not started to serve. */
const SERVING = 170 * MIB;
const STARTING = 90 * MIB;
/** The process that starts workers. */
const PRIMARY = 80 * MIB;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / MIB).toLocaleString('en-US')} MiB`;

const memoryOf = ({ bytes, positions }: DatasetSize, perPosition: number): number =>
  bytes * PER_BYTE + positions * perPosition;

/**
 * @param served the dataset that is served during the load
 * @param limit in bytes, for all processes of the service
 * @throws StorageError `invalid_dataset` if the processes need more memory than the limit
 */
export const assertFits = (
  loaded: DatasetSize,
  served: DatasetSize | undefined,
  limit = memoryLimit(),
  workers = workerCount(),
): void => {
  const loading = memoryOf(loaded, PER_SORTED_POSITION);
  const held = served ? memoryOf(served, PER_SORTED_POSITION) : 0;
  const inProcess = served
    ? SERVING + held + loading
    : Math.max(STARTING + loading, SERVING + memoryOf(loaded, PER_POSITION));
  const needed = workers > 1 ? PRIMARY + workers * inProcess : inProcess;
  if (needed <= limit) return;
  const beside = served ? `, in addition to ${mebibytes(held)} for the served version` : '';
  const each = workers > 1 ? `in each of ${workers} workers` : 'of memory';
  throw new StorageError(
    'invalid_dataset',
    `The dataset's files have ${mebibytes(loaded.bytes)} and need about ${mebibytes(loading)} ${each}${beside}; ` +
      `this machine or container has ${mebibytes(limit)} of memory. Give it ${mebibytes(needed)}, ` +
      `${workers > 1 ? 'set server.workers to a lower number, ' : ''}or serve the dataset from another adapter, such as "mongo".`,
  );
};
