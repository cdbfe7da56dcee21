/** The versions that this replica reads, counted by their readers. */
import type { Collection, Manifest } from '../../core/contracts/dataset.js';
import type { AdapterContext } from '../../core/contracts/storage.js';
import { StorageError } from '../../core/errors.js';
import type { Catalog } from './catalog.js';
import type { Connection } from './connection.js';
import { Holds } from './holds.js';
import { ordersOf } from './layout.js';

/** What a version holds, as its publisher found it. */
export interface VersionDocument {
  readonly _id: number;
  readonly manifest: Manifest;
  readonly collections: Readonly<
    Record<string, { readonly rows: number; readonly sha256: string; readonly orders: readonly (readonly string[])[] }>
  >;
}

export interface HeldVersion {
  readonly id: number;
  readonly manifest: Manifest;
}

interface Entry extends HeldVersion {
  readers: number;
  /** It was pruned while this replica could not renew its holds. */
  lost: boolean;
}

export class HeldVersions {
  readonly #connection: Connection;
  readonly #catalog: Catalog;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #holds: Holds;
  readonly #entries = new Map<number, Entry>();
  /** Ids whose hold is being taken. */
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
    this.#holds = new Holds(connection, clock, holdMs);
  }

  /**
   * Holds a version for one more reader; undefined when it is no longer there.
   * Rejects with `invalid_dataset` for one that was published without a collection or order that is declared here.
   */
  async acquire(id: number): Promise<HeldVersion | undefined> {
    for (;;) {
      const entry = this.#entries.get(id);
      if (entry && !entry.lost) return this.retain(entry);
      const taking = this.#taking.get(id) ?? this.#take(id).finally(() => this.#taking.delete(id));
      this.#taking.set(id, taking);
      if (!(await taking)) return undefined;
    }
  }

  /** One more reader of a version that is held. */
  retain<Held extends HeldVersion>(version: Held): Held {
    (version as unknown as Entry).readers++;
    return version;
  }

  /** Without readers a version stays held until the next `keep`, for whoever asks for it again at once. */
  release(version: HeldVersion): void {
    (version as Entry).readers--;
  }

  /** Throws unless what has just been read of a version can be relied upon. */
  assertReadable(version: HeldVersion): void {
    if ((version as Entry).lost) {
      throw new StorageError(
        'unavailable',
        `The version ${version.manifest.version} was pruned while MongoDB was away.`,
      );
    }
    if (!this.#holds.inForce) {
      throw new StorageError('unavailable', 'The hold on the version has run out: MongoDB has been away for too long.');
    }
  }

  /** Lets go of versions without readers, and renews the hold on the others. */
  keep(): Promise<void> {
    return this.#serially(() => {
      for (const [id, entry] of this.#entries) if (entry.readers === 0) this.#entries.delete(id);
      return this.#write();
    });
  }

  async end(): Promise<void> {
    await this.#serially(() => this.#holds.end());
  }

  #take(id: number): Promise<Entry | undefined> {
    return this.#serially(async () => {
      await this.#write();
      if (!(await this.#catalog.existing([id])).has(id)) return undefined;
      const found = await this.#connection.run('read a version', (db) =>
        db.collection<VersionDocument>('versions').findOne({ _id: id }),
      );
      if (!found) return undefined;
      this.#assertComplete(found);
      const entry = { id, manifest: found.manifest, readers: 0, lost: false };
      this.#entries.set(id, entry);
      return entry;
    });
  }

  #write(): Promise<void> {
    return this.#holds.keep([...new Set([...this.#entries.keys(), ...this.#taking.keys()])], async () => {
      if (this.#entries.size === 0) return;
      const existing = await this.#catalog.existing([...this.#entries.keys()]);
      for (const [id, entry] of this.#entries) entry.lost ||= !existing.has(id);
    });
  }

  /** A collection that was not published would look empty, and an order without its index would be sorted in memory. */
  #assertComplete({ manifest, collections }: VersionDocument): void {
    const missing = [...this.#collections.values()].flatMap((collection) => {
      const there = collections[collection.name]?.orders.map((order) => order.join());
      if (!there) return [`the collection "${collection.name}"`];
      const orders = ordersOf(collection).filter((order) => !there.includes(order.join()));
      return orders.map((order) => `the order [${order.join(', ')}] of "${collection.name}"`);
    });
    if (missing.length === 0) return;
    throw new StorageError(
      'invalid_dataset',
      `The version ${manifest.version} was published without ${missing.join(', ')}: publish the dataset again with this config.`,
    );
  }

  /** One after the other: each write of the holds must carry what the one before it added. */
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
