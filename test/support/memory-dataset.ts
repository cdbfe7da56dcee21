import type { Document, Manifest } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';

/** @param collections rows by collection, in key order. Missing collections are empty */
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
