/** Publishes a dataset. Writes its rows to new tables, and then makes the version current in one transaction. */
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type AdapterContext,
  audit,
  type Document,
  files,
  type Manifest,
  type PublishOptions,
  publishing,
  StorageError,
} from 'metro-forecast-api/adapter';
import { appendEntry, DATA_AUDIT } from './audit.js';
import {
  addActivation,
  currentName,
  dropUnlisted,
  prepareStore,
  readCatalog,
  type StoredCollection,
  type StoredVersion,
  tableOf,
} from './catalog.js';
import { ThreadedConnection } from './connection.js';
import { differencesIn, type RowBlock, writeContent, written } from './content.js';
import { createDatabase } from './create.js';

const { contentOf, dataAuditEntry, sumsOf } = audit;
const { FileLockError, fileErrorReason, makeFolder, PUBLICATION_STALE_MS, withFileLock } = files;
const { assertNotAborted, missingIn, publicationTime, versionTaken } = publishing;

/** A table that is published while it is being imported. The version is known only after the last row has been read. */
export interface ImportedDataset {
  readonly manifest: Omit<Manifest, 'version'>;
  /**
   * Reads the rows of the imported collection in key order. Returns undefined for other collections.
   * @param fields the fields whose values are returned
   */
  written(collection: string, fields: readonly string[]): AsyncIterable<RowBlock> | undefined;
  /** Reads a collection that is not being imported. */
  read(collection: string): AsyncIterable<readonly Document[]>;
  /**
   * Resolves with the name of the version. Called after the last row, before the version becomes current. If the
   * promise rejects, nothing is published.
   * @param sha256 the SHA-256 of each collection as NDJSON
   */
  version(sha256: Readonly<Record<string, string>>): Promise<string>;
}

/** A dataset to publish. `known` is the name of the version, if it does not depend on the rows. */
export type ToPublish = ImportedDataset & { readonly known?: string };

type PublishContext = Pick<AdapterContext, 'collections' | 'clock' | 'logger'>;

interface Options extends PublishOptions {
  /** Renews the read transactions of this process, and switches to the current version. */
  poll(): void;
}

const errorsOf = async (
  connection: ThreadedConnection,
  stored: StoredVersion,
  { collections }: PublishContext,
): Promise<readonly string[]> => {
  const missing = missingIn(stored.collections, collections, { search: true }).map(
    (what) => `it was published without ${what}`,
  );
  return [...missing, ...(await differencesIn(connection, stored))];
};

/** Deletes rows left by interrupted publications and deleted versions. The caller must hold the lock. */
const sweep = async (connection: ThreadedConnection): Promise<void> => {
  await connection.transaction(() => connection.run('DELETE FROM version WHERE published_at IS NULL'));
  await dropUnlisted(connection);
};

interface Commit extends Pick<StoredVersion, 'id' | 'version' | 'collections'> {
  readonly manifest: ToPublish['manifest'];
  readonly damaged: StoredVersion | undefined;
}

const commit = async (
  connection: ThreadedConnection,
  { id, version, collections, manifest, damaged }: Commit,
  clock: PublishContext['clock'],
): Promise<void> =>
  connection.transaction(async () => {
    const catalog = await readCatalog(connection);
    const complete = { ...manifest, version };
    const publishedAt = publicationTime(complete, catalog.current?.activatedAt, clock);
    if (damaged) {
      await connection.run('DELETE FROM version WHERE id = ?', damaged.id);
      await connection.run('UPDATE move SET version = ? WHERE version = ?', id, damaged.id);
    }
    const written = await connection.rows(
      'UPDATE version SET name = ?, manifest = ?, published_at = ?, collections = ? WHERE id = ? RETURNING id',
      ...[version, JSON.stringify(complete), publishedAt.getTime(), JSON.stringify(collections), id],
    );
    if (written.length === 0) {
      throw new StorageError(
        'conflict',
        `Version ${version} was not published: another publisher has deleted its rows.`,
      );
    }
    await addActivation(connection, { versionId: id, activatedAt: publishedAt });
    const content = contentOf(sumsOf({ collections }));
    const entry = { action: 'publish', version, replaces: currentName(catalog), content } as const;
    await appendEntry(connection, DATA_AUDIT, dataAuditEntry(entry, clock.now()));
  });

interface Locked {
  readonly connection: ThreadedConnection;
  /** Rejects if another process has taken over the lock. */
  confirm(): Promise<void>;
}

const writeCollections = async (
  connection: ThreadedConnection,
  id: number,
  { collections }: PublishContext,
  dataset: ToPublish,
  { signal, onProgress, poll }: Options,
): Promise<StoredVersion['collections']> => {
  const stored: Record<string, StoredCollection> = {};
  for (const [i, collection] of [...collections.values()].entries()) {
    const { name } = collection;
    stored[name] = await writeContent(
      {
        connection,
        table: tableOf(id, i),
        collection,
        assertGoingOn: () => assertNotAborted(signal),
        onWritten: (rows) => onProgress?.({ collection: name, written: rows, total: undefined }),
        poll,
      },
      (fields) => dataset.written(name, fields) ?? written(collection, dataset, fields),
    );
  }
  return stored;
};

/**
 * Returns a stored version that is damaged.
 * @throws StorageError `conflict` if the stored version is not damaged
 */
const damagedVersion = async (connection: ThreadedConnection, context: PublishContext, version: string) => {
  const stored = (await readCatalog(connection)).versions.find((each) => each.version === version);
  const errors = stored ? await errorsOf(connection, stored, context) : [];
  if (stored && errors.length === 0) throw versionTaken(version, stored.publishedAt);
  return { stored, errors };
};

const publishLocked = async (
  { connection, confirm }: Locked,
  context: PublishContext,
  dataset: ToPublish,
  options: Options,
): Promise<void> => {
  const { manifest, known } = dataset;
  const checked = known === undefined ? undefined : await damagedVersion(connection, context, known);
  await sweep(connection);

  const id = await connection.transaction(() =>
    connection.run(`INSERT INTO version (name, manifest, collections) VALUES ('', '{}', '{}')`),
  );
  const collections = await writeCollections(connection, id, context, dataset, options);
  const digests = Object.entries(collections).map(([name, { sha256 }]) => [name, sha256]);
  const version = await dataset.version(Object.fromEntries(digests));
  const { stored: damaged, errors } = checked ?? (await damagedVersion(connection, context, version));
  const before = Object.entries(damaged?.collections ?? {});
  const isSame = before.every(([name, { sha256 }]) => collections[name]?.sha256 === sha256);
  if (damaged && !isSame) throw versionTaken(version, damaged.publishedAt);
  await confirm();
  assertNotAborted(options.signal);
  // The commit must be on disk before the version becomes current. Earlier transactions may be lost in a power failure.
  await connection.exec('PRAGMA synchronous = FULL');
  await commit(connection, { id, version, collections, manifest, damaged }, context.clock);
  if (damaged) options.onRepair?.(`version ${version}: ${errors.join('; ')}`);
};

const cleanUp = async (connection: ThreadedConnection, { logger }: PublishContext): Promise<void> => {
  try {
    await sweep(connection);
  } catch (err) {
    logger.warn({ err }, 'the rows of the failed publication could not be removed; the next publication removes them');
  }
};

const inFolder = async (path: string): Promise<void> => {
  try {
    await makeFolder(dirname(path));
    await access(dirname(path));
  } catch (cause) {
    throw new StorageError('unavailable', `The folder of ${path} cannot be created: ${fileErrorReason(cause)}.`, {
      cause,
    });
  }
};

/** @param isDraft true if the file is deleted when the publication fails, so that it needs no write-ahead log */
const publishInto = async (
  file: string,
  confirm: Locked['confirm'],
  context: PublishContext,
  dataset: ToPublish,
  options: Options,
  isDraft: boolean,
): Promise<void> =>
  ThreadedConnection.use(
    file,
    async (connection) => {
      await prepareStore(file, connection, isDraft ? 'OFF' : 'WAL');
      await connection.exec(`PRAGMA synchronous = ${isDraft ? 'OFF' : 'NORMAL'}`);
      await publishLocked({ connection, confirm }, context, dataset, options).catch(async (error) => {
        if (!isDraft) await cleanUp(connection, context);
        throw error;
      });
      options.poll();
      // If the write-ahead log cannot be emptied now, the next publication empties it.
      await connection.emptyLog(options.poll).catch(() => undefined);
    },
    { create: true },
  );

/**
 * Publishes a dataset. Replaces a stored version that has the same name and the same rows, if it is damaged or was
 * published for a different configuration. If the publication fails, the rows written so far are removed immediately or
 * by the next publication.
 * @throws StorageError `conflict` if another publication is running or the version already exists; `invalid_dataset`,
 *   `aborted` or `unavailable`
 */
export const publish = async (
  path: string,
  context: PublishContext,
  dataset: ToPublish,
  options: Options,
): Promise<void> => {
  assertNotAborted(options.signal);
  await inFolder(path);
  try {
    await withFileLock(
      path,
      async (confirm) => {
        const write = (file: string, isDraft: boolean) =>
          publishInto(file, confirm, context, dataset, options, isDraft);
        const isCreated = await createDatabase(path, (draft) => write(draft, true));
        if (!isCreated) await write(path, false);
      },
      { wait: false, staleMs: PUBLICATION_STALE_MS },
    );
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    if (cause instanceof FileLockError) {
      throw new StorageError('conflict', `Nothing can be published into ${path} now. ${cause.message}`, { cause });
    }
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (!code || !syscall) throw cause;
    throw new StorageError('unavailable', `Nothing can be published into ${path}: ${fileErrorReason(cause)}.`, {
      cause,
    });
  }
};
