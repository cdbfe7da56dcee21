import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  audit,
  BackgroundPacing,
  type BufferPool,
  type Collection,
  checkDataset,
  type DirectoryDataset,
  IndexedCollection,
  MANIFEST_FILE,
  type Manifest,
  openDirectory,
  StorageError,
} from 'metro-forecast-api/adapter';
import { assertFits, type DatasetSize, sizeOf } from './memory.js';

export interface Loaded {
  readonly manifest: Manifest;
  /** The stored publication time, or the time of creation. */
  readonly publishedAt: Date;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
  readonly content: string;
  readonly size: DatasetSize;
}

interface LoadResult {
  readonly files: readonly string[];
  /** Identifies the state of the loaded files. If the state is unknown, the next poll loads the files again. */
  readonly stamp: string | undefined;
  /** If a file changed during the load, neither `loaded` nor `refused` is set. */
  readonly loaded?: Loaded;
  readonly refused?: StorageError;
}

export interface LoadOptions {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly served?: DatasetSize | undefined;
  /** Provides memory, and gets it back when a version is no longer read. */
  readonly pool?: BufferPool;
  /** The `content` of the last valid load. Rows that have not changed since then are not validated again. */
  readonly checkedContent?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Loads a dataset directory. The promise never rejects. If another dataset is being served, the load pauses at least
 * once per millisecond, so that it does not delay requests.
 */
export const load = async (path: string, options: LoadOptions): Promise<LoadResult> => {
  const manifestStamp = await stampOf(path, []);
  let files: readonly string[] = [];
  let stamp = manifestStamp;
  const isUnchanged = async () => stamp.startsWith(manifestStamp) && stamp === (await stampOf(path, files));
  try {
    const { dataset } = await openDirectory(path);
    files = [...options.collections.keys()].flatMap((name) => dataset.fileOf(name)?.file ?? []);
    stamp = await stampOf(path, files);
    const loaded = await read(path, dataset, options);
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

const read = async (
  path: string,
  dataset: DirectoryDataset,
  { collections, served, pool, checkedContent, signal }: LoadOptions,
): Promise<Loaded> => {
  const size = await sizeOf(dataset, collections);
  assertFits(size, served);
  if (served) await pool?.reclaim(signal);

  const newCollection = (collection: Collection) =>
    new IndexedCollection(collection, size.collections.get(collection.name), pool);
  const indexed = new Map([...collections].map(([name, collection]) => [name, newCollection(collection)]));
  const pacing = new BackgroundPacing();
  const pause = () => (served ? pacing.pause(signal) : setImmediate(undefined, { signal }));
  const errors = await checkDataset(dataset, collections, {
    // Rows with known checksums need no validation. `checkDataset` still verifies the SHA-256 of each file.
    checked: checkedContent !== undefined && checkedContent === contentIn(collections, audit.sumsOf(dataset.manifest)),
    ...(served && { pause }),
    onProgress: () => signal.throwIfAborted(),
    onRows: ({ name }, { text }) => indexed.get(name)!.add(text!),
  });
  if (errors.total > 0) {
    const heading = `${path} is not valid, version ${dataset.manifest.version}:`;
    throw new StorageError('invalid_dataset', [heading, ...errors.lines()].join('\n  - '));
  }

  for (const collection of indexed.values()) await collection.sort(pause);
  const content = contentIn(collections, dataset.digests);
  const { publishedAt } = dataset;
  return { manifest: dataset.description, publishedAt, collections: indexed, content, size };
};

export const contentIn = (
  collections: ReadonlyMap<string, Collection>,
  sums: ReadonlyMap<string, string | undefined>,
): string => audit.contentOf([...collections.keys()].map((name) => [name, sums.get(name) ?? '']));

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
 * Returns a string that changes whenever a file changes. File notifications do not work on all network file systems.
 */
export const stampOf = async (directory: string, files: readonly string[]): Promise<string> => {
  const stamps = await Promise.all([MANIFEST_FILE, ...files].map((file) => stampOfFile(join(directory, file))));
  return stamps.join('\n');
};

/**
 * Hidden files are ignored. A directory with other files but no dataset is reported as an error, because the path is
 * probably wrong.
 */
export const isEmpty = async (path: string): Promise<boolean> =>
  readdir(path).then(
    (names) => names.every((name) => name.startsWith('.')),
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
