/**
 * Connections to SQLite. Short reads take microseconds and are synchronous. Writes and long reads run on a driver
 * thread, so that they do not block the event loop.
 */
import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { files, StorageError } from 'metro-forecast-api/adapter';
import { codeOf, fileId, isSchemaChange, storageError } from './problems.js';
import { type Bound, type Row, ThreadedDatabase, type Value } from './threaded-database.js';

interface Statement {
  raw(): Statement;
  get(values: readonly Value[]): Row | undefined;
  all(values: readonly Value[]): readonly Row[];
}

const uriOf = (path: string, parameters: string): string => `${pathToFileURL(path).href}?${parameters}`;

/** The maximum of `mmap_size`. Memory-mapped pages are in the system's page cache, which all processes share. */
const MAPPED_BYTES = 0x7fff0000;
/** The size of SQLite's cache for pages beyond the memory-mapped part of the file. */
const READ_CACHE_KIB = 16 * 1024;

export const PRAGMAS = `PRAGMA query_only = 1; PRAGMA mmap_size = ${MAPPED_BYTES}; PRAGMA cache_size = -${READ_CACHE_KIB}`;
/** Ways to open the database. Each one needs fewer permissions than the previous one. */
const URI_PARAMETERS = ['mode=rw', 'mode=ro', 'immutable=1'];

export class ReadConnection {
  readonly #path: string;
  readonly #db: InstanceType<typeof Database>;
  readonly #file: string | undefined;
  readonly #statements = new Map<string, Statement>();

  private constructor(
    path: string,
    readonly uri: string,
  ) {
    this.#path = path;
    this.#db = new Database(uri);
    this.#file = fileId(path);
    try {
      this.#db.exec(PRAGMAS);
      this.row('SELECT count(*) FROM sqlite_schema');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * If the folder is not writable, opens the file as immutable, unless there is a write-ahead log.
   * @throws StorageError `unavailable`
   */
  static open(path: string): ReadConnection {
    let failure: unknown;
    for (const parameters of URI_PARAMETERS) {
      try {
        return new ReadConnection(path, uriOf(path, parameters));
      } catch (error) {
        const thrown = storageError(path, error);
        failure ??= thrown;
        if (!/^SQLITE_(CANTOPEN|READONLY)/.test(codeOf((thrown as Error).cause ?? {}))) break;
      }
    }
    throw failure;
  }

  /**
   * A connection continues to read the file that it opened, and never sees changes to another file at this path.
   * @throws StorageError `unavailable`
   */
  assertSameFile(): void {
    if (fileId(this.#path) === this.#file) return;
    throw new StorageError(
      'unavailable',
      `The database ${this.#path} was deleted or replaced while the service was using it: stop the service, delete ` +
        `${this.#path}-wal and ${this.#path}-shm, and start the service again.`,
    );
  }

  row(sql: string, values: readonly Value[] = []): Row | undefined {
    try {
      return this.#prepared(sql).get(values);
    } catch (error) {
      throw storageError(this.#path, error);
    }
  }

  rows(sql: string, values: readonly Value[] = []): readonly Row[] {
    try {
      return this.#prepared(sql).all(values);
    } catch (error) {
      throw storageError(this.#path, error);
    }
  }

  /** Starts a read transaction on the current state of the database, which lasts until the next `pin` or `unpin`. */
  pin(): void {
    try {
      this.unpin();
      this.#db.exec('BEGIN');
      this.row('SELECT count(*) FROM sqlite_schema');
    } catch (error) {
      throw storageError(this.#path, error);
    }
  }

  /**
   * Enables the write-ahead log, so that readers and writers do not block each other. `VACUUM INTO` creates copies
   * without a write-ahead log.
   */
  turnOnLog(): void {
    try {
      this.#db.exec('PRAGMA query_only = 0; PRAGMA journal_mode = WAL');
    } catch (error) {
      if (!/^SQLITE_(READONLY|CANTOPEN)/.test(codeOf(error as object))) throw storageError(this.#path, error);
    } finally {
      this.#db.exec('PRAGMA query_only = 1');
    }
  }

  unpin(): void {
    if (this.#db.inTransaction) this.#db.exec('COMMIT');
  }

  close(): void {
    this.unpin();
    this.#statements.clear();
    this.#db.close();
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql).raw() as unknown as Statement;
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

const BUSY_MS = 30_000;
const LOG_WAIT_MS = 2500;
const RETRY_MS = 20;
/**
 * The size of SQLite's cache for changed pages. SQLite also sorts rows in chunks of this size. Sorting would be slower
 * if the chunks did not fit into the CPU caches.
 */
const CACHE_KIB = 2 * 1024;

/** Only the owner can read the file, because it can contain key hashes. */
const FILE_MODE = 0o600;

/** A file that root creates gets the owner of its folder. SQLite gives the write-ahead log the owner of the database. */
const createFile = async (path: string): Promise<void> => {
  const file = await open(path, 'a', FILE_MODE);
  try {
    await files.ownNewFile(path, file);
  } finally {
    await file.close();
  }
};

export class ThreadedConnection {
  readonly #path: string;
  readonly #db: ThreadedDatabase;

  private constructor(path: string, uri: string) {
    this.#path = path;
    this.#db = new ThreadedDatabase(uri);
  }

  static async use<T>(
    path: string,
    work: (connection: ThreadedConnection) => Promise<T>,
    { create = false } = {},
  ): Promise<T> {
    if (create && !existsSync(path)) await createFile(path);
    const connection = ThreadedConnection.#open(path, uriOf(path, 'mode=rw'));
    try {
      await connection.exec(`PRAGMA temp_store = 1; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA synchronous = FULL`);
      return await work(connection);
    } finally {
      connection.#db.close();
    }
  }

  static #open(path: string, uri: string): ThreadedConnection {
    try {
      return new ThreadedConnection(path, uri);
    } catch (error) {
      throw storageError(path, error);
    }
  }

  /**
   * Retries while the database is locked or its schema is changing. SQLite must not wait for the lock, because it would
   * block one of the driver's threads, and the writer that holds the lock might need that thread.
   */
  async #retried<T>(work: () => Promise<T>): Promise<T> {
    for (const until = performance.now() + BUSY_MS; ; await delay(RETRY_MS * Math.random())) {
      try {
        return await work();
      } catch (error) {
        const isPassing = codeOf(error as object).startsWith('SQLITE_BUSY') || isSchemaChange(error);
        if (!isPassing || performance.now() > until) throw storageError(this.#path, error);
      }
    }
  }

  exec(sql: string): Promise<void> {
    return this.#retried(() => this.#db.exec(sql));
  }

  /** Returns a function that runs a write statement synchronously, on the event loop. */
  async prepare(sql: string): Promise<(values: readonly Bound[]) => number> {
    const statement = await this.#retried(() => this.#db.prepare(sql));
    return (values) => {
      try {
        return Number(statement.run(values).lastInsertRowid);
      } catch (error) {
        throw storageError(this.#path, error);
      }
    };
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.prepare(sql))(values);
  }

  async rows(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const statement = await this.#retried(() => this.#db.prepare(sql));
    // A statement that fails because of a lock keeps its read transaction open. The same statement is retried, because
    // a new `BEGIN IMMEDIATE` statement would never succeed.
    return this.#retried(() => this.#db.rows(statement, values));
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.exec('BEGIN IMMEDIATE');
    try {
      const result = await work();
      await this.exec('COMMIT');
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#db.inTransaction) await this.exec('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  async logBytes(): Promise<number> {
    return (await stat(`${this.#path}-wal`).catch(() => undefined))?.size ?? 0;
  }

  /**
   * Empties the write-ahead log. Waits up to LOG_WAIT_MS for readers in older transactions. If readers take longer,
   * SQLite reuses the log when they finish.
   * @param renew renews the transactions of this process
   */
  async emptyLog(renew: () => void): Promise<void> {
    for (const until = performance.now() + LOG_WAIT_MS; performance.now() < until; await delay(RETRY_MS)) {
      const [[isBlocked] = [0]] = await this.rows('PRAGMA wal_checkpoint(TRUNCATE)');
      if (isBlocked === 0) return;
      renew();
    }
  }
}
