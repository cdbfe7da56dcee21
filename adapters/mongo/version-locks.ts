/**
 * Version locks keep a version from being deleted while a replica reads it.
 *
 * Each replica stores a document in `replicas` with the ids it has locked (`holds`) and the time at which its locks
 * expire. It renews its locks after a quarter of `holdMs`. Deleting a version and locking a version both take three
 * steps:
 *
 *     pruner:   1. read the catalog   2. read the replicas' locks   3. remove it unless it is locked or newly locked
 *     replica:  1. write the lock     2. count the lock             3. read the version if it was still listed
 *
 * The catalog counts the locks on each version. If a replica counts its lock before the pruner reads the catalog, the
 * pruner also finds this lock. If a replica counts its lock later, the pruner cannot remove the version and starts
 * again. After the removal, a replica can no longer count a lock. Writes have majority write concern. Ids are never
 * reused, so a removed version never returns to the catalog.
 *
 * A replica that hangs or cannot reach MongoDB does not renew its locks and loses them after `holdMs`. The replica
 * measures this time from before it sent the last renewal, and the server from when it received that renewal, so the
 * locks expire on the replica first. Reads then fail, because a dropped collection would look like an empty one. The
 * locks are checked after each batch. On the next renewal, the replica checks in the catalog which of its versions
 * still exist. Reads of deleted versions fail.
 */
import {
  type AdapterContext,
  type Collection,
  type Manifest,
  publishing,
  StorageError,
} from 'metro-forecast-api/adapter';
import type { Catalog } from './catalog.js';
import type { Connection } from './connection.js';
import { LAYOUT, type VersionDocument } from './layout.js';
import { ReplicaLocks } from './replica-locks.js';

const assertLayout = ({ layout, manifest: { version } }: VersionDocument): void => {
  if (layout === LAYOUT) return;
  throw new StorageError(
    'invalid_dataset',
    `Version ${version} was published by a different version of this program, which stores rows differently. Publish the dataset again with this one.`,
  );
};

export interface LockedVersion {
  readonly id: number;
  readonly manifest: Manifest;
}

interface Entry extends LockedVersion {
  readers: number;
  /** True if the version was deleted while this replica could not renew its locks. */
  isDeleted: boolean;
}

export class LockedVersions {
  readonly #connection: Connection;
  readonly #catalog: Catalog;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #locks: ReplicaLocks;
  readonly #entries = new Map<number, Entry>();
  readonly #locking = new Map<number, Promise<Entry | undefined>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    connection: Connection,
    catalog: Catalog,
    { collections, clock }: Pick<AdapterContext, 'collections' | 'clock'>,
    holdMs: number,
  ) {
    this.#connection = connection;
    this.#catalog = catalog;
    this.#collections = collections;
    this.#locks = new ReplicaLocks(connection, clock, holdMs);
  }

  /**
   * Locks a version and adds a reader. Resolves with undefined if the version was deleted. Rejects with
   * `invalid_dataset` if the version lacks a declared collection or order.
   */
  async lock(id: number): Promise<LockedVersion | undefined> {
    for (;;) {
      const entry = this.#entries.get(id);
      if (entry && !entry.isDeleted) return this.addReader(entry);
      const locking = this.#locking.get(id) ?? this.#lock(id).finally(() => this.#locking.delete(id));
      this.#locking.set(id, locking);
      if (!(await locking)) return undefined;
    }
  }

  addReader<Locked extends LockedVersion>(version: Locked): Locked {
    (version as unknown as Entry).readers++;
    return version;
  }

  /**
   * Removes a reader of a version. A version without readers stays locked until the next `renew`, because another read
   * is likely.
   */
  removeReader(version: LockedVersion): void {
    (version as Entry).readers--;
  }

  /** @throws StorageError `unavailable` if the version might have been unlocked at some time during the read */
  assertReadable(version: LockedVersion): void {
    if ((version as Entry).isDeleted) {
      throw new StorageError(
        'unavailable',
        `The version ${version.manifest.version} was pruned while MongoDB was unreachable.`,
      );
    }
    if (!this.#locks.areValid) {
      throw new StorageError(
        'unavailable',
        'The lock on the version has expired: MongoDB was unreachable for too long.',
      );
    }
  }

  renew(): Promise<void> {
    return this.#serially(() => {
      for (const [id, entry] of this.#entries) if (entry.readers === 0) this.#entries.delete(id);
      return this.#write();
    });
  }

  async releaseAll(): Promise<void> {
    await this.#serially(() => this.#locks.release());
  }

  #lock(id: number): Promise<Entry | undefined> {
    return this.#serially(async () => {
      await this.#write();
      if (!(await this.#catalog.countLock(id))) return undefined;
      const found = await this.#connection.run('read a version', (db) =>
        db.collection<VersionDocument>('versions').findOne({ _id: id }),
      );
      if (!found) return undefined;
      assertLayout(found);
      // MongoDB treats a missing collection as empty, and sorts rows in memory if an index is missing.
      publishing.assertComplete(found.manifest.version, found.collections, this.#collections, { search: true });
      const entry = { id, manifest: found.manifest, readers: 0, isDeleted: false };
      this.#entries.set(id, entry);
      return entry;
    });
  }

  #write(): Promise<void> {
    return this.#locks.renew([...new Set([...this.#entries.keys(), ...this.#locking.keys()])], async () => {
      for (const [id, entry] of this.#entries) entry.isDeleted ||= !(await this.#catalog.countLock(id));
    });
  }

  /**
   * Runs tasks one at a time. Each write replaces all ids in the document of the replica, so it needs the ids of
   * earlier tasks.
   */
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
