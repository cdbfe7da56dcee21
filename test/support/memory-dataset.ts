/** A dataset made of arrays: for tests, and for programs that make their own. */
import type { Document, Manifest } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';

/** @param collections each in key order; one that is missing is empty */
export const memoryDataset = (
  manifest: Manifest,
  collections: Readonly<Record<string, readonly Document[]>>,
): Dataset => ({
  manifest,
  async *read(collection) {
    const documents = Object.hasOwn(collections, collection) ? collections[collection] : undefined;
    if (documents && documents.length > 0) yield documents;
  },
});
