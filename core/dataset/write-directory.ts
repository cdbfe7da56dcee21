/** Writes a dataset directory so that readers, and a crash at any moment, find one whole version. */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document, Manifest } from '../contracts/dataset.js';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../file-error.js';
import { withFileLock } from '../file-lock.js';
import { writeFileAtomic } from '../write-file-atomic.js';
import { openDirectory } from './directory.js';
import { type CollectionFile, type DirectoryManifest, MANIFEST_FILE } from './manifest.js';

/** Rows in key order, in batches of any size. */
export type Batches = Iterable<readonly Document[]> | AsyncIterable<readonly Document[]>;

const FILE_NAME = /\.[0-9a-f]{12}\.ndjson$/;
const TEMPORARY = /\.tmp$/;

/**
 * Writes each collection to a file named after its content, then the manifest, which makes them current at once.
 *
 * Collections that the directory has and the caller does not name are kept. Files of the version that was current
 * until now stay for readers that have just opened it; older ones go.
 * @throws OperatorError when a file cannot be written; what was there is then untouched
 */
export const writeDirectory = async (
  path: string,
  manifest: Manifest,
  collections: Readonly<Record<string, Batches>>,
): Promise<DirectoryManifest> => {
  try {
    await mkdir(path, { recursive: true });
    return await withFileLock(join(path, MANIFEST_FILE), async (lock) => {
      const previous = await currentManifest(path);
      const written: Record<string, CollectionFile> = {};
      for (const [name, batches] of Object.entries(collections)) written[name] = await writeRows(path, name, batches);
      const { format, version, created, vintage, synthetic, sources } = manifest;
      const next: DirectoryManifest = {
        ...{ format, version, created, vintage, synthetic, sources },
        collections: { ...previous?.collections, ...written },
      };
      await writeFileAtomic(join(path, MANIFEST_FILE), `${JSON.stringify(next, null, 2)}\n`, {
        beforeCommit: () => lock.confirm(),
      });
      await removeUnused(path, [next, ...(previous ? [previous] : [])]);
      return next;
    });
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (!code || !syscall) throw cause;
    throw new OperatorError(`The dataset ${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
};

const currentManifest = async (path: string): Promise<DirectoryManifest | undefined> => {
  const there = await access(join(path, MANIFEST_FILE), constants.F_OK).then(
    () => true,
    () => false,
  );
  return there ? (await openDirectory(path)).manifest : undefined;
};

const writeRows = async (path: string, name: string, batches: Batches): Promise<CollectionFile> => {
  const temporary = join(path, `${name}.${randomUUID()}.tmp`);
  const hash = createHash('sha256');
  const handle = await open(temporary, 'wx');
  let rows = 0;
  try {
    for await (const batch of batches) {
      const text = batch.map((document) => `${JSON.stringify(document)}\n`).join('');
      hash.update(text);
      rows += batch.length;
      await handle.appendFile(text);
    }
    await handle.sync();
    await handle.close();
    const sha256 = hash.digest('hex');
    const file = `${name}.${sha256.slice(0, 12)}.ndjson`;
    await rename(temporary, join(path, file));
    return { file, rows, sha256 };
  } catch (error) {
    await handle.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
};

/** Only files that this module names: others are none of its business. */
const removeUnused = async (path: string, manifests: readonly DirectoryManifest[]): Promise<void> => {
  const used = new Set(manifests.flatMap(({ collections }) => Object.values(collections).map(({ file }) => file)));
  for (const name of await readdir(path)) {
    if ((FILE_NAME.test(name) && !used.has(name)) || TEMPORARY.test(name)) {
      await unlink(join(path, name)).catch(() => undefined);
    }
  }
};
