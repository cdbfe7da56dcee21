/** Publishes a dataset. Writes it under a new id, verifies it, and then makes it the current version. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  audit,
  type Clock,
  type Collection,
  type Dataset,
  type Logger,
  type PublishOptions,
  publishing,
  StorageError,
} from 'metro-forecast-api/adapter';
import { Catalog, type CatalogDocument, type Publication } from './catalog.js';
import type { Connection } from './connection.js';
import {
  type Content,
  type ContentTarget,
  readStored,
  type StoredVersion,
  verifyContent,
  writeContent,
} from './content.js';
import { audited, publishedContent } from './data-audit.js';
import { LAYOUT, type VersionDocument } from './layout.js';
import { expireReplicas } from './replica-locks.js';
import { sweep } from './sweep.js';

const { contentOf, sumsOf } = audit;
const { assertNotAborted, missingIn, ordersOf, publicationTime, versionTaken } = publishing;

export interface PublishContext {
  readonly connection: Connection;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly batchSize: number;
  readonly lockMs: number;
}

const conflict = (message: string): StorageError => new StorageError('conflict', message);

/** Rejects with `conflict` if another publisher renews its lock or publishes a version during the wait. */
const takeLock = async (catalog: Catalog, owner: string, lockMs: number, { signal, onWait }: PublishOptions) => {
  const before = await catalog.read();
  let isWaiting = false;
  for (;;) {
    assertNotAborted(signal);
    const locked = await catalog.lock(owner, lockMs);
    const now = locked ?? (await catalog.read());
    if (before.lock && now.current && now.current.id !== before.current?.id) {
      if (locked) await catalog.unlock(owner);
      throw conflict(`Another publisher has just published version ${now.current.version}.`);
    }
    if (locked) return locked;
    if (now.lock && (now.lock.owner !== before.lock?.owner || +now.lock.expires > +before.lock.expires)) {
      throw conflict('Another publication is running. Try again when it has finished.');
    }
    if (!isWaiting && now.lock) {
      isWaiting = true;
      const until = now.lock.expires.toISOString();
      onWait?.(
        `Another publisher holds the lock. If it was stopped, its lock expires at ${until}: waiting until then.`,
      );
    }
    await delay(Math.min(100, lockMs / 10), undefined, { signal }).catch(() => undefined);
  }
};

/** Renews the lock regularly. `lost()` returns true if the lock might have expired. */
const keepLock = (catalog: Catalog, owner: string, lockMs: number, clock: Clock) => {
  let heldFrom = clock.monotonic();
  let taken = false;
  const timer = setInterval(async () => {
    const startedAt = clock.monotonic();
    try {
      taken ||= !(await catalog.renew(owner, lockMs));
      heldFrom = startedAt;
    } catch {
      // A failed renewal is ignored, because the next one might succeed. `lost` checks whether the lock has expired.
    }
  }, lockMs / 4);
  return {
    lost: () => taken || clock.monotonic() - heldFrom > lockMs,
    stop: () => clearInterval(timer),
  };
};

const abandon = async (connection: Connection, catalog: Catalog, owner: string): Promise<void> => {
  await catalog.unlock(owner);
  await sweep(connection, catalog);
};

/** If the server's response is lost, checks the catalog to find out whether the commit succeeded. */
const commit = async (
  catalog: Catalog,
  owner: string,
  publication: Publication,
  { current }: CatalogDocument,
  damaged: Publication | undefined,
): Promise<boolean> => {
  try {
    if (damaged) return await catalog.replace(owner, publication, current, damaged);
    return await catalog.commit(owner, publication, current);
  } catch (error) {
    if ((await catalog.read()).versions.some(({ id }) => id === publication.id)) return true;
    throw error;
  }
};

const errorsOf = ({ described, errors }: StoredVersion, collections: ReadonlyMap<string, Collection>) => {
  const missing = described ? missingIn(described.collections, collections, { search: true }) : [];
  return [...errors, ...missing.map((what) => `it was published without ${what}`)];
};

const hasSameRows = async (
  { connection }: Pick<PublishContext, 'connection'>,
  { described }: StoredVersion,
  written: ReadonlyMap<string, string>,
  version: string,
  { current }: CatalogDocument,
): Promise<boolean> => {
  if (described) return [...sumsOf(described)].every(([name, sha256]) => written.get(name) === sha256);
  const content = await publishedContent(connection, version, current?.version ?? null);
  return content === undefined || content === contentOf(written);
};

interface WriteOptions {
  readonly id: number;
  readonly assertGoingOn: () => void;
  readonly onProgress: PublishOptions['onProgress'];
}

const writeVersion = async (
  { connection, collections, batchSize }: PublishContext,
  dataset: Dataset,
  { id, assertGoingOn, onProgress }: WriteOptions,
): Promise<ReadonlyMap<string, string>> => {
  const written = new Map<ContentTarget, Content>();
  for (const collection of collections.values()) {
    const target = { connection, id, collection, batchSize, assertGoingOn };
    const progress = (rows: number) => onProgress?.({ collection: collection.name, written: rows, total: undefined });
    progress(0);
    written.set(target, await writeContent(target, dataset, progress));
  }
  for (const [target, content] of written) await verifyContent(target, content);
  const described = [...written].map(([{ collection }, content]) => [
    collection.name,
    { ...content, orders: ordersOf(collection), ...(collection.search && { search: collection.search }) },
  ]);
  const version = { _id: id, layout: LAYOUT, manifest: dataset.manifest, collections: Object.fromEntries(described) };
  await connection.run('describe the version', (db) => db.collection<VersionDocument>('versions').insertOne(version));
  return new Map([...written].map(([{ collection }, { sha256 }]) => [collection.name, sha256]));
};

/**
 * Publishes a dataset. Replaces a stored version that has the same name and the same rows, if it is damaged or was
 * published for a different configuration. If the publication fails, the rows written so far are removed immediately or
 * by the next publication.
 * @throws StorageError `conflict` if another publication is running or the version already exists; `invalid_dataset`,
 *   `aborted` or `unavailable`
 */
export const publish = async (context: PublishContext, dataset: Dataset, options: PublishOptions = {}) => {
  const { connection, collections, clock, logger, batchSize, lockMs } = context;
  const { manifest } = dataset;
  const { onProgress, signal } = options;
  const catalog = new Catalog(connection);
  const owner = randomUUID();

  const locked = await takeLock(catalog, owner, lockMs, options);
  const lock = keepLock(catalog, owner, lockMs, clock);
  const assertGoingOn = () => {
    assertNotAborted(signal);
    if (lock.lost()) throw conflict('The lock expired because MongoDB was unreachable for too long. Publish again.');
  };

  try {
    const same = locked.versions.find(({ version }) => version === manifest.version);
    const stored = same && (await readStored(connection, same, { batchSize, assertGoingOn }));
    const errors = stored ? errorsOf(stored, collections) : [];
    if (same && errors.length === 0) throw versionTaken(same.version, same.publishedAt);
    await expireReplicas(connection);
    await sweep(connection, catalog);

    const sums = await writeVersion(context, dataset, { id: locked.sequence, assertGoingOn, onProgress });
    if (same && stored && !(await hasSameRows(context, stored, sums, same.version, locked)))
      throw versionTaken(same.version, same.publishedAt);

    assertGoingOn();
    const publishedAt = publicationTime(manifest, locked.moves.at(-1)?.publishedAt, clock);
    const { version } = manifest;
    const replaces = locked.current?.version ?? null;
    const content = contentOf(sums);
    const isPublished = await audited(connection, clock, { action: 'publish', version, replaces, content }, () =>
      commit(catalog, owner, { id: locked.sequence, version, publishedAt }, locked, same),
    );
    if (isPublished) {
      if (errors.length > 0) options.onRepair?.(`version ${version}: ${errors.join('; ')}`);
      return;
    }
    throw conflict(
      `Version ${version} was not published: another publisher took over, or another version was activated meanwhile.`,
    );
  } catch (error) {
    await abandon(connection, catalog, owner).catch((err: unknown) => {
      logger.warn(
        { err },
        'the rows of the failed publication could not be removed; the next publication removes them',
      );
    });
    throw error;
  } finally {
    lock.stop();
  }
};
