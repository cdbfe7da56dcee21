import { access, readdir, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { NAME } from '../contracts/dataset.js';
import { OperatorError, StorageError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { FileLockError, PUBLICATION_STALE_MS, withFileLock } from '../util/lock.js';
import { makeFolder, writeFileAtomic } from '../util/write-atomic.js';
import { formatDataError } from './data-errors.js';
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
  publishedAtOf,
  readManifest,
  withPublicationTime,
} from './manifest.js';
import { type Batches, type WrittenFile, writeRows } from './write-rows.js';

interface WriteOptions {
  readonly onProgress?: ((progress: { collection: string; written: number }) => void) | undefined;
  /** Aborts the write, unless `beforeCommit` has already been called. */
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
  /**
   * Returns the publication time, which the manifest then stores. A version that is already current keeps its times.
   * @param previous the publication time of the current version
   */
  readonly timeOf?: ((next: DirectoryManifest, previous: Date | undefined) => Date) | undefined;
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
    return await locked(path, (confirm) => replace(path, manifest, collections, options, confirm));
  } catch (error) {
    if (made !== undefined) await removeEmpty(path, made);
    throw error;
  }
};

type Confirm = () => Promise<void>;

const locked = async <T>(path: string, write: (confirm: Confirm) => Promise<T>): Promise<T> => {
  try {
    return await withFileLock(join(path, MANIFEST_FILE), write, { wait: false, staleMs: PUBLICATION_STALE_MS });
  } catch (cause) {
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

const writeManifest = (path: string, manifest: DirectoryManifest, confirm: Confirm): Promise<void> =>
  writeFileAtomic(join(path, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, { beforeCommit: confirm });

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
  { onProgress, signal, beforeCommit, repair = false, timeOf }: WriteOptions,
  confirm: Confirm,
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
    if (timeOf) next = timed(next, previous, timeOf);
    assertWanted();
    await beforeCommit?.({ previous, isDamaged, next });
    await writeManifest(path, next, confirm);
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

const timed = (
  next: DirectoryManifest,
  previous: DirectoryManifest | undefined,
  timeOf: NonNullable<WriteOptions['timeOf']>,
): DirectoryManifest => {
  if (previous?.version !== next.version)
    return withPublicationTime(next, timeOf(next, previous && publishedAtOf(previous)));
  return withPublicationTime({ ...next, created: previous.created }, publishedAtOf(previous));
};

/**
 * Stores the publication time of a version. Does nothing if another version is current.
 * @throws StorageError with the code `conflict` if another process is writing
 */
export const writePublicationTime = (path: string, version: string, time: Date): Promise<void> =>
  locked(path, async (confirm) => {
    const manifest = await readManifest(path);
    if (manifest.version === version) await writeManifest(path, withPublicationTime(manifest, time), confirm);
  });

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
