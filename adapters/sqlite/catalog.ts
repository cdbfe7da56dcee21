/**
 * The tables of the database:
 * - `version`: `published_at` is null until the version has been published.
 * - `move`: the activations, oldest first. The last one identifies the current version.
 * - `rows_<version>_<number>`: the rows of one collection in key order. The column `json` contains the row. The columns
 *   `c0`, `c1`, ... contain its key fields, order fields and numbers. Each order has an index.
 * - `rows_<version>_<number>_words`: the full-text index, if the collection declares a search.
 *
 * Row tables never change once they are written. If a table is dropped, processes that are reading it can continue,
 * because their transactions began earlier.
 */
import { existsSync } from 'node:fs';
import { type Manifest, StorageError } from 'metro-forecast-api/adapter';
import { ReadConnection, type ThreadedConnection } from './connection.js';
import type { Row } from './threaded-database.js';

/** Identifies databases that this adapter created. SQLite stores this number in the file header. */
const APPLICATION_ID = 0x4d465631;
const FORMAT = 1;
/**
 * The page size. With the default of 4 KB, an import makes twice as many system calls. Existing databases keep their
 * page size.
 */
const PAGE_BYTES = 8192;

const SCHEMA = `
CREATE TABLE version (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, published_at INTEGER, manifest TEXT NOT NULL,
  collections TEXT NOT NULL
);
CREATE UNIQUE INDEX version_name ON version(name) WHERE published_at IS NOT NULL;
CREATE TABLE move (n INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, at INTEGER NOT NULL);
CREATE TABLE data_audit (n INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
CREATE TABLE audit_head (name TEXT PRIMARY KEY, hash TEXT NOT NULL);
CREATE TABLE api_key (
  id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, record TEXT NOT NULL, change INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX api_key_change ON api_key(change);
CREATE TABLE api_key_changes (n INTEGER NOT NULL);
INSERT INTO api_key_changes VALUES (0);
CREATE TRIGGER api_key_inserted AFTER INSERT ON api_key BEGIN
  UPDATE api_key_changes SET n = n + 1;
  UPDATE api_key SET change = (SELECT n FROM api_key_changes) WHERE id = new.id;
END;
CREATE TRIGGER api_key_updated AFTER UPDATE OF id, hash, record ON api_key BEGIN
  UPDATE api_key_changes SET n = n + 1;
  UPDATE api_key SET change = (SELECT n FROM api_key_changes) WHERE id = new.id;
END;
CREATE TABLE api_key_audit (n INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
CREATE TABLE api_key_use (id TEXT PRIMARY KEY, at INTEGER NOT NULL);
`;

export interface StoredCollection {
  readonly table: string;
  readonly rows: number;
  /** The SHA-256 of all rows in key order as NDJSON. */
  readonly sha256: string;
  /** The fields in the columns `c0`, `c1` and so on. */
  readonly fields: readonly string[];
  /** The fields of the indexes `<table>_0`, `<table>_1` and so on. The first index is the key. */
  readonly orders: readonly (readonly string[])[];
  readonly search?: readonly string[];
}

export interface StoredVersion {
  readonly id: number;
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  readonly collections: Readonly<Record<string, StoredCollection>>;
}

export interface Activation {
  readonly versionId: number;
  readonly activatedAt: Date;
}

export const tableOf = (id: number, index: number): string => `rows_${id}_${index}`;

/** The full-text index has the same row ids as the table. */
export const wordsTable = (table: string): string => `${table}_words`;

const COLUMNS = 'id, name, published_at, manifest, collections';

const versionOf = ([id, version, publishedAt, manifest, collections]: Row): StoredVersion => ({
  id: Number(id),
  version: String(version),
  publishedAt: new Date(Number(publishedAt)),
  manifest: JSON.parse(String(manifest)),
  collections: JSON.parse(String(collections)),
});

const activationOf = ([id, at]: Row): Activation => ({ versionId: Number(id), activatedAt: new Date(Number(at)) });

const LAST_ACTIVATION = 'SELECT version, at FROM move ORDER BY n DESC LIMIT 1';
const VERSIONS = `SELECT ${COLUMNS} FROM version WHERE published_at IS NOT NULL ORDER BY id DESC`;

const HEADER =
  'SELECT (SELECT count(*) FROM sqlite_schema), (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version)';

/** @throws StorageError `unavailable` if another application or a later version of this adapter wrote the database */
const isNew = (path: string, [tables, application, format]: Row): boolean => {
  if (tables === 0 && application === 0) return true;
  if (application !== APPLICATION_ID) {
    throw new StorageError('unavailable', `The database ${path} belongs to another application. Name another file.`);
  }
  if (Number(format) <= FORMAT) return false;
  throw new StorageError('unavailable', `The database ${path} was written by a later version of this program.`);
};

/**
 * Returns undefined if the database file is missing or empty.
 * @throws StorageError `unavailable` if the database cannot be read or was not created by this adapter
 */
export const openStore = (path: string): ReadConnection | undefined => {
  if (!existsSync(path)) return undefined;
  const connection = ReadConnection.open(path);
  let isStore = false;
  try {
    isStore = !isNew(path, connection.row(HEADER)!);
    return isStore ? connection : undefined;
  } finally {
    if (!isStore) connection.close();
  }
};

export const prepareStore = async (
  path: string,
  connection: ThreadedConnection,
  journal: 'WAL' | 'OFF' = 'WAL',
): Promise<void> => {
  const [header] = await connection.rows(HEADER);
  if (!isNew(path, header!)) return;
  await connection.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = ${journal}`);
  await connection.transaction(async () => {
    // Another process might have created the tables in the meantime.
    const [[now] = []] = await connection.rows('SELECT count(*) FROM sqlite_schema');
    if (now !== 0) return;
    await connection.exec(`${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`);
  });
};

export const readCurrent = (connection: ReadConnection): Activation | undefined => {
  const found = connection.row(LAST_ACTIVATION);
  return found && activationOf(found);
};

export const readActivationAt = (connection: ReadConnection, time: Date): Activation | undefined => {
  const found = connection.row('SELECT version, at FROM move WHERE at <= ? ORDER BY n DESC LIMIT 1', [time.getTime()]);
  return found && activationOf(found);
};

export const readVersion = (connection: ReadConnection, id: number): StoredVersion | undefined => {
  const found = connection.row(`SELECT ${COLUMNS} FROM version WHERE id = ?`, [id]);
  return found && versionOf(found);
};

export const hasVersion = (connection: ReadConnection, id: number): boolean =>
  connection.row('SELECT 1 FROM version WHERE id = ?', [id]) !== undefined;

export interface Catalog {
  readonly versions: readonly StoredVersion[];
  readonly current: Activation | undefined;
}

export const readCatalog = async (connection: ThreadedConnection): Promise<Catalog> => {
  const versions = await connection.rows(VERSIONS);
  const [current] = await connection.rows(LAST_ACTIVATION);
  return { versions: versions.map(versionOf), current: current && activationOf(current) };
};

/** Works like `readCatalog`, but runs synchronously and in its own transaction. */
export const readCatalogNow = (connection: ReadConnection): Catalog => {
  connection.pin();
  try {
    return { versions: connection.rows(VERSIONS).map(versionOf), current: readCurrent(connection) };
  } finally {
    connection.unpin();
  }
};

export const currentName = ({ versions, current }: Catalog): string | null =>
  versions.find(({ id }) => id === current?.versionId)?.version ?? null;

export const addActivation = (
  connection: ThreadedConnection,
  { versionId, activatedAt }: Activation,
): Promise<number> => connection.run('INSERT INTO move (version, at) VALUES (?, ?)', versionId, activatedAt.getTime());

export const dropUnlisted = async (connection: ThreadedConnection): Promise<void> => {
  const tables = await connection.rows(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'rows_[0-9]*_[0-9]*'`,
  );
  const ids = new Set((await connection.rows('SELECT id FROM version')).map(([id]) => Number(id)));
  for (const [name] of tables) {
    // SQLite drops the internal tables of a full-text index with the index, so only the name of the index must match.
    const [, id] = /^rows_(\d+)_\d+(?:_words)?$/.exec(String(name)) ?? [];
    if (id !== undefined && !ids.has(Number(id))) await connection.exec(`DROP TABLE IF EXISTS "${name}"`);
  }
};
