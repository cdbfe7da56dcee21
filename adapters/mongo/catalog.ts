/**
 * The catalog lists the versions of the dataset. Each change is an atomic update of a single document. Updates have no
 * effect if the publisher has lost the lock.
 */
import type {
  ChangeStream,
  ChangeStreamDocument,
  Collection as MongoCollection,
  UpdateFilter,
  UpdateResult,
} from 'mongodb';
import type { Connection } from './connection.js';

export interface Publication {
  readonly id: number;
  readonly version: string;
  readonly publishedAt: Date;
}

export interface StoredPublication extends Publication {
  /** Number of times that replicas have locked the version. Undefined before the first lock. */
  readonly acquisitions?: number;
}

export interface CatalogDocument {
  readonly _id: 'catalog';
  /**
   * The last version id. Ids are never reused. If the catalog was deleted, a new catalog starts counting at its
   * creation time in milliseconds.
   */
  readonly sequence: number;
  readonly lock: { readonly owner: string; readonly id: number; readonly expires: Date } | null;
  readonly current: Publication | null;
  /** The readable versions, oldest first. Other versions are deleted unless a replica has locked them. */
  readonly versions: readonly StoredPublication[];
  /** All versions that have been current, oldest first. */
  readonly moves: readonly Publication[];
}

const EMPTY = { _id: 'catalog', sequence: 0, lock: null, current: null, versions: [], moves: [] } as const;

/** Returns a time by the server's clock, so that the clocks of replicas and publishers do not matter. */
export const fromNow = (ms: number) => ({ $add: ['$$NOW', ms] });

/** Returns false for changes that polls do not read, such as the renewal of a lock. */
export const isMove = (change: ChangeStreamDocument): boolean =>
  change.operationType !== 'update' ||
  Object.keys(change.updateDescription.updatedFields ?? {}).some((field) => /^current\b/.test(field));

export class Catalog {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Uses majority read concern, so that an election cannot roll back the version that was read. */
  async current(signal?: AbortSignal): Promise<Publication | undefined> {
    const options = { projection: { current: 1 }, readConcern: { level: 'majority' } } as const;
    const found = await this.#run(
      'read the catalog',
      (catalog) => catalog.findOne({ _id: 'catalog' }, options),
      signal,
    );
    return found?.current ?? undefined;
  }

  async read(): Promise<CatalogDocument> {
    return (await this.#run('read the catalog', (catalog) => catalog.findOne({ _id: 'catalog' }))) ?? EMPTY;
  }

  watch(waitMs: number): Promise<ChangeStream> {
    return this.#connection.watch('catalog', waitMs);
  }

  /** Resolves with undefined if another publisher holds the lock. */
  async lock(owner: string, ms: number): Promise<CatalogDocument | undefined> {
    await this.#run('create the catalog', (catalog) =>
      catalog.updateOne({ _id: 'catalog' }, { $setOnInsert: { ...EMPTY, sequence: Date.now() } }, { upsert: true }),
    );
    const free = { $or: [{ lock: null }, { $expr: { $lte: ['$lock.expires', '$$NOW'] } }] };
    const id = { $add: ['$sequence', 1] };
    // A manual edit might have replaced a list with another value.
    const [versions, moves] = ['$versions', '$moves'].map((list) => ({ $cond: [{ $isArray: list }, list, []] }));
    const take = [{ $set: { sequence: id, lock: { owner, id, expires: fromNow(ms) }, versions, moves } }];
    const taken = await this.#run('lock the catalog', (catalog) =>
      catalog.findOneAndUpdate({ _id: 'catalog', ...free }, take, { returnDocument: 'after' }),
    );
    return taken ?? undefined;
  }

  renew(owner: string, ms: number): Promise<boolean> {
    return this.#update('renew the lock', { 'lock.owner': owner }, [{ $set: { 'lock.expires': fromNow(ms) } }]);
  }

  async unlock(owner: string): Promise<void> {
    await this.#update('unlock the catalog', { 'lock.owner': owner }, { $set: { lock: null } });
  }

  /** Adds a version and makes it current, if `owner` still holds the lock and `previous` is still current. */
  commit(owner: string, publication: Publication, previous: Publication | null): Promise<boolean> {
    return this.#update(
      'move the pointer',
      { 'lock.owner': owner, current: previous, 'versions.version': { $ne: publication.version } },
      { $set: { current: publication, lock: null }, $push: { versions: publication, moves: publication } },
    );
  }

  /**
   * Replaces a damaged publication of the same rows, if `owner` still holds the lock and `previous` is still current.
   */
  replace(
    owner: string,
    publication: Publication,
    previous: Publication | null,
    damaged: Publication,
  ): Promise<boolean> {
    const added = { $literal: publication };
    const others = { $filter: { input: '$versions', cond: { $ne: ['$$this.id', damaged.id] } } };
    const isDamaged = { $eq: ['$$this.id', damaged.id] };
    const mended = { $cond: [isDamaged, { $mergeObjects: ['$$this', { id: publication.id }] }, '$$this'] };
    return this.#update('move the pointer', { 'lock.owner': owner, current: previous, 'versions.id': damaged.id }, [
      {
        $set: {
          current: added,
          lock: null,
          versions: { $concatArrays: [others, [added]] },
          moves: { $concatArrays: [{ $map: { input: '$moves', in: mended } }, [added]] },
        },
      },
    ]);
  }

  activate(publication: Publication, previous: Publication | null): Promise<boolean> {
    return this.#update(
      'move the pointer',
      { 'versions.id': publication.id, current: previous },
      { $set: { current: publication }, $push: { moves: publication } },
    );
  }

  async rewrite(versions: readonly Publication[], moves: readonly Publication[]): Promise<void> {
    const content = { versions, moves, current: moves.at(-1) ?? null };
    await this.#run('rewrite the catalog', (catalog) => catalog.updateOne({ _id: 'catalog' }, { $set: content }));
  }

  /** Increments the number of locks on a version. Resolves with false if the version was deleted. */
  countLock(id: number): Promise<boolean> {
    return this.#update('lock a version', { 'versions.id': id }, { $inc: { 'versions.$.acquisitions': 1 } });
  }

  /** Removes a version, unless it has become current or was locked since `stored` was read. */
  remove({ id, acquisitions }: StoredPublication): Promise<boolean> {
    // A condition with null also matches a missing field.
    const unchanged = { $elemMatch: { id, acquisitions: acquisitions ?? null } };
    return this.#update(
      'remove a version',
      { 'current.id': { $ne: id }, versions: unchanged },
      { $pull: { versions: { id } } },
    );
  }

  async #update(
    what: string,
    condition: Record<string, unknown>,
    change: UpdateFilter<CatalogDocument> | object[],
  ): Promise<boolean> {
    const result: UpdateResult = await this.#run(what, (catalog) =>
      catalog.updateOne({ _id: 'catalog', ...condition }, change as UpdateFilter<CatalogDocument>),
    );
    return result.matchedCount === 1;
  }

  #run<T>(what: string, work: (catalog: MongoCollection<CatalogDocument>) => Promise<T>, signal?: AbortSignal) {
    return this.#connection.run(what, (db) => work(db.collection<CatalogDocument>('catalog')), signal);
  }
}
