import { join } from 'node:path';
import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { type DataError, formatDataError } from './data-errors.js';
import { type CollectionFile, type DirectoryManifest, descriptionOf, publishedAtOf, readManifest } from './manifest.js';
import { type Rows, readRows } from './ndjson.js';

export class DirectoryDataset implements Dataset {
  readonly digests = new Map<string, string>();
  #validFor: ReadonlyMap<string, Collection> = new Map();

  constructor(
    readonly path: string,
    readonly manifest: DirectoryManifest,
  ) {}

  get description(): Manifest {
    return descriptionOf(this.manifest);
  }

  get publishedAt(): Date {
    return publishedAtOf(this.manifest);
  }

  readonly fileOf = (collection: string): CollectionFile | undefined =>
    Object.hasOwn(this.manifest.collections, collection) ? this.manifest.collections[collection] : undefined;

  markValid(collections: ReadonlyMap<string, Collection>): void {
    this.#validFor = collections;
  }

  /**
   * Returns true if the rows have already been checked against these declarations. If a file has changed since then,
   * `rows` reports an error.
   */
  isValidFor(collections: ReadonlyMap<string, Collection>): boolean {
    return [...collections].every(([name, collection]) => this.#validFor.get(name) === collection);
  }

  /**
   * Yields the rows of a collection. Unreadable rows are reported and become undefined. A file that has changed since
   * it was first read is also reported.
   */
  async *rows(collection: string, onError: (error: DataError) => void): AsyncGenerator<Rows> {
    const described = this.fileOf(collection);
    if (!described) return;
    const { file, ...expected } = described;
    const report = (row: number | null, rule: string) => onError({ file, row, field: null, rule });
    yield* readRows(join(this.path, file), {
      expected,
      onError: report,
      onDigest: (sha256) => {
        const before = this.digests.get(collection) ?? sha256;
        this.digests.set(collection, sha256);
        if (before !== sha256) report(null, 'changed while it was in use');
      },
    });
  }

  async *read(collection: string): AsyncGenerator<readonly Document[]> {
    const refuse = (error: DataError): never => {
      throw new StorageError('invalid_dataset', formatDataError(error));
    };
    for await (const { documents } of this.rows(collection, refuse)) yield documents as readonly Document[];
  }
}

export interface OpenedDirectory {
  readonly path: string;
  readonly manifest: DirectoryManifest;
  readonly dataset: DirectoryDataset;
}

/** @throws StorageError with the code `invalid_dataset` that lists every error in the manifest */
export const openDirectory = async (path: string): Promise<OpenedDirectory> => {
  const manifest = await readManifest(path);
  return { path, manifest, dataset: new DirectoryDataset(path, manifest) };
};
