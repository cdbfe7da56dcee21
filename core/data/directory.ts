/** A dataset directory: a manifest, and the NDJSON files that it names. */
import { join } from 'node:path';
import type { Document } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { type DataError, formatDataError } from './data-errors.js';
import { type CollectionFile, type DirectoryManifest, readManifest } from './manifest.js';
import { type Rows, readRows } from './ndjson.js';

/** The dataset of a directory, whose rows also say where they stand. */
export class DirectoryDataset implements Dataset {
  /** SHA-256 by collection, of the files that have been read to their ends. */
  readonly digests = new Map<string, string>();

  constructor(
    readonly path: string,
    readonly manifest: DirectoryManifest,
  ) {}

  fileOf(collection: string): CollectionFile | undefined {
    return Object.hasOwn(this.manifest.collections, collection) ? this.manifest.collections[collection] : undefined;
  }

  /** Every row, faulty ones undefined and reported. A collection that the manifest does not name has none. */
  async *rows(collection: string, onError: (fault: DataError) => void): AsyncGenerator<Rows> {
    const described = this.fileOf(collection);
    if (!described) return;
    const { file, ...expected } = described;
    yield* readRows(join(this.path, file), {
      expected,
      onError: (row, rule) => onError({ file, row, field: null, rule }),
      onDigest: (sha256) => this.digests.set(collection, sha256),
    });
  }

  /** Throws `invalid_dataset` at the first row that cannot be read. */
  async *read(collection: string): AsyncGenerator<readonly Document[]> {
    const refuse = (fault: DataError): never => {
      throw new StorageError('invalid_dataset', formatDataError(fault));
    };
    for await (const { documents } of this.rows(collection, refuse)) yield documents as readonly Document[];
  }
}

export interface OpenedDirectory {
  readonly path: string;
  readonly manifest: DirectoryManifest;
  readonly dataset: DirectoryDataset;
}

/** Throws `invalid_dataset`, with every fault of the manifest. The files are read later. */
export const openDirectory = async (path: string): Promise<OpenedDirectory> => {
  const manifest = await readManifest(path);
  return { path, manifest, dataset: new DirectoryDataset(path, manifest) };
};
