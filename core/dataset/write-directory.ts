/** Writes a dataset directory so that readers, and a crash at any moment, find one whole version. */
import { access, mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from '../contracts/dataset.js';
import { OperatorError, StorageError } from '../errors.js';
import { fileErrorReason } from '../files/error-reason.js';
import { FileLockError, withFileLock } from '../files/lock.js';
import { writeFileAtomic } from '../files/write-atomic.js';
import { formatFault } from './fault.js';
import {
  type CollectionFile,
  type DirectoryManifest,
  descriptionOf,
  MANIFEST_FILE,
  manifestFaults,
  readManifest,
} from './manifest.js';
import { type Batches, type WrittenFile, writeRows } from './write-rows.js';

export type { Batches } from './write-rows.js';

export interface WriteOptions {
  readonly onProgress?: ((progress: { collection: string; written: number }) => void) | undefined;
  /** Once aborted, nothing is changed any more, unless the manifest has been replaced already. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Runs when all rows are written, with the version that is to be replaced. If it throws, nothing has changed. Nobody
   * else writes meanwhile.
   */
  readonly beforeCommit?: ((previous: string | null) => void | Promise<void>) | undefined;
}

/** Files that this module makes: others are none of its business. */
const FILE = /^[a-z][a-z0-9_]*\.[0-9a-f]{12}\.ndjson$/;
const TEMPORARY = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;
const COLLECTION = /^[a-z][a-z0-9_]*$/;
/** A writer that has been silent for longer is gone. */
const STALE_MS = 60_000;

/**
 * Writes each collection to a file named after its content, then the manifest, which makes them current at once.
 *
 * Collections that the directory has and the caller does not name are kept. Files of the version that was current
 * until now stay for readers that have just opened it; older ones go. When anything fails, what was there is
 * untouched, and what was written is removed.
 * @param path made where it does not exist
 * @throws OperatorError when a file cannot be written
 * @throws StorageError `conflict` when somebody else is writing, or this version is there with other content;
 *   `invalid_dataset` for a manifest or a number that cannot be written, or an unreadable old manifest; `aborted`
 * @throws whatever reading the batches does
 */
export const writeDirectory = async (
  path: string,
  manifest: Manifest,
  collections: Readonly<Record<string, Batches>>,
  options: WriteOptions = {},
): Promise<DirectoryManifest> => {
  assertWritable(manifest, Object.keys(collections));
  try {
    await mkdir(path, { recursive: true });
    const write = (confirm: () => Promise<void>) => replace(path, manifest, collections, options, confirm);
    return await withFileLock(join(path, MANIFEST_FILE), (lock) => write(() => lock.confirm()), {
      wait: false,
      staleMs: STALE_MS,
    });
  } catch (cause) {
    if (cause instanceof FileLockError) {
      throw new StorageError('conflict', `The dataset ${path} cannot be written now. ${cause.message}`, { cause });
    }
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (!code || !syscall) throw cause;
    throw new OperatorError(`The dataset ${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

const assertWritable = (manifest: Manifest, names: readonly string[]): void => {
  const faults = manifestFaults({ ...descriptionOf(manifest), collections: {} }).map(formatFault);
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
  { onProgress, signal, beforeCommit }: WriteOptions,
  confirm: () => Promise<void>,
): Promise<DirectoryManifest> => {
  const assertWanted = (): void => {
    if (signal?.aborted) throw new StorageError('aborted', 'The writing was aborted.', { cause: signal.reason });
  };
  const previous = await currentManifest(path);
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
    assertOwnVersion(path, next, previous);
    await beforeCommit?.(previous?.version ?? null);
    assertWanted();
    await writeFileAtomic(join(path, MANIFEST_FILE), `${JSON.stringify(next, null, 2)}\n`, { beforeCommit: confirm });
  } catch (error) {
    for (const { file, isNew } of Object.values(written)) {
      if (isNew) await unlink(join(path, file)).catch(() => undefined);
    }
    throw error;
  }
  await removeUnused(path, previous ? [previous, next] : [next]);
  return next;
};

const currentManifest = async (path: string): Promise<DirectoryManifest | undefined> => {
  try {
    await access(join(path, MANIFEST_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return readManifest(path);
};

/** A version names its content: readers that have the one do not look for another. */
const assertOwnVersion = (path: string, next: DirectoryManifest, previous: DirectoryManifest | undefined): void => {
  if (previous?.version !== next.version) return;
  const changed = Object.entries(next.collections)
    .filter(([name, { file, sha256 }]) => {
      const before = Object.hasOwn(previous.collections, name) ? previous.collections[name] : undefined;
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
