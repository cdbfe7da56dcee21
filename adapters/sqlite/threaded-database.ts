import Driver from 'libsql/promise';

export type Value = string | number | null;
/** A value in a statement. */
export type Bound = Value | Uint8Array;
export type Row = readonly Value[];

interface Statement {
  run(values: readonly Bound[]): { readonly lastInsertRowid: number | bigint };
  raw(): Statement;
  iterate(...values: Value[]): Promise<Iterable<Row>>;
}

/** The methods of the SQLite driver that this adapter calls. The driver's type definitions lack some of them. */
interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): Promise<void>;
  prepare(sql: string): Promise<Statement>;
  interrupt(): void;
  close(): void;
}

/**
 * A connection whose queries run on a driver thread. All statements are kept until the connection is closed. Otherwise,
 * the garbage collector could finalize a statement on the event loop. Finalizing waits for a query that is running on
 * the connection, which would block the event loop.
 */
export class ThreadedDatabase {
  readonly #connection: Connection;
  readonly #kept: object[] = [];

  constructor(uri: string) {
    this.#connection = new Driver(uri, {}) as unknown as Connection;
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction;
  }

  exec(sql: string): Promise<void> {
    return this.#connection.exec(sql);
  }

  async prepare(sql: string): Promise<Statement> {
    const statement = await this.#connection.prepare(sql);
    this.#kept.push(statement);
    return statement;
  }

  async rows(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const rows = await statement.raw().iterate(...values);
    this.#kept.push(rows);
    return [...rows];
  }

  interrupt(): void {
    this.#connection.interrupt();
  }

  close(): void {
    this.#connection.close();
    this.#kept.length = 0;
  }
}
