/** Creates databases. A database appears at its path only when it is complete. */
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { files, StorageError } from 'metro-forecast-api/adapter';
import { prepareStore } from './catalog.js';
import { ThreadedConnection } from './connection.js';

const { linkTarget, PUBLICATION_STALE_MS, syncFolder, withFileLock } = files;

const DRAFT_SUFFIX = /^\.[0-9a-f-]{36}\.new$/;

/** Removes drafts of processes that were killed. */
const removeDrafts = async (target: string): Promise<void> => {
  const name = basename(target);
  for (const file of await readdir(dirname(target))) {
    if (file.startsWith(name) && DRAFT_SUFFIX.test(file.slice(name.length)))
      await rm(join(dirname(target), file), { force: true });
  }
};

/**
 * Moves a draft to its final path. Runs synchronously, so that no other code of this process creates the file after the
 * check. Other programs can create it without the lock. In this case, the link fails.
 */
const place = (draft: string, target: string): void => {
  const taken = () => new StorageError('conflict', `Another process has created ${target}. Try again.`);
  if (existsSync(target)) throw taken();
  // The write-ahead log of a deleted database may still exist. SQLite would apply it to a new database at the same
  // path.
  for (const suffix of ['-wal', '-shm']) rmSync(target + suffix, { force: true });
  try {
    // Unlike a rename, a link never replaces a file.
    linkSync(draft, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken();
    // Some file systems, such as exFAT, have no hard links.
    renameSync(draft, target);
  }
};

/**
 * Creates a database, unless the file exists. Publications and the key store can both create it, so the second one
 * waits for the first one. The write-ahead log is enabled after the database has its final name, because other
 * connections find the log by the name of the database. If enabling the log fails, the next adapter that opens the
 * database enables the log.
 * @param write writes the database to a draft
 * @returns false if the file exists
 * @throws StorageError `conflict` if another program has created the file
 */
export const createDatabase = async (path: string, write: (draft: string) => Promise<void>): Promise<boolean> => {
  const target = await linkTarget(path);
  const create = async (confirm: () => Promise<void>): Promise<boolean> => {
    await removeDrafts(target);
    if (existsSync(target)) return false;
    const draft = `${target}.${randomUUID()}.new`;
    try {
      await write(draft);
      await confirm();
      place(draft, target);
    } finally {
      await rm(draft, { force: true });
    }
    await syncFolder(dirname(target));
    await ThreadedConnection.use(target, (connection) => connection.exec('PRAGMA journal_mode = WAL')).catch(() => {});
    return true;
  };
  return withFileLock(`${target}.create`, create, { staleMs: PUBLICATION_STALE_MS });
};

/** Creates a database without a dataset, unless the database exists. */
export const createEmpty = async (path: string): Promise<void> => {
  if (existsSync(path)) return;
  await createDatabase(path, (draft) =>
    ThreadedConnection.use(draft, (connection) => prepareStore(draft, connection, 'OFF'), { create: true }),
  );
};
