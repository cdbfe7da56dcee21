/** Runs queries that might read a whole table. The queries run one at a time and can be interrupted. */
import { StorageError } from 'metro-forecast-api/adapter';
import { PRAGMAS, ReadConnection } from './connection.js';
import { isSchemaChange, storageError } from './problems.js';
import { type Row, ThreadedDatabase, type Value } from './threaded-database.js';

/** SQLite sorts rows to group them. Sorting takes a third longer if the rows do not fit into this cache. */
const CACHE_KIB = 64 * 1024;

/** A connection keeps all its prepared statements in memory, so it is replaced after this number of queries. */
const MOST_QUERIES = 100;

const INTERRUPT_MS = 10;

/** Publications and deletions in other processes change the schema, so a query can fail several times in a row. */
const MOST_ATTEMPTS = 10;

export class LongReads {
  readonly #path: string;
  readonly #assertSameFile: () => void;
  #opening: Promise<ThreadedDatabase> | undefined;
  #queries = 0;
  #last: Promise<unknown> = Promise.resolve();
  #size = 0;
  #isClosed = false;
  /** Interrupts the running query. */
  #interrupt: (() => void) | undefined;

  constructor(path: string, assertSameFile: () => void) {
    this.#path = path;
    this.#assertSameFile = assertSameFile;
  }

  /**
   * The driver computes only the first row on its thread, and reads the remaining rows on the event loop. A query
   * should therefore do all its work before the first row, for example by sorting.
   * @param signal removes the query from the queue, or interrupts it
   * @param onWait called if the query has to wait; returns a function that is called when the query starts
   */
  rows(
    sql: string,
    values: readonly Value[],
    signal: AbortSignal | undefined,
    onWait?: () => () => void,
  ): Promise<readonly Row[]> {
    const onStart = this.#size++ > 0 ? onWait?.() : undefined;
    const reading = this.#last.then(() => {
      onStart?.();
      return this.#run(sql, values, signal);
    });
    this.#last = reading.catch(() => undefined).finally(() => this.#size--);
    return reading;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#interrupt?.();
    await this.#last;
    await this.#close();
  }

  async #close(): Promise<void> {
    const db = await this.#opening?.catch(() => undefined);
    db?.close();
    this.#opening = undefined;
  }

  async #run(sql: string, values: readonly Value[], signal: AbortSignal | undefined): Promise<readonly Row[]> {
    const assertWanted = (): void => {
      if (this.#isClosed) throw new StorageError('closed', 'The SQLite adapter has been closed.');
      if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
    };
    assertWanted();
    if (this.#queries++ % MOST_QUERIES === 0) await this.#close();
    this.#opening ??= this.#open();
    let timer: NodeJS.Timeout | undefined;
    let db: ThreadedDatabase | undefined;
    const interrupt = () => {
      db?.interrupt();
      // SQLite ignores an interrupt until the driver's thread has started the query.
      timer ??= setInterval(() => db?.interrupt(), INTERRUPT_MS);
    };
    this.#interrupt = interrupt;
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      db = await this.#opening;
      for (let attempt = 1; ; attempt++) {
        try {
          const statement = await db.prepare(sql);
          assertWanted();
          return await db.rows(statement, values);
        } catch (error) {
          if (attempt === MOST_ATTEMPTS || !isSchemaChange(error)) throw error;
        }
      }
    } catch (error) {
      assertWanted();
      throw storageError(this.#path, error);
    } finally {
      signal?.removeEventListener('abort', interrupt);
      this.#interrupt = undefined;
      clearInterval(timer);
    }
  }

  async #open(): Promise<ThreadedDatabase> {
    try {
      const connection = ReadConnection.open(this.#path);
      connection.close();
      this.#assertSameFile();
      const db = new ThreadedDatabase(connection.uri);
      await db.exec(`${PRAGMAS}; PRAGMA cache_size = -${CACHE_KIB}; SELECT count(*) FROM sqlite_schema`);
      return db;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
