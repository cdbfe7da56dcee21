/** Loads a dataset directory into memory, if it is valid and fits; and tells whether it has changed since. */
import { realpath, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Collection, Manifest } from '../../core/contracts/dataset.js';
import { type DirectoryDataset, openDirectory } from '../../core/data/directory.js';
import { IndexedCollection, PackedDocuments } from '../../core/data/indexed-collection.js';
import { descriptionOf, MANIFEST_FILE } from '../../core/data/manifest.js';
import { checkDataset } from '../../core/data/validate.js';
import { StorageError } from '../../core/errors.js';
import { BackgroundPacing } from '../../core/util/event-loop.js';

export interface Loaded {
  readonly manifest: Manifest;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
  /** A digest of the rows. */
  readonly content: string;
  readonly fileBytes: number;
}

interface LoadResult {
  /** The files that were read, with their stamp: another attempt is due only when it changes. */
  readonly files: readonly string[];
  /** Undefined if another attempt is due in any case. */
  readonly stamp: string | undefined;
  /** At most one of the two is set; none if files changed while they were read, which may have mixed two versions. */
  readonly loaded?: Loaded;
  readonly refused?: StorageError;
}

export interface LoadOptions {
  readonly collections: ReadonlyMap<string, Collection>;
  /** Size of the files of the dataset that stays in memory meanwhile. */
  readonly heldBytes: number;
  readonly signal: AbortSignal;
}

/** Never rejects. While another dataset is served, each step takes less than a millisecond, with background pacing. */
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
  // Reading a missing file reports it.
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
  const pacing = new BackgroundPacing();
  const pause = () => (heldBytes > 0 ? pacing.pause(signal) : setImmediate(undefined, { signal }));
  const faults = await checkDataset(dataset, collections, {
    // Without a served dataset there are no requests to delay.
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

/** Memory for each byte of the files: the documents' JSON as it is, and where each of them ends. Measured: 1.1. */
const PER_BYTE = 1.2;
/** What the process needs beside the dataset. */
const BESIDE = 128 * 1024 * 1024;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-US')} MiB`;

/** What the machine has, or the container may use of it, in bytes. The documents are not in the heap. */
const memoryLimit = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

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

const stampOfFile = async (path: string): Promise<string> => {
  try {
    const [target, { dev, ino, size, mtimeNs, ctimeNs }] = await Promise.all([
      realpath(path),
      stat(path, { bigint: true }),
    ]);
    return [target, dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code}`;
  }
};

/**
 * The state of the manifest and of these files. It differs after a change in place, a rename, a swap of a
 * symbolic link anywhere in the path, and on bind mounts and network file systems, which send no notifications.
 */
export const stampOf = async (directory: string, files: readonly string[]): Promise<string> => {
  const stamps = await Promise.all([MANIFEST_FILE, ...files].map((file) => stampOfFile(join(directory, file))));
  return stamps.join('\n');
};
