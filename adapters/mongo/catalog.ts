/**
 * The catalog: one document with everything that must change together, so that each change is one atomic
 * update of it. No transaction is needed, and a publisher that was suspended for long and then continues does no harm,
 * since its update no longer matches.
 */
import type { ChangeStream, Collection as MongoCollection, UpdateFilter, UpdateResult } from 'mongodb';
import type { Connection } from './connection.js';

/** A version and the time from which it is, or was, the current one. */
export interface Publication {
  readonly id: number;
  readonly version: string;
  readonly publishedAt: Date;
}

export interface CatalogDocument {
  readonly _id: 'catalog';
  /**
   * The id that was given out last. Ids are never reused, so that a deleted version stays deleted: a catalog begins at
   * the time of its creation, so that one created after an accident reuses no ids either.
   */
  readonly sequence: number;
  readonly lock: { readonly owner: string; readonly id: number; readonly expires: Date } | null;
  readonly current: Publication | null;
  /** All versions that can be read, oldest publication first. Any other version can be deleted unless it is locked. */
  readonly versions: readonly Publication[];
  /** Every move of the pointer, oldest first: what was current when. */
  readonly moves: readonly Publication[];
}

const EMPTY = { _id: 'catalog', sequence: 0, lock: null, current: null, versions: [], moves: [] } as const;

/** Adds to the server's time, so that the clocks of replicas and publishers do not matter. */
export const fromNow = (ms: number) => ({ $add: ['$$NOW', ms] });

export class Catalog {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The pointer by majority read, which no election can take back. */
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

  /** Tells of every change; a `getMore` waits for `waitMs`. */
  watch(waitMs: number): ChangeStream {
    return this.#connection.db.collection('catalog').watch([], { maxAwaitTimeMS: waitMs });
  }

  /** The versions among `ids` that can still be read. */
  async existing(ids: readonly number[]): Promise<ReadonlySet<number>> {
    const { versions } = await this.read();
    const all = new Set(versions.map(({ id }) => id));
    return new Set(ids.filter((id) => all.has(id)));
  }

  /** Takes the publishers' lock and an id; undefined while somebody else has it. */
  async lock(owner: string, ms: number): Promise<CatalogDocument | undefined> {
    await this.#run('make the catalog', (catalog) =>
      catalog.updateOne({ _id: 'catalog' }, { $setOnInsert: { ...EMPTY, sequence: Date.now() } }, { upsert: true }),
    );
    const free = { $or: [{ lock: null }, { $expr: { $lte: ['$lock.expires', '$$NOW'] } }] };
    const id = { $add: ['$sequence', 1] };
    // Lists that somebody has damaged by hand begin anew, so that a publication repairs the catalog.
    const [versions, moves] = ['$versions', '$moves'].map((list) => ({ $cond: [{ $isArray: list }, list, []] }));
    const take = [{ $set: { sequence: id, lock: { owner, id, expires: fromNow(ms) }, versions, moves } }];
    const taken = await this.#run('lock the catalog', (catalog) =>
      catalog.findOneAndUpdate({ _id: 'catalog', ...free }, take, { returnDocument: 'after' }),
    );
    return taken ?? undefined;
  }

  /** Returns whether the lock was still ours. */
  renew(owner: string, ms: number): Promise<boolean> {
    return this.#update('renew the lock', { 'lock.owner': owner }, [{ $set: { 'lock.expires': fromNow(ms) } }]);
  }

  async unlock(owner: string): Promise<void> {
    await this.#update('unlock the catalog', { 'lock.owner': owner }, { $set: { lock: null } });
  }

  /** Adds a version and points at it, if the lock is still ours and the pointer still where it was at `previous`. */
  commit(owner: string, publication: Publication, previous: Publication | null): Promise<boolean> {
    return this.#update(
      'move the pointer',
      { 'lock.owner': owner, current: previous, 'versions.version': { $ne: publication.version } },
      { $set: { current: publication, lock: null }, $push: { versions: publication, moves: publication } },
    );
  }

  /** Points at a publication that takes the place of a damaged one with the same rows, in the list and in the history. */
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

  /** Points at a version that is there, if the pointer is still where it was at `previous`. */
  activate(publication: Publication, previous: Publication | null): Promise<boolean> {
    return this.#update(
      'move the pointer',
      { 'versions.id': publication.id, current: previous },
      { $set: { current: publication }, $push: { moves: publication } },
    );
  }

  /** Takes a version out for good, if it is not the current one. */
  remove(id: number): Promise<boolean> {
    return this.#update(
      'remove a version',
      { 'current.id': { $ne: id }, 'versions.id': id },
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
