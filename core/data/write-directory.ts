/** Writes a dataset directory so that readers, and a crash at any moment, find one whole version. */

import { createHash, randomUUID } from 'node:crypto';
import { access, type FileHandle, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Document, Manifest } from '../contracts/dataset.js';
import { OperatorError, StorageError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { FileLockError, withFileLock } from '../util/lock.js';
import { makeFolder, ownNewFile, writeFileAtomic } from '../util/write-atomic.js';
import { nonFinitePath } from '../validation/json.js';
import { formatDataError } from './data-errors.js';
import {
  type CollectionFile,
  type DirectoryManifest,
  descriptionOf,
  isDamagedManifest,
  MANIFEST_FILE,
  manifestErrors,
  readManifest,
} from './manifest.js';

interface WriteOptions {
  readonly onProgress?: ((progress: { collection: string; written: number }) => void) | undefined;
  /** Once aborted, nothing is changed any more, unless the manifest has been replaced already. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Runs when all rows are written, with the manifest that is to be replaced and the new one. If it throws, nothing has
   * changed. No other process writes meanwhile.
   */
  readonly beforeCommit?: ((change: ManifestChange) => void | Promise<void>) | undefined;
  /**
   * Whether a damaged manifest is replaced like a missing one, and collections that a version lacks are added to it.
   * Default: these are errors.
   */
  readonly repair?: boolean;
}

export interface ManifestChange {
  /** Undefined: there is none, or it is damaged. */
  readonly previous: DirectoryManifest | undefined;
  readonly isDamaged: boolean;
  readonly next: DirectoryManifest;
}

/** Names of the files that this module writes; it removes no others. */
const FILE = /^[a-z][a-z0-9_]*\.[0-9a-f]{12}\.ndjson$/;
const TEMPORARY = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;
const COLLECTION = /^[a-z][a-z0-9_]*$/;
/** A writer without a sign of life for this long counts as dead. */
const STALE_MS = 60_000;

/**
 * Writes each collection to a file named after its content, then the manifest, which makes them current at once.
 *
 * Collections that the directory has and the caller does not name are kept. Files of the version that was current
 * until now stay for readers that have just opened it; older ones go. When anything fails, what was there is
 * untouched, and what was written is removed.
 * @param path made where it does not exist
 * @throws OperatorError when a file or the directory cannot be written
 * @throws StorageError `conflict` when somebody else is writing, or this version is there with other content;
 *   `invalid_dataset` for a manifest or a number that cannot be written, or an old manifest that cannot be read, or is
 *   damaged and not to be repaired; `aborted`
 * @throws whatever reading the batches does
 */
export const writeDirectory = async (
  path: string,
  manifest: Manifest,
  collections: Readonly<Record<string, Batches>>,
  options: WriteOptions = {},
): Promise<DirectoryManifest> => {
  assertWritable(manifest, Object.keys(collections));
  const made = await makeDirectory(path);
  try {
    const write = (confirm: () => Promise<void>) => replace(path, manifest, collections, options, confirm);
    return await withFileLock(join(path, MANIFEST_FILE), write, {
      wait: false,
      staleMs: STALE_MS,
    });
  } catch (cause) {
    if (made !== undefined) await removeEmpty(path, made);
    if (cause instanceof FileLockError) {
      throw new StorageError('conflict', `The dataset ${path} cannot be written now. ${cause.message}`, { cause });
    }
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (!code || !syscall) throw cause;
    throw new OperatorError(`The dataset ${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

/** The first directory that was made; undefined: all are there. */
const makeDirectory = async (path: string): Promise<string | undefined> => {
  try {
    return await makeFolder(path);
  } catch (cause) {
    const isFile = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isFile ? 'a file is in its place' : fileErrorReason(cause);
    throw new OperatorError(`The dataset ${path} cannot be written, since its folder cannot be made: ${reason}.`, [], {
      cause,
    });
  }
};

/** Removes the directories from `path` up to `made`, as far as they are empty. */
const removeEmpty = async (path: string, made: string): Promise<void> => {
  const last = resolve(made);
  for (let folder = resolve(path); folder.startsWith(last); folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      // The folder is not empty.
      return;
    }
  }
};

const assertWritable = (manifest: Manifest, names: readonly string[]): void => {
  const faults = manifestErrors({ ...descriptionOf(manifest), collections: {} }).map(formatDataError);
  for (const name of names) {
    if (!COLLECTION.test(name)) faults.push(`the collection name "${name}" must match ${COLLECTION.source}`);
  }
  if (faults.length === 0) return;
  throw new StorageError('invalid_dataset', ['The dataset cannot be written:', ...faults].join('\n  - '));
};

const replace = async (
  path: string,
  manifest: Manifest,
  collections: Readonly<Record<string, Batches>>,
  { onProgress, signal, beforeCommit, repair = false }: WriteOptions,
  confirm: () => Promise<void>,
): Promise<DirectoryManifest> => {
  const assertWanted = (): void => {
    if (signal?.aborted) throw new StorageError('aborted', 'The writing was aborted.', { cause: signal.reason });
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
    next = { ...descriptionOf(manifest), collections: files };
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
  // Which files a damaged manifest named is not known: the next writer removes them.
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

/** A version names its content, since readers that have a version do not read it again. */
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
    `${path} holds version "${next.version}" with other rows in ${changed.join(', ')}: give the new one another version.`,
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

/** Rows in key order, in batches of any size. */
export type Batches = Iterable<readonly object[]> | AsyncIterable<readonly object[]>;

/** Rows that become one text, and one write. */
const STEP = 1000;

/** JSON would quietly turn NaN and infinities into null. */
const refuseNumber = (collection: string, row: number, field: string): never => {
  const fault = formatDataError({ file: collection, row, field, rule: 'must be a finite number' });
  throw new StorageError('invalid_dataset', fault);
};

async function* texts(collection: string, batches: Batches): AsyncGenerator<{ text: string; rows: number }> {
  let rows = 0;
  for await (const batch of batches) {
    for (let start = 0; start < batch.length; start += STEP) {
      const lines = (batch.slice(start, start + STEP) as readonly Document[]).map((document) => {
        rows++;
        const infinite = nonFinitePath(document);
        if (infinite) refuseNumber(collection, rows, infinite.join('.'));
        return `${JSON.stringify(document)}\n`;
      });
      yield { text: lines.join(''), rows };
    }
  }
}

interface WrittenFile extends Required<CollectionFile> {
  /** Whether the directory lacked a file of this content before. */
  readonly isNew: boolean;
}

/** @param onWritten told the rows so far; what it throws ends the writing */
const writeRows = async (
  directory: string,
  collection: string,
  batches: Batches,
  onWritten: (rows: number) => void,
): Promise<WrittenFile> => {
  const temporary = join(directory, `${collection}.${randomUUID()}.tmp`);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined = await open(temporary, 'wx');
  let rows = 0;
  try {
    await ownNewFile(temporary, handle, { like: join(directory, MANIFEST_FILE) });
    for await (const step of texts(collection, batches)) {
      hash.update(step.text);
      await handle.writeFile(step.text);
      rows = step.rows;
      onWritten(rows);
    }
    await handle.sync();
    await handle.close();
    handle = undefined;
    const sha256 = hash.digest('hex');
    const file = `${collection}.${sha256.slice(0, 12)}.ndjson`;
    const isNew = (await stat(join(directory, file)).catch(() => undefined)) === undefined;
    // An existing file is replaced too, which repairs a damaged one.
    await rename(temporary, join(directory, file));
    return { file, rows, sha256, isNew };
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
};
