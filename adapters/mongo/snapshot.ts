/** Reads of one held version: one indexed query each. */
import type { Collection as MongoCollection } from 'mongodb';
import type { Collection, Document, Manifest } from '../../core/contracts/dataset.js';
import type { Query, Scalar, Snapshot } from '../../core/contracts/storage.js';
import { StorageError } from '../../core/errors.js';
import type { Publication } from './catalog.js';
import type { Connection } from './connection.js';
import type { HeldVersion, HeldVersions } from './held-versions.js';
import { dataCollection, planFind, planGet, type Row } from './layout.js';

export interface SnapshotContext {
  readonly connection: Connection;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly held: HeldVersions;
  readonly batchSize: number;
  /** Throws once the adapter is closed. */
  assertOpen(): void;
}

export class MongoSnapshot implements Snapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  readonly #context: SnapshotContext;
  readonly #held: HeldVersion;
  #released = false;

  /** Takes over one reader's hold on `held`. */
  constructor(context: SnapshotContext, held: HeldVersion, { version, publishedAt }: Publication) {
    this.version = version;
    this.publishedAt = publishedAt;
    this.manifest = held.manifest;
    this.#context = context;
    this.#held = held;
  }

  async get(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined> {
    const { filter, options } = planGet(this.#collection(name), key);
    const found = await this.#read(name, signal, (rows) => rows.findOne(filter, options));
    return found?.d;
  }

  async *find(name: string, query: Query, signal?: AbortSignal): AsyncGenerator<readonly Document[]> {
    this.#collection(name);
    // To MongoDB a limit of 0 is none.
    if (query.limit === 0) return;
    const { filter, options } = planFind(query, this.#context.batchSize);
    const cursor = this.#rows(name).find(filter, options);
    try {
      while (await this.#read(name, signal, () => cursor.hasNext())) {
        yield cursor.readBufferedDocuments().map(({ d }) => d);
      }
    } finally {
      // Nobody waits for a server that hangs to close it.
      cursor.close().catch(() => undefined);
    }
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#context.held.release(this.#held);
  }

  async #read<T>(name: string, signal: AbortSignal | undefined, work: (rows: MongoCollection<Row>) => Promise<T>) {
    const { connection, held, assertOpen } = this.#context;
    assertOpen();
    try {
      const result = await connection.run(`read "${name}"`, () => work(this.#rows(name)), signal);
      held.assertReadable(this.#held);
      return result;
    } catch (error) {
      assertOpen();
      throw error;
    }
  }

  #rows(name: string): MongoCollection<Row> {
    return this.#context.connection.db.collection<Row>(dataCollection(this.#held.id, name));
  }

  #collection(name: string): Collection {
    const collection = this.#context.collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
    return collection;
  }
}
