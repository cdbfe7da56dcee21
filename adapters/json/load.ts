/** Loads a dataset directory: reads it whole, checks every rule, and indexes it. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Collection, Manifest } from '../../core/contracts/dataset.js';
import { type DirectoryDataset, openDirectory } from '../../core/dataset/directory.js';
import { descriptionOf } from '../../core/dataset/read-manifest.js';
import { checkDataset } from '../../core/dataset/validate.js';
import { StorageError } from '../../core/errors.js';
import { Pace } from '../../core/event-loop.js';
import { IndexedCollection } from '../../core/storage/indexed-collection.js';
import { PackedDocuments } from '../../core/storage/packed-documents.js';
import { assertFits, memoryLimit } from './capacity.js';
import { stampOf } from './stamp.js';

export interface Loaded {
  readonly manifest: Manifest;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
  /** The same for the same rows. */
  readonly content: string;
  readonly fileBytes: number;
}

export interface LoadResult {
  /** What has to change for another attempt to end otherwise: these files, which had this stamp. */
  readonly files: readonly string[];
  /** Undefined where another attempt is due in any case. */
  readonly stamp: string | undefined;
  /** At most one of the two; none where files changed while they were read, which may have mixed two versions. */
  readonly loaded?: Loaded;
  readonly refused?: StorageError;
}

export interface LoadOptions {
  readonly collections: ReadonlyMap<string, Collection>;
  /** Size of the files of the dataset that stays in memory meanwhile. */
  readonly heldBytes: number;
  readonly signal: AbortSignal;
}

/** Never rejects. While another dataset is served, others run meanwhile: no step takes a millisecond. */
export const load = async (path: string, options: LoadOptions): Promise<LoadResult> => {
  const manifestStamp = await stampOf(path, []);
  let files: readonly string[] = [];
  let stamp = manifestStamp;
  const isUnchanged = async () => stamp.startsWith(manifestStamp) && stamp === (await stampOf(path, files));
  try {
    const { dataset } = await openDirectory(path);
    files = [...options.collections.keys()].flatMap((name) => dataset.fileOf(name)?.file ?? []);
    stamp = await stampOf(path, files);
    const loaded = await read(path, dataset, files, options);
    return (await isUnchanged()) ? { files, stamp, loaded } : { files, stamp: undefined };
  } catch (error) {
    const refused = named(error, path);
    const isLasting = refused.code === 'invalid_dataset' && (await isUnchanged());
    return { files, stamp: isLasting ? stamp : undefined, refused };
  }
};

const named = (cause: unknown, path: string): StorageError => {
  if (cause instanceof StorageError) return cause;
  return new StorageError('invalid_dataset', `${path} could not be loaded: ${(cause as Error).message}`, { cause });
};

const sizeOf = async (path: string, files: readonly string[]): Promise<number> => {
  // A missing file is told by who reads it.
  const sizes = files.map((file) => stat(join(path, file)).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
};

const read = async (
  path: string,
  dataset: DirectoryDataset,
  files: readonly string[],
  { collections, heldBytes, signal }: LoadOptions,
): Promise<Loaded> => {
  const fileBytes = await sizeOf(path, files);
  assertFits(fileBytes, heldBytes, memoryLimit());

  const documents = new Map([...collections.keys()].map((name) => [name, new PackedDocuments()]));
  const pace = new Pace();
  const pause = () => (heldBytes > 0 ? pace.pause(signal) : setImmediate(undefined, { signal }));
  const faults = await checkDataset(dataset, collections, {
    // Nobody is answered before there is a dataset.
    ...(heldBytes > 0 && { pause }),
    onProgress: () => signal.throwIfAborted(),
    onRows: ({ name }, _documents, lines) => documents.get(name)!.add(lines!),
  });
  if (faults.total > 0) {
    const heading = `${path} is not valid, version ${dataset.manifest.version}:`;
    throw new StorageError('invalid_dataset', [heading, ...faults.lines()].join('\n  - '));
  }

  const indexed = new Map<string, IndexedCollection>();
  for (const collection of collections.values()) {
    const index = new IndexedCollection(collection, documents.get(collection.name)!);
    await index.prepare(pause);
    indexed.set(collection.name, index);
  }
  const content = [...dataset.digests].sort().join('\n');
  return { manifest: descriptionOf(dataset.manifest), collections: indexed, content, fileBytes };
};
