/** Refuses a dataset that would not fit into memory, before it is read. */
import { totalmem } from 'node:os';
import { StorageError } from '../../core/errors.js';

/** Memory for each byte of the files: the documents' JSON as it is, and where each of them ends. Measured: 1.1. */
const PER_BYTE = 1.2;
/** What the process needs beside the dataset. */
const BESIDE = 128 * 1024 * 1024;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-US')} MiB`;

/** What the machine has, or the container may use of it, in bytes. The documents are not in the heap. */
export const memoryLimit = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

/**
 * @param fileBytes size of the dataset's files
 * @param heldBytes size of the files of the dataset that is served meanwhile
 * @param limit the most that the process may use, in bytes
 * @throws StorageError `invalid_dataset`, saying what is needed and what to do
 */
export const assertFits = (fileBytes: number, heldBytes: number, limit: number): void => {
  const needed = (fileBytes + heldBytes) * PER_BYTE + BESIDE;
  if (needed <= limit) return;
  const beside = heldBytes > 0 ? `, beside the ${mebibytes(heldBytes * PER_BYTE)} of the version that is served` : '';
  throw new StorageError(
    'invalid_dataset',
    `The dataset's files have ${mebibytes(fileBytes)} and need about ${mebibytes(fileBytes * PER_BYTE)} of memory${beside}; ` +
      `this machine or container has ${mebibytes(limit)}. Give it ${mebibytes(needed)}, ` +
      'or serve the dataset from MongoDB (adapter "mongo").',
  );
};
