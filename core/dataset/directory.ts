/** A dataset directory: a manifest, and the NDJSON files that it names. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document } from '../contracts/dataset.js';
import type { Dataset } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { fileErrorReason } from '../file-error.js';
import { compileSchema } from '../schema.js';
import { type Fault, formatFault } from './fault.js';
import { type CollectionFile, type DirectoryManifest, MANIFEST_FILE, manifestSchema } from './manifest.js';
import { type Rows, readRows } from './ndjson.js';

const validateManifest = compileSchema<DirectoryManifest>(manifestSchema);

/** The dataset of a directory, whose rows also say where they stand. */
export class DirectoryDataset implements Dataset {
  constructor(
    readonly path: string,
    readonly manifest: DirectoryManifest,
  ) {}

  fileOf(collection: string): CollectionFile | undefined {
    return Object.hasOwn(this.manifest.collections, collection) ? this.manifest.collections[collection] : undefined;
  }

  /** Every row, faulty ones undefined and reported. A collection that the manifest does not name has none. */
  async *rows(collection: string, onFault: (fault: Fault) => void): AsyncGenerator<Rows> {
    const described = this.fileOf(collection);
    if (!described) return;
    const { file, ...expected } = described;
    yield* readRows(join(this.path, file), {
      expected,
      onFault: (row, rule) => onFault({ file, row, field: null, rule }),
    });
  }

  /** Throws `invalid_dataset` at the first row that cannot be read. */
  async *read(collection: string): AsyncGenerator<readonly Document[]> {
    const refuse = (fault: Fault): never => {
      throw new StorageError('invalid_dataset', formatFault(fault));
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
  const file = join(path, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new StorageError('invalid_dataset', `${file} cannot be read: ${fileErrorReason(cause)}.`, { cause });
  }
  const manifest = parseManifest(text);
  if (!Array.isArray(manifest)) return { path, manifest, dataset: new DirectoryDataset(path, manifest) };
  throw new StorageError(
    'invalid_dataset',
    [`${file} is not a manifest:`, ...manifest.map(formatFault)].join('\n  - '),
  );
};

/** The manifest, or what is wrong with it. */
export const parseManifest = (text: string): DirectoryManifest | Fault[] => {
  const fault = (field: string | null, rule: string): Fault => ({ file: MANIFEST_FILE, row: null, field, rule });
  let manifest: unknown;
  try {
    manifest = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    return [fault(null, `is not JSON: ${(error as Error).message}`)];
  }
  if (validateManifest(manifest)) return manifest;
  return (validateManifest.errors ?? []).map(({ instancePath, message, params, keyword }) => {
    const named = keyword === 'additionalProperties' ? ` ("${params['additionalProperty']}")` : '';
    return fault(instancePath.slice(1).replaceAll('/', '.') || null, `${message ?? 'is not valid'}${named}`);
  });
};
