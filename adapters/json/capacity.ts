/** Refuses a dataset that would not fit into memory, before it is read. */
import { StorageError } from '../../core/errors.js';

/**
 * Heap for each byte of the files. Measured: 1.2 with rows of three to thirteen fields; rows of many short
 * numbers take the most.
 */
const HEAP_PER_BYTE = 1.6;
/** What the process needs beside the dataset. */
const BESIDE = 64 * 1024 * 1024;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-US')} MiB`;

/**
 * @param fileBytes size of the dataset's files
 * @param heldBytes size of the files of the dataset that is served meanwhile
 * @param heapLimit the most that the heap may grow to, in bytes
 * @throws StorageError `invalid_dataset`, saying what is needed and what to do
 */
export const assertFits = (fileBytes: number, heldBytes: number, heapLimit: number): void => {
  const needed = (fileBytes + heldBytes) * HEAP_PER_BYTE + BESIDE;
  if (needed <= heapLimit) return;
  const beside =
    heldBytes > 0 ? `, beside the ${mebibytes(heldBytes * HEAP_PER_BYTE)} of the version that is served` : '';
  throw new StorageError(
    'invalid_dataset',
    `The dataset's files have ${mebibytes(fileBytes)} and need about ${mebibytes(fileBytes * HEAP_PER_BYTE)} of memory${beside}; ` +
      `this process may use ${mebibytes(heapLimit)}. Start it with NODE_OPTIONS=--max-old-space-size=` +
      `${Math.ceil(needed / 1024 / 1024)} where the machine has that, or serve the dataset from MongoDB (adapter "mongo").`,
  );
};
