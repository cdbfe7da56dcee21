import {
  type Collection,
  type Document,
  type Group,
  type JsonRows,
  type Manifest,
  positions,
  type Query,
  type Scalar,
  type Snapshot,
  StorageError,
  type TotalsQuery,
} from 'metro-forecast-api/adapter';
import type { Collection as MongoCollection } from 'mongodb';
import type { Publication } from './catalog.js';
import type { Connection } from './connection.js';
import { dataCollection, jsonOf, planFind, planGet, type Row } from './layout.js';
import { type GroupDocument, groupsOf, planTotals } from './totals.js';
import type { LockedVersion, LockedVersions } from './version-locks.js';

const { lastDocument, positionOf } = positions;

interface SnapshotContext {
  readonly connection: Connection;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly locks: LockedVersions;
  readonly batchSize: number;
  assertOpen(): void;
}

export class MongoSnapshot implements Snapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  readonly searches = true;
  readonly #context: SnapshotContext;
  readonly #locked: LockedVersion;
  /** Driver collections are cached, because creating one costs half as much as a read. */
  readonly #handles = new Map<string, MongoCollection<Row>>();
  #released = false;

  constructor(context: SnapshotContext, locked: LockedVersion, { version, publishedAt }: Publication) {
    this.version = version;
    this.publishedAt = publishedAt;
    this.manifest = locked.manifest;
    this.#context = context;
    this.#locked = locked;
  }

  async get(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined> {
    const json = await this.getJson(name, key, signal);
    return json === undefined ? undefined : JSON.parse(json);
  }

  async getJson(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<string | undefined> {
    const { filter, options } = planGet(this.#collection(name), key);
    const { connection } = this.#context;
    this.#context.assertOpen();
    try {
      const found = await connection.find(`read "${name}"`, this.#rows(name), filter, options, signal);
      this.#context.locks.assertReadable(this.#locked);
      const { json, ends } = jsonOf(found.documents);
      return ends.length === 0 ? undefined : json.toString();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async *find(name: string, query: Query, signal?: AbortSignal): AsyncGenerator<readonly Document[]> {
    for await (const { json } of this.findJson(name, query, signal)) yield JSON.parse(`[${json}]`) as Document[];
  }

  async *findJson(name: string, query: Query, signal?: AbortSignal): AsyncGenerator<JsonRows> {
    this.#collection(name);
    const { connection, batchSize } = this.#context;
    let { after, limit: left = Number.POSITIVE_INFINITY } = query;
    // A limit of 0 means no limit in MongoDB, but no documents in the adapter contract.
    if (left === 0) this.#context.assertOpen();
    while (left > 0) {
      this.#context.assertOpen();
      const size = Math.min(left, batchSize);
      const { filter, options } = planFind(after ? { ...query, after } : query, size);
      try {
        const found = await connection.find(`read "${name}"`, this.#rows(name), filter, options, signal);
        // If a collection has been dropped, reads find nothing, without an error.
        this.#context.locks.assertReadable(this.#locked);
        const rows = jsonOf(found.documents);
        const { ends } = rows;
        left = ends.length === size || found.isCut ? left - ends.length : 0;
        if (left > 0) after = positionOf(query, lastDocument(rows));
        if (after?.length === 0) left = 0;
        if (ends.length > 0) yield rows;
      } catch (error) {
        throw this.#failure(error);
      }
    }
  }

  async totals(name: string, query: TotalsQuery, signal?: AbortSignal): Promise<readonly Group[] | undefined> {
    this.#collection(name);
    const { connection } = this.#context;
    this.#context.assertOpen();
    try {
      const rows = this.#rows(name) as unknown as MongoCollection<never>;
      const found = await connection.aggregate<GroupDocument>(`total "${name}"`, rows, planTotals(query), signal);
      this.#context.locks.assertReadable(this.#locked);
      return found && groupsOf(found, query);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#context.locks.removeReader(this.#locked);
  }

  #failure(error: unknown): unknown {
    this.#context.assertOpen();
    return error;
  }

  #rows(name: string): MongoCollection<Row> {
    let handle = this.#handles.get(name);
    if (!handle) {
      handle = this.#context.connection.readDb.collection<Row>(dataCollection(this.#locked.id, name));
      this.#handles.set(name, handle);
    }
    return handle;
  }

  #collection(name: string): Collection {
    const collection = this.#context.collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
    return collection;
  }
}
