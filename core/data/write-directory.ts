import { createHash, randomUUID } from 'node:crypto';
import { access, type FileHandle, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Document, NAME } from '../contracts/dataset.js';
import { OperatorError, StorageError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { FileLockError, PUBLICATION_STALE_MS, withFileLock } from '../util/lock.js';
import { makeFolder, ownNewFile, writeFileAtomic } from '../util/write-atomic.js';
import { nonFinitePath } from '../validation/json.js';
import { type DataError, formatDataError } from './data-errors.js';
import {
  type CollectionFile,
  contentVersion,
  type Description,
  type DirectoryManifest,
  descriptionOf,
  digestsOf,
  isDamagedManifest,
  MANIFEST_FILE,
  manifestErrors,
  readManifest,
} from './manifest.js';

interface WriteOptions {
  readonly onProgress?: ((progress: { collection: string; written: number }) => void) | undefined;
  /** Aborts the write, unless the manifest has already been replaced. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called after all rows have been written, and before the manifest is replaced. If this function throws, nothing
   * changes. While it runs, no other process can write.
   */
  readonly beforeCommit?: ((change: ManifestChange) => void | Promise<void>) | undefined;
  /**
   * If true, replaces a damaged manifest, and can add collections to an existing version. If false, both are errors.
   */
  readonly repair?: boolean;
}

export interface ManifestChange {
  readonly previous: DirectoryManifest | undefined;
  readonly isDamaged: boolean;
  readonly next: DirectoryManifest;
}

/** Matches the files that this module writes. Other files are never removed. */
const FILE = /^[a-z][a-z0-9_]*\.[0-9a-f]{12}\.ndjson$/;
const TEMPORARY = /^([a-z][a-z0-9_]*\.[0-9a-f-]{36}\.ndjson|manifest\.json\.[0-9a-f-]{36})\.tmp$/;

/**
 * Writes each collection to a file named after its content, and then the manifest, which makes the new files current.
 * Other collections in the directory are kept. The files of the previous version are kept for readers that have just
 * opened it. Older files are removed. If anything fails, the new files are removed and nothing else changes.
 * @param path the directory, created if it does not exist
 * @param manifest if the version is missing, it is derived from the files of all collections
 * @throws OperatorError if a file or the directory cannot be written
 * @throws StorageError with one of these codes: `conflict` if another process is writing, or if this version exists
 *   with different content; `invalid_dataset` if the manifest or a row is invalid, or if the existing manifest is
 *   damaged and `repair` is false; `aborted` if the signal was aborted
 */
export const writeDirectory = async (
  path: string,
  manifest: Description,
  collections: Readonly<Record<string, Batches>>,
  options: WriteOptions = {},
): Promise<DirectoryManifest> => {
  assertWritable(manifest, Object.keys(collections));
  const made = await makeDirectory(path);
  try {
    const write = (confirm: () => Promise<void>) => replace(path, manifest, collections, options, confirm);
    const locking = { wait: false, staleMs: PUBLICATION_STALE_MS };
    return await withFileLock(join(path, MANIFEST_FILE), write, locking);
  } catch (cause) {
    if (made !== undefined) await removeEmpty(path, made);
    if (cause instanceof FileLockError) {
      throw new StorageError('conflict', `The dataset ${path} cannot be written at the moment. ${cause.message}`, {
        cause,
      });
    }
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (!code || !syscall) throw cause;
    throw new OperatorError(`The dataset ${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

const makeDirectory = async (path: string): Promise<string | undefined> => {
  try {
    return await makeFolder(path);
  } catch (cause) {
    const isFile = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isFile ? 'a file with that name exists' : fileErrorReason(cause);
    const message = `The dataset ${path} cannot be written because its folder cannot be created: ${reason}.`;
    throw new OperatorError(message, [], { cause });
  }
};

const removeEmpty = async (path: string, made: string): Promise<void> => {
  const last = resolve(made);
  for (let folder = resolve(path); folder.startsWith(last); folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      return;
    }
  }
};

const assertWritable = (manifest: Description, names: readonly string[]): void => {
  const { version = manifest.vintage } = manifest;
  const errors = manifestErrors({ ...descriptionOf({ ...manifest, version }), collections: {} }).map(formatDataError);
  for (const name of names) {
    if (!NAME.test(name)) errors.push(`the collection name "${name}" must match ${NAME.source}`);
  }
  if (errors.length === 0) return;
  throw new StorageError('invalid_dataset', ['The dataset cannot be written:', ...errors].join('\n  - '));
};

const replace = async (
  path: string,
  manifest: Description,
  collections: Readonly<Record<string, Batches>>,
  { onProgress, signal, beforeCommit, repair = false }: WriteOptions,
  confirm: () => Promise<void>,
): Promise<DirectoryManifest> => {
  const assertWanted = (): void => {
    if (signal?.aborted) throw new StorageError('aborted', 'The write was aborted.', { cause: signal.reason });
  };
  const { previous, isDamaged } = await currentManifest(path, repair);
  const written: Record<string, WrittenFile> = {};
  let next: DirectoryManifest;
  try {
    for (const [name, batches] of Object.entries(collections)) {
      assertWanted();
      written[name] = await writeRows(path, name, batches, (rows) => {
        assertWanted();
        onProgress?.({ collection: name, written: rows });
      });
    }
    const files: Record<string, CollectionFile> = { ...previous?.collections };
    for (const [name, { file, rows, sha256 }] of Object.entries(written)) files[name] = { file, rows, sha256 };
    const version = manifest.version ?? contentVersion(manifest, await digestsOf(path, files));
    next = { ...descriptionOf({ ...manifest, version }), collections: files };
    assertOwnVersion(path, next, previous, repair);
    await beforeCommit?.({ previous, isDamaged, next });
    assertWanted();
    await writeFileAtomic(join(path, MANIFEST_FILE), `${JSON.stringify(next, null, 2)}\n`, { beforeCommit: confirm });
  } catch (error) {
    for (const { file, isNew } of Object.values(written)) {
      if (isNew) await unlink(join(path, file)).catch(() => undefined);
    }
    throw error;
  }
  // A damaged manifest does not show which files are in use, so unused files are kept until the next write.
  if (!isDamaged) await removeUnused(path, previous ? [previous, next] : [next]);
  return next;
};

const currentManifest = async (
  path: string,
  repair: boolean,
): Promise<{ readonly previous: DirectoryManifest | undefined; readonly isDamaged: boolean }> => {
  try {
    await access(join(path, MANIFEST_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { previous: undefined, isDamaged: false };
    throw error;
  }
  try {
    return { previous: await readManifest(path), isDamaged: false };
  } catch (error) {
    if (repair && isDamagedManifest(error)) return { previous: undefined, isDamaged: true };
    throw error;
  }
};

/**
 * Throws if the version already exists with different rows. Readers would not notice the new rows, because they load a
 * version only once.
 */
const assertOwnVersion = (
  path: string,
  next: DirectoryManifest,
  previous: DirectoryManifest | undefined,
  mayAdd: boolean,
): void => {
  if (previous?.version !== next.version) return;
  const changed = Object.entries(next.collections)
    .filter(([name, { file, sha256 }]) => {
      const before = Object.hasOwn(previous.collections, name) ? previous.collections[name] : undefined;
      if (before === undefined && mayAdd) return false;
      return before?.sha256 === undefined ? before?.file !== file : before.sha256 !== sha256;
    })
    .map(([name]) => `"${name}"`);
  if (changed.length === 0) return;
  throw new StorageError(
    'conflict',
    `${path} contains version "${next.version}" with different rows in ${changed.join(', ')}: choose a different version.`,
  );
};

const removeUnused = async (path: string, manifests: readonly DirectoryManifest[]): Promise<void> => {
  const used = new Set(manifests.flatMap(({ collections }) => Object.values(collections).map(({ file }) => file)));
  for (const name of await readdir(path).catch(() => [])) {
    if ((FILE.test(name) && !used.has(name)) || TEMPORARY.test(name)) {
      await unlink(join(path, name)).catch(() => undefined);
    }
  }
};

interface NdjsonBatch {
  readonly bytes: Uint8Array;
  readonly rows: number;
}

type Batch = readonly object[] | NdjsonBatch;

export type Batches = Iterable<Batch> | AsyncIterable<Batch>;

const STEP = 1000;

const refuse = (error: DataError, cause?: unknown): never => {
  throw new StorageError('invalid_dataset', formatDataError(error), { cause });
};

const jsonLine = (collection: string, row: number, document: Document): string => {
  // `JSON.stringify` would silently write NaN and infinite numbers as null.
  const infinite = nonFinitePath(document);
  if (infinite) refuse({ file: collection, row, field: infinite.join('.'), rule: 'must be a finite number' });
  try {
    return `${JSON.stringify(document)}\n`;
  } catch (cause) {
    return refuse(
      { file: collection, row, field: null, rule: `cannot be converted to JSON: ${(cause as Error).message}` },
      cause,
    );
  }
};

async function* steps(collection: string, batches: Batches): AsyncGenerator<NdjsonBatch> {
  let rows = 0;
  for await (const batch of batches) {
    if ('bytes' in batch) {
      rows += batch.rows;
      yield { bytes: batch.bytes, rows };
      continue;
    }
    if (!Array.isArray(batch)) throw new TypeError('A batch must be a list of rows, or {bytes, rows}.');
    for (let start = 0; start < batch.length; start += STEP) {
      const documents = batch.slice(start, start + STEP) as readonly Document[];
      const lines = documents.map((document) => jsonLine(collection, ++rows, document));
      yield { bytes: Buffer.from(lines.join('')), rows };
    }
  }
}

interface WrittenFile extends Required<CollectionFile> {
  readonly isNew: boolean;
}

const writeRows = async (
  directory: string,
  collection: string,
  batches: Batches,
  onWritten: (rows: number) => void,
): Promise<WrittenFile> => {
  const temporary = join(directory, `${collection}.${randomUUID()}.ndjson.tmp`);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined = await open(temporary, 'wx');
  let rows = 0;
  try {
    await ownNewFile(temporary, handle, { like: join(directory, MANIFEST_FILE) });
    for await (const step of steps(collection, batches)) {
      hash.update(step.bytes);
      await handle.writeFile(step.bytes);
      rows = step.rows;
      onWritten(rows);
    }
    await handle.sync();
    await handle.close();
    handle = undefined;
    const sha256 = hash.digest('hex');
    const file = `${collection}.${sha256.slice(0, 12)}.ndjson`;
    const isNew = (await stat(join(directory, file)).catch(() => undefined)) === undefined;
    // An existing file is also replaced, because it might be damaged.
    await rename(temporary, join(directory, file));
    return { file, rows, sha256, isNew };
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
};
