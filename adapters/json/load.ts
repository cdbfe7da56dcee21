/** Loads a dataset directory into memory, and detects changes of its files. */
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  BackgroundPacing,
  type Collection,
  checkDataset,
  type DirectoryDataset,
  descriptionOf,
  IndexedCollection,
  MANIFEST_FILE,
  type Manifest,
  openDirectory,
  StorageError,
} from 'metro-forecast-api/adapter';
import { assertFits, type DatasetSize, sizeOf } from './memory.js';

export interface Loaded {
  readonly manifest: Manifest;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
  /** Identifies the rows: see `contentOf`. */
  readonly content: string;
  readonly size: DatasetSize;
}

interface LoadResult {
  /** The files of the dataset. */
  readonly files: readonly string[];
  /** Their state when they were read. Undefined: load again at the next poll. */
  readonly stamp: string | undefined;
  /** At most one of the two is set. Neither is if files changed during the load, which may have mixed two versions. */
  readonly loaded?: Loaded;
  readonly refused?: StorageError;
}

export interface LoadOptions {
  readonly collections: ReadonlyMap<string, Collection>;
  /** The size of the dataset that is served during the load. */
  readonly served?: DatasetSize | undefined;
  /** `content` of rows that this process has checked. The rows are not checked again if the manifest names them. */
  readonly checkedContent?: string | undefined;
  readonly signal: AbortSignal;
}

/** Never rejects. While a dataset is served, each step takes less than a millisecond, and requests run in between. */
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
  { collections, served, checkedContent, signal }: LoadOptions,
): Promise<Loaded> => {
  const size = await sizeOf(dataset, collections);
  assertFits(size, served);

  const indexed = new Map([...collections].map(([name, collection]) => [name, new IndexedCollection(collection)]));
  const pacing = new BackgroundPacing();
  const pause = () => (served ? pacing.pause(signal) : setImmediate(undefined, { signal }));
  const sums = new Map(Object.entries(dataset.manifest.collections).map(([name, { sha256 }]) => [name, sha256]));
  const errors = await checkDataset(dataset, collections, {
    // `checkDataset` compares each file with its SHA-256.
    checked: checkedContent !== undefined && checkedContent === contentOf(collections, sums),
    // Without a served dataset there are no requests to delay.
    ...(served && { pause }),
    onProgress: () => signal.throwIfAborted(),
    onRows: ({ name }, { text }) => indexed.get(name)!.add(text!),
  });
  if (errors.total > 0) {
    const heading = `${path} is not valid, version ${dataset.manifest.version}:`;
    throw new StorageError('invalid_dataset', [heading, ...errors.lines()].join('\n  - '));
  }

  for (const collection of indexed.values()) await collection.sort(pause);
  const content = contentOf(collections, dataset.digests);
  return { manifest: descriptionOf(dataset.manifest), collections: indexed, content, size };
};

/** The SHA-256 of each declared collection, as one text. */
export const contentOf = (
  collections: ReadonlyMap<string, Collection>,
  sums: ReadonlyMap<string, string | undefined>,
): string =>
  [...collections.keys()]
    .sort()
    .map((name) => `${name} ${sums.get(name)}`)
    .join('\n');

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
 * The state of the manifest and of these files. It changes with an edit in place, a rename, and a swap of a symbolic
 * link anywhere in the path. It also works on bind mounts and network file systems, which send no notifications.
 */
export const stampOf = async (directory: string, files: readonly string[]): Promise<string> => {
  const stamps = await Promise.all([MANIFEST_FILE, ...files].map((file) => stampOfFile(join(directory, file))));
  return stamps.join('\n');
};
