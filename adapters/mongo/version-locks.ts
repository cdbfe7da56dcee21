/**
 * Version locks keep a version from being deleted while a replica reads it.
 *
 * Each replica stores a document in `replicas` with the ids it has locked (`holds`) and the time at which its locks
 * expire. It renews its locks after a quarter of `holdMs`. Deleting a version and locking a version both take three
 * steps:
 *
 *     pruner:   1. read the catalog   2. read the replicas' locks   3. remove it unless it is locked or newly acquired
 *     replica:  1. write the lock     2. count the acquisition      3. read the version if it was still listed
 *
 * The catalog counts the acquisitions of each version. If a replica counts one before the pruner reads the catalog, the
 * pruner also finds its lock. If a replica counts one later, the pruner cannot remove the version and starts again.
 * After the removal, a replica can no longer count an acquisition. Writes have majority write concern. Ids are never
 * reused, so a removed version never returns to the catalog.
 *
 * A replica that hangs or cannot reach MongoDB does not renew its locks and loses them after `holdMs`. The replica
 * measures this time from before it sent the last renewal, and the server from when it received that renewal, so the
 * locks expire on the replica first. Reads then fail, because a dropped collection would look like an empty one. The
 * locks are checked after each batch. On the next renewal, the replica checks in the catalog which of its versions
 * still exist, and continues with those.
 */
import { randomUUID } from 'node:crypto';
import {
  type AdapterContext,
  type Clock,
  type Collection,
  type Manifest,
  publishing,
  StorageError,
} from 'metro-forecast-api/adapter';
import { type Catalog, fromNow } from './catalog.js';
import type { Connection } from './connection.js';
import { LAYOUT } from './layout.js';

interface ReplicaDocument {
  readonly _id: string;
  readonly holds: readonly number[];
  readonly expires: Date;
  /** The number of the last write. A write that arrives late must not replace a newer one. */
  readonly sequence: number;
}

const COLLECTION = 'replicas';

export const lockedIds = async (connection: Connection): Promise<ReadonlySet<number>> => {
  const live = { $expr: { $gt: ['$expires', '$$NOW'] } };
  const replicas = await connection.run('read the locks', (db) =>
    db.collection<ReplicaDocument>(COLLECTION).find(live).toArray(),
  );
  return new Set(replicas.flatMap(({ holds }) => holds));
};

/** The TTL index makes the server delete the documents of crashed replicas. */
export const expireReplicas = (connection: Connection): Promise<unknown> =>
  connection.run('create an index', (db) =>
    db.collection(COLLECTION).createIndex({ expires: 1 }, { expireAfterSeconds: 0 }),
  );

export class VersionLocks {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #id = randomUUID();
  #sequence = 0;
  /** Undefined if the last write failed, because it might still arrive. */
  #written: readonly number[] | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, clock: Clock, holdMs: number) {
    this.#connection = connection;
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  get areValid(): boolean {
    return this.#clock.monotonic() - this.#writtenAt < this.#holdMs;
  }

  /**
   * Writes the locks of this replica, and renews them before they expire.
   * @param lapsed called if the locks had expired, because another replica could delete versions in the meantime
   */
  async keep(ids: readonly number[], lapsed: () => Promise<void>): Promise<void> {
    const previous = this.#writtenAt;
    const due = this.#clock.monotonic() - previous > this.#holdMs / 4;
    const written = this.#written;
    const unchanged = written?.length === ids.length && ids.every((id) => written.includes(id));
    if (!due && unchanged) return;
    const startedAt = this.#clock.monotonic();
    this.#written = undefined;
    const sequence = ++this.#sequence;
    const next = { _id: this.#id, holds: ids, expires: fromNow(this.#holdMs), sequence };
    const isNewer = { $gt: [sequence, { $ifNull: ['$sequence', 0] }] };
    const change = [{ $replaceWith: { $cond: [isNewer, next, '$$ROOT'] } }];
    await this.#connection.run('write the locks', (db) =>
      db.collection<ReplicaDocument>(COLLECTION).updateOne({ _id: this.#id }, change, { upsert: true }),
    );
    if (this.#clock.monotonic() - previous >= this.#holdMs) await lapsed();
    this.#written = [...ids];
    this.#writtenAt = startedAt;
  }

  async end(): Promise<void> {
    if (this.#writtenAt === Number.NEGATIVE_INFINITY) return;
    this.#writtenAt = Number.NEGATIVE_INFINITY;
    await this.#connection
      .run('release the locks', (db) => db.collection<ReplicaDocument>(COLLECTION).deleteOne({ _id: this.#id }))
      .catch(() => undefined);
  }
}

export interface VersionDocument {
  readonly _id: number;
  /** Undefined if the version was published before database layouts were numbered. */
  readonly layout?: number;
  readonly manifest: Manifest;
  readonly collections: Readonly<
    Record<
      string,
      {
        readonly rows: number;
        readonly sha256: string;
        readonly orders: readonly (readonly string[])[];
        readonly search?: readonly string[];
      }
    >
  >;
}

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
  lost: boolean;
}

export class LockedVersions {
  readonly #connection: Connection;
  readonly #catalog: Catalog;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #locks: VersionLocks;
  readonly #entries = new Map<number, Entry>();
  readonly #taking = new Map<number, Promise<Entry | undefined>>();
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
    this.#locks = new VersionLocks(connection, clock, holdMs);
  }

  /**
   * Resolves with undefined if the version was deleted. Rejects with `invalid_dataset` if the version lacks a declared
   * collection or order.
   */
  async acquire(id: number): Promise<LockedVersion | undefined> {
    for (;;) {
      const entry = this.#entries.get(id);
      if (entry && !entry.lost) return this.retain(entry);
      const taking = this.#taking.get(id) ?? this.#take(id).finally(() => this.#taking.delete(id));
      this.#taking.set(id, taking);
      if (!(await taking)) return undefined;
    }
  }

  retain<Held extends LockedVersion>(version: Held): Held {
    (version as unknown as Entry).readers++;
    return version;
  }

  /**
   * Removes a reader of a version. A version without readers stays locked until the next `keep`, because another read
   * is likely.
   */
  release(version: LockedVersion): void {
    (version as Entry).readers--;
  }

  /** @throws StorageError `unavailable` if the version might have been unlocked at some time during the read */
  assertReadable(version: LockedVersion): void {
    if ((version as Entry).lost) {
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

  keep(): Promise<void> {
    return this.#serially(() => {
      for (const [id, entry] of this.#entries) if (entry.readers === 0) this.#entries.delete(id);
      return this.#write();
    });
  }

  async end(): Promise<void> {
    await this.#serially(() => this.#locks.end());
  }

  #take(id: number): Promise<Entry | undefined> {
    return this.#serially(async () => {
      await this.#write();
      if (!(await this.#catalog.acquire(id))) return undefined;
      const found = await this.#connection.run('read a version', (db) =>
        db.collection<VersionDocument>('versions').findOne({ _id: id }),
      );
      if (!found) return undefined;
      assertLayout(found);
      // MongoDB treats a missing collection as empty, and sorts rows in memory if an index is missing.
      publishing.assertComplete(found.manifest.version, found.collections, this.#collections);
      const entry = { id, manifest: found.manifest, readers: 0, lost: false };
      this.#entries.set(id, entry);
      return entry;
    });
  }

  #write(): Promise<void> {
    return this.#locks.keep([...new Set([...this.#entries.keys(), ...this.#taking.keys()])], async () => {
      for (const [id, entry] of this.#entries) entry.lost ||= !(await this.#catalog.acquire(id));
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
