/** Publishes a dataset. Writes its rows to new tables, and then makes the version current in one transaction. */
import { access, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type AdapterContext,
  audit,
  type Dataset,
  files,
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
import { differencesIn, writeContent } from './content.js';

const { contentOf, dataAuditEntry, sumsOf } = audit;
const { FileLockError, fileErrorReason, withFileLock } = files;
const { assertNotAborted, missingIn, publicationTime, versionTaken } = publishing;

type PublishContext = Pick<AdapterContext, 'collections' | 'clock' | 'logger'>;

interface Options extends PublishOptions {
  /** Renews the read transactions of this process, and switches to the current version. */
  poll(): void;
}

/** Another process can take over a lock that was not renewed for this long. */
const STALE_MS = 60_000;

/** Returns the reasons why a stored version cannot be served as it was published. */
const errorsOf = async (
  connection: ThreadedConnection,
  stored: StoredVersion,
  { collections }: PublishContext,
): Promise<readonly string[]> => {
  const missing = missingIn(stored.collections, collections).map((what) => `it was published without ${what}`);
  return [...missing, ...(await differencesIn(connection, stored))];
};

/** Deletes what interrupted publications and deleted versions have left. The caller must hold the lock. */
const sweep = async (connection: ThreadedConnection): Promise<void> => {
  await connection.transaction(() => connection.run('DELETE FROM version WHERE published_at IS NULL'));
  await dropUnlisted(connection);
};

const commit = async (
  connection: ThreadedConnection,
  { id, version, collections }: Pick<StoredVersion, 'id' | 'version' | 'collections'>,
  { dataset, damaged, clock }: { dataset: Dataset; damaged: StoredVersion | undefined; clock: PublishContext['clock'] },
): Promise<void> =>
  connection.transaction(async () => {
    const catalog = await readCatalog(connection);
    const publishedAt = publicationTime(dataset.manifest, catalog.current?.activatedAt, clock);
    if (damaged) {
      await connection.run('DELETE FROM version WHERE id = ?', damaged.id);
      await connection.run('UPDATE move SET version = ? WHERE version = ?', id, damaged.id);
    }
    await connection.run(
      'UPDATE version SET published_at = ?, collections = ? WHERE id = ?',
      publishedAt.getTime(),
      JSON.stringify(collections),
      id,
    );
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
  dataset: Dataset,
  { signal, onProgress, poll }: Options,
): Promise<StoredVersion['collections']> => {
  const written: Record<string, StoredCollection> = {};
  for (const [i, collection] of [...collections.values()].entries()) {
    const { name } = collection;
    written[name] = await writeContent(
      {
        connection,
        table: tableOf(id, i),
        collection,
        assertGoingOn: () => assertNotAborted(signal),
        onWritten: (rows) => onProgress?.({ collection: name, written: rows, total: undefined }),
        poll,
      },
      dataset.read(name),
    );
  }
  return written;
};

const publishLocked = async (
  { connection, confirm }: Locked,
  context: PublishContext,
  dataset: Dataset,
  options: Options,
): Promise<void> => {
  const { manifest } = dataset;
  const { version } = manifest;
  const same = (await readCatalog(connection)).versions.find((each) => each.version === version);
  const errors = same ? await errorsOf(connection, same, context) : [];
  if (same && errors.length === 0) throw versionTaken(version, same.publishedAt);
  await sweep(connection);

  const id = await connection.transaction(() =>
    connection.run(
      `INSERT INTO version (name, manifest, collections) VALUES (?, ?, '{}')`,
      version,
      JSON.stringify(manifest),
    ),
  );
  const collections = await writeCollections(connection, id, context, dataset, options);
  const stored = Object.entries(same?.collections ?? {});
  const isSame = stored.every(([name, { sha256 }]) => collections[name]?.sha256 === sha256);
  if (same && !isSame) throw versionTaken(version, same.publishedAt);
  await confirm();
  assertNotAborted(options.signal);
  // A power failure before this point can lose the latest transactions. The commit must reach the disk before it takes
  // effect.
  await connection.exec('PRAGMA synchronous = FULL');
  await commit(connection, { id, version, collections }, { dataset, damaged: same, clock: context.clock });
  if (same) options.onRepair?.(`version ${version}: ${errors.join('; ')}`);
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
    await mkdir(dirname(path), { recursive: true });
    await access(dirname(path));
  } catch (cause) {
    throw new StorageError('unavailable', `The folder of ${path} cannot be created: ${fileErrorReason(cause)}.`, {
      cause,
    });
  }
};

/**
 * Publishes a dataset. A stored version with the same name is replaced if it has the same rows but is damaged or was
 * published for a different configuration.
 * Rejects with `conflict` if another publication is running or the version already exists, or with `invalid_dataset`,
 * `aborted` or `unavailable`. The rows written so far are then removed, either immediately or by the next publication.
 */
export const publish = async (
  path: string,
  context: PublishContext,
  dataset: Dataset,
  options: Options,
): Promise<void> => {
  assertNotAborted(options.signal);
  const publishInto = async (connection: ThreadedConnection, confirm: Locked['confirm']): Promise<void> => {
    await prepareStore(path, connection);
    await connection.exec('PRAGMA synchronous = NORMAL');
    await publishLocked({ connection, confirm }, context, dataset, options).catch(async (error) => {
      await cleanUp(connection, context);
      throw error;
    });
    options.poll();
    // The dataset is already published. If the log cannot be emptied now, the next publication empties it.
    await connection.emptyLog(options.poll).catch(() => undefined);
  };
  await inFolder(path);
  try {
    await withFileLock(
      path,
      (confirm) => ThreadedConnection.use(path, (connection) => publishInto(connection, confirm), { create: true }),
      { wait: false, staleMs: STALE_MS },
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
