import {
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
import type { StoredCollection } from './catalog.js';
import type { ReadConnection } from './connection.js';
import type { LongReads } from './long-reads.js';
import { type Select, selectAhead, selectFound, selectKey, selectRows, skipsEntries } from './query.js';
import type { Reader } from './readers.js';
import type { Value } from './threaded-database.js';
import { groupsOf, selectTotals } from './totals.js';

const { lastDocument, positionOf } = positions;

/** Documents per query. Reading 250 documents takes 0.1 ms as text and 0.3 ms as objects. */
const BATCH = 250;
/** Index entries scanned per query. Scanning 2,000 entries takes about 0.5 ms. */
const WINDOW = 2000;
const LINE_END = 0x0a;
const COMMA = 0x2c;

interface Source {
  readonly connection: ReadConnection;
  readonly totals: LongReads;
  readonly searches: LongReads;
  readonly table: StoredCollection;
  readonly signal: AbortSignal | undefined;
}

/** Newlines separate the rows, and never occur in the JSON of a row. */
const rowsOf = (text: Value): JsonRows => {
  if (text === null) return { json: Buffer.alloc(0), ends: [] };
  const json = text as unknown as Buffer;
  const ends: number[] = [];
  for (let end = json.indexOf(LINE_END); end !== -1; end = json.indexOf(LINE_END, end + 1)) {
    ends.push(end);
    json[end] = COMMA;
  }
  ends.push(json.length);
  return { json, ends };
};

const parse = ({ json }: JsonRows): readonly Document[] => JSON.parse(`[${json}]`);
const asText = (rows: JsonRows): JsonRows => rows;

/** All snapshots share this function, so that V8 compiles the function only once. */
async function* batchesOf<Batch>(
  source: () => Source,
  query: Query,
  convert: (rows: JsonRows) => Batch,
): AsyncGenerator<Batch> {
  let { after, limit: left = Number.POSITIVE_INFINITY } = query;
  // Without this call, a list with the limit 0 of a closed adapter would be empty.
  if (left === 0) source();
  while (left > 0) {
    const from = source();
    const { connection, table } = from;
    const rest = after ? { ...query, after } : query;
    const size = Math.min(BATCH, left);
    const end = skipsEntries(query) && !query.words ? aheadOf(connection, table, rest) : undefined;
    const rows = query.words
      ? await foundRows(from, rest, size)
      : rowsIn(connection, selectRows(table, rest, size, end));
    const count = rows.ends.length;
    left -= count;
    if (count === size && left > 0) after = positionOf(query, lastDocument(rows));
    yield convert(rows);
    if (count === size) continue;
    if (!end) return;
    after = end;
  }
}

const rowsIn = (connection: ReadConnection, { sql, values }: Select): JsonRows =>
  rowsOf(connection.row(sql, values)![0]!);

const foundRows = async ({ searches, table, signal }: Source, query: Query, limit: number): Promise<JsonRows> => {
  const { sql, values } = selectFound(table, query, limit);
  const [[text] = [null]] = await searches.rows(sql, values, signal);
  return rowsOf(text!);
};

const aheadOf = (connection: ReadConnection, table: StoredCollection, query: Query): readonly Scalar[] | undefined => {
  const { sql, values } = selectAhead(table, query, WINDOW);
  const found = connection.row(sql, values);
  return found && positionOf(query, JSON.parse(String(found[0])));
};

export class SqliteSnapshot implements Snapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  readonly searches = true;
  readonly #reader: Reader;
  readonly #assertOpen: () => void;
  #released = false;

  /** @param reader must already be retained for this snapshot */
  constructor(reader: Reader, publishedAt: Date, assertOpen: () => void) {
    this.version = reader.stored.version;
    this.manifest = reader.stored.manifest;
    this.publishedAt = publishedAt;
    this.#reader = reader;
    this.#assertOpen = assertOpen;
  }

  async get(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined> {
    const json = await this.getJson(name, key, signal);
    return json === undefined ? undefined : JSON.parse(json);
  }

  async getJson(name: string, key: readonly Scalar[], signal?: AbortSignal): Promise<string | undefined> {
    const { connection, table } = this.#source(name, signal);
    return connection.row(selectKey(table), key)?.[0] as string | undefined;
  }

  find(name: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]> {
    return batchesOf(() => this.#source(name, signal), query, parse);
  }

  findJson(name: string, query: Query, signal?: AbortSignal): AsyncIterable<JsonRows> {
    return batchesOf(() => this.#source(name, signal), query, asText);
  }

  async totals(
    name: string,
    query: TotalsQuery,
    signal?: AbortSignal,
    onWait?: () => () => void,
  ): Promise<readonly Group[]> {
    const { totals, table } = this.#source(name, signal);
    const { sql, values } = selectTotals(table, query);
    const rows = await totals.rows(sql, values, signal, onWait);
    this.#assertOpen();
    return groupsOf(rows, query, this.#reader.declared.get(name)!);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#reader.holds--;
  }

  #source(name: string, signal: AbortSignal | undefined): Source {
    this.#assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
    const { connection, totals, searches, stored, declared } = this.#reader;
    const table = declared.has(name) ? stored.collections[name] : undefined;
    if (!table) throw new StorageError('unknown_collection', `No plugin declares the collection "${name}".`);
    return { connection, totals, searches, table, signal };
  }
}
