/** Loads a dataset directory into memory, and detects changes of its files. */
import { realpath, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
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

export interface Loaded {
  readonly manifest: Manifest;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
  /** Identifies the rows: see `contentOf`. */
  readonly content: string;
  readonly fileBytes: number;
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
  /** File size of the dataset that is served during the load, in bytes. */
  readonly heldBytes: number;
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
  // A missing file is reported when it is read.
  const sizes = files.map((file) => stat(join(path, file)).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
};

const read = async (
  path: string,
  dataset: DirectoryDataset,
  files: readonly string[],
  { collections, heldBytes, checkedContent, signal }: LoadOptions,
): Promise<Loaded> => {
  const fileBytes = await sizeOf(path, files);
  assertFits(fileBytes, heldBytes, memoryLimit());

  const indexed = new Map([...collections].map(([name, collection]) => [name, new IndexedCollection(collection)]));
  const pacing = new BackgroundPacing();
  const pause = () => (heldBytes > 0 ? pacing.pause(signal) : setImmediate(undefined, { signal }));
  const sums = new Map(Object.entries(dataset.manifest.collections).map(([name, { sha256 }]) => [name, sha256]));
  const errors = await checkDataset(dataset, collections, {
    // `checkDataset` compares each file with its SHA-256.
    checked: checkedContent !== undefined && checkedContent === contentOf(collections, sums),
    // Without a served dataset there are no requests to delay.
    ...(heldBytes > 0 && { pause }),
    onProgress: () => signal.throwIfAborted(),
    onRows: ({ name }, { text }) => indexed.get(name)!.add(text!),
  });
  if (errors.total > 0) {
    const heading = `${path} is not valid, version ${dataset.manifest.version}:`;
    throw new StorageError('invalid_dataset', [heading, ...errors.lines()].join('\n  - '));
  }

  for (const collection of indexed.values()) await collection.sort(pause);
  const content = contentOf(collections, dataset.digests);
  return { manifest: descriptionOf(dataset.manifest), collections: indexed, content, fileBytes };
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

/** Memory per byte of the files: the JSON of the documents and their offsets. Measured: 1.1. */
const PER_BYTE = 1.2;
/** Memory of the process without a dataset. */
const PROCESS = 128 * 1024 * 1024;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-US')} MiB`;

/** Memory of the machine or the container, in bytes. Documents are outside the heap, so its limit does not count. */
const memoryLimit = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

/**
 * All sizes are in bytes.
 * @param heldBytes file size of the dataset that is served during the load
 * @throws StorageError `invalid_dataset` if the process needs more memory than `limit`
 */
export const assertFits = (fileBytes: number, heldBytes: number, limit: number): void => {
  const needed = (fileBytes + heldBytes) * PER_BYTE + PROCESS;
  if (needed <= limit) return;
  const served = heldBytes > 0 ? `, in addition to ${mebibytes(heldBytes * PER_BYTE)} for the served version` : '';
  throw new StorageError(
    'invalid_dataset',
    `The dataset's files have ${mebibytes(fileBytes)} and need about ${mebibytes(fileBytes * PER_BYTE)} of memory${served}; ` +
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
 * The state of the manifest and of these files. It changes with an edit in place, a rename, and a swap of a symbolic
 * link anywhere in the path. It also works on bind mounts and network file systems, which send no notifications.
 */
export const stampOf = async (directory: string, files: readonly string[]): Promise<string> => {
  const stamps = await Promise.all([MANIFEST_FILE, ...files].map((file) => stampOfFile(join(directory, file))));
  return stamps.join('\n');
};
