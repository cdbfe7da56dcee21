/** Reads one version. Each read is a few short queries, which run in the event loop. */
import {
  type Document,
  type Manifest,
  type Query,
  type Scalar,
  type Snapshot,
  StorageError,
} from 'metro-forecast-api/adapter';
import type { StoredCollection } from './catalog.js';
import type { ReadConnection } from './connection.js';
import { positionOf, selectAhead, selectKey, selectRows, skipsEntries } from './query.js';
import type { Reader } from './readers.js';

/** Documents in a batch: reading one takes 0.1 to 0.2 ms. */
const BATCH = 100;
/** Index entries that one query searches: about 0.5 ms. */
const WINDOW = 2000;

interface Source {
  readonly connection: ReadConnection;
  readonly table: StoredCollection;
}

/** Declared here and not in each snapshot, so that V8 compiles it once. */
async function* batchesOf(source: () => Source, query: Query): AsyncGenerator<readonly Document[]> {
  let { after, limit: left = Number.POSITIVE_INFINITY } = query;
  const from = () => (after ? { ...query, after } : query);
  while (left > 0) {
    const { connection, table } = source();
    const size = Math.min(BATCH, left);
    const end = skipsEntries(query) ? aheadOf(connection, table, from()) : undefined;
    const { sql, values } = selectRows(table, from(), size, end);
    const [json] = connection.row(sql, values)!;
    const documents: readonly Document[] = json === null ? [] : JSON.parse(`[${json}]`);
    yield documents;
    if (documents.length === size) after = positionOf(query, documents.at(-1)!);
    else if (end) after = end;
    else return;
    left -= documents.length;
  }
}

/** The position of the index entry `WINDOW` entries further on. Undefined if fewer are left. */
const aheadOf = (connection: ReadConnection, table: StoredCollection, query: Query): readonly Scalar[] | undefined => {
  const { sql, values } = selectAhead(table, query, WINDOW);
  const found = connection.row(sql, values);
  return found && positionOf(query, JSON.parse(String(found[0])));
};

export class SqliteSnapshot implements Snapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  readonly #reader: Reader;
  readonly #assertOpen: () => void;
  #released = false;

  /**
   * @param reader retained by the caller for this snapshot, and released by `release()`
   * @param assertOpen throws `closed` once the adapter is closed
   */
  constructor(reader: Reader, publishedAt: Date, assertOpen: () => void) {
    this.version = reader.stored.version;
    this.manifest = reader.stored.manifest;
    this.publishedAt = publishedAt;
    this.#reader = reader;
    this.#assertOpen = assertOpen;
  }

  async get(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined> {
    const { connection, table } = this.#source(name, signal);
    const found = connection.row(selectKey(table), key);
    return found && JSON.parse(String(found[0]));
  }

  find(name: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]> {
    return batchesOf(() => this.#source(name, signal), query);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#reader.holds--;
  }

  #source(name: string, signal: AbortSignal | undefined): Source {
    this.#assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
    const { connection, stored, declared } = this.#reader;
    const table = declared.has(name) ? stored.collections[name] : undefined;
    if (!table) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
    return { connection, table };
  }
}
