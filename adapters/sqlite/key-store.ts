/**
 * Stores API keys in SQLite, and keeps all keys in memory. Triggers number all changes to keys, including changes that
 * an operator makes with SQL. Each poll reads the keys changed since the previous poll.
 */
import {
  type AuditVerification,
  audit,
  files,
  type Health,
  type KeyAuditEntry,
  type KeyChange,
  type KeyRecord,
  type KeyStore,
  type KeyStoreContext,
  KeyStoreError,
  type KeyStoreModule,
  type StoredKeys,
} from 'metro-forecast-api/adapter';
import { appendEntry, readEntries, replaceEntries, verifyEntries } from './audit.js';
import { openStore, prepareStore } from './catalog.js';
import { type ReadConnection, ThreadedConnection } from './connection.js';
import { createEmpty } from './create.js';
import type { Row } from './threaded-database.js';

const { keyAuditEntry, withComparison } = audit;

const POLL_MS = 250;
const AUDIT = 'api_key_audit';

interface SqliteKeyStoreOptions {
  readonly path: string;
  readonly pollMs?: number;
}

const recordOf = ([id, hash, record]: Row): KeyRecord => ({
  ...JSON.parse(String(record)),
  id: String(id),
  hash: String(hash),
});

const COLUMNS = 'SELECT id, hash, record, change FROM api_key';

const reasonOf = (error: unknown): string => (error as Error).message;

class SqliteKeyStore implements KeyStore {
  readonly #path: string;
  readonly #pollMs: number;
  readonly #context: KeyStoreContext;
  readonly #listeners: (() => void)[] = [];
  readonly #byId = new Map<string, KeyRecord>();
  readonly #byHash = new Map<string, KeyRecord>();
  #connection: ReadConnection | undefined;
  #change = -1;
  #error: KeyStoreError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ path, pollMs = POLL_MS }: SqliteKeyStoreOptions, context: KeyStoreContext) {
    this.#path = context.resolvePath(path);
    this.#pollMs = pollMs;
    this.#context = context;
  }

  /**
   * If the database file is missing, the store has no keys.
   * @throws KeyStoreError if the file cannot be read
   */
  async open(): Promise<void> {
    this.#poll();
    if (this.#error) throw this.#error;
    this.#timer = setInterval(() => this.#poll(), this.#pollMs).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#connection?.close();
    this.#connection = undefined;
  }

  lookup(hash: string): KeyRecord | undefined {
    return this.#byHash.get(hash);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  health(): Health {
    if (!this.#error) return { ok: true, message: null };
    return { ok: false, message: 'The key database cannot be read; the previous keys stay active.' };
  }

  async list(): Promise<readonly KeyRecord[]> {
    this.#poll();
    if (this.#error) throw this.#error;
    const byAge = (a: KeyRecord, b: KeyRecord) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id);
    return [...this.#byId.values()].sort(byAge);
  }

  async insert(record: KeyRecord): Promise<void> {
    await this.#write(async (connection) => {
      const { id, hash, ...fields } = record;
      const same = await connection.rows('SELECT 1 FROM api_key WHERE id = ? OR hash = ?', id, hash);
      if (same.length > 0) {
        throw new KeyStoreError('conflict', `A key with the id ${id}, or with the same hash, already exists.`);
      }
      await appendEntry(connection, AUDIT, keyAuditEntry(undefined, record, this.#context.clock.now())!);
      await connection.run('INSERT INTO api_key (id, hash, record) VALUES (?, ?, ?)', id, hash, JSON.stringify(fields));
    });
  }

  update(id: string, change: KeyChange): Promise<KeyRecord> {
    return this.#write(async (connection) => {
      const [found] = await connection.rows(`${COLUMNS} WHERE id = ?`, id);
      if (!found) throw new KeyStoreError('unknown_key', `There is no key with the id ${id}.`);
      const before = recordOf(found);
      const after = { ...before, ...change };
      const entry = keyAuditEntry(before, after, this.#context.clock.now());
      if (!entry) return before;
      await appendEntry(connection, AUDIT, entry);
      const { id: _, hash: __, ...fields } = after;
      await connection.run('UPDATE api_key SET record = ? WHERE id = ?', JSON.stringify(fields), id);
      return after;
    });
  }

  audit(): Promise<readonly KeyAuditEntry[]> {
    return this.#read([], (connection) => readEntries<KeyAuditEntry>(connection, AUDIT));
  }

  verifyAudit(expected?: string): Promise<AuditVerification> {
    return this.#read({ chained: 0, head: null, notes: [], faults: [] }, async (connection) => {
      await connection.exec('BEGIN');
      const entries = await readEntries<KeyAuditEntry>(connection, AUDIT);
      const verified = await verifyEntries(connection, AUDIT, entries, expected);
      const records = (await connection.rows(COLUMNS)).map(recordOf);
      await connection.exec('COMMIT');
      return withComparison(verified, records, entries);
    });
  }

  async noteUse(times: ReadonlyMap<string, number>): Promise<void> {
    await this.#write(async (connection) => {
      const note = await connection.prepare(
        'INSERT INTO api_key_use VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET at = max(at, excluded.at)',
      );
      for (const [id, time] of times) note([id, time]);
    });
  }

  lastUsed(): Promise<ReadonlyMap<string, number>> {
    return this.#read(new Map(), async (connection) => {
      const rows = await connection.rows('SELECT id, at FROM api_key_use');
      return new Map(rows.map(([id, at]) => [String(id), Number(at)]));
    });
  }

  async exportAll(): Promise<StoredKeys> {
    return { records: await this.list(), audit: await this.audit() };
  }

  async replaceAll({ records, audit: entries }: StoredKeys): Promise<void> {
    await this.#write(async (connection) => {
      await replaceEntries(connection, AUDIT, entries);
      await connection.exec('DELETE FROM api_key; DELETE FROM api_key_use');
      const insert = await connection.prepare('INSERT INTO api_key (id, hash, record) VALUES (?, ?, ?)');
      for (const { id, hash, ...fields } of records) insert([id, hash, JSON.stringify(fields)]);
    });
  }

  /** When the promise resolves, the changes are in effect in this process. */
  async #write<T>(work: (connection: ThreadedConnection) => Promise<T>): Promise<T> {
    return this.#connected(async () => {
      const prepared = async (connection: ThreadedConnection): Promise<T> => {
        await prepareStore(this.#path, connection);
        return connection.transaction(() => work(connection));
      };
      try {
        await createEmpty(this.#path);
        return await ThreadedConnection.use(this.#path, prepared);
      } finally {
        this.#poll();
      }
    });
  }

  async #read<T>(none: T, work: (connection: ThreadedConnection) => Promise<T>): Promise<T> {
    this.#poll();
    if (!this.#connection) return none;
    return this.#connected(() => ThreadedConnection.use(this.#path, work));
  }

  async #connected<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof KeyStoreError) throw cause;
      const { syscall } = cause as NodeJS.ErrnoException;
      const message = syscall
        ? `The key database ${this.#path} cannot be written: ${files.fileErrorReason(cause)}.`
        : reasonOf(cause);
      throw new KeyStoreError('unavailable', message, { cause });
    }
  }

  /** Polls for changed keys. Never throws. The previous keys stay active until a later poll succeeds. */
  #poll(): void {
    if (this.#isClosed) return;
    try {
      this.#connection ??= openStore(this.#path);
      if (this.#connection) this.#load(this.#connection);
      if (this.#error) this.#context.logger.info('the key database can be read again');
      this.#error = undefined;
    } catch (cause) {
      const error = new KeyStoreError('unavailable', reasonOf(cause), { cause });
      if (!this.#error) this.#context.logger.error({ err: error }, 'the key database cannot be read');
      this.#error = error;
    }
  }

  #load(connection: ReadConnection): void {
    connection.assertSameFile();
    const changed = connection.rows(`${COLUMNS} WHERE change > ? ORDER BY change`, [this.#change]);
    for (const row of changed) this.#replace(recordOf(row));
    if (changed.length > 0) this.#change = Number(changed.at(-1)![3]);
    const [count] = connection.row('SELECT count(*) FROM api_key')!;
    const isDeleted = count !== this.#byId.size;
    if (isDeleted) {
      const kept = new Set(connection.rows('SELECT id FROM api_key').map(([id]) => id));
      for (const id of [...this.#byId.keys()]) if (!kept.has(id)) this.#remove(id);
    }
    if (changed.length > 0 || isDeleted) for (const listener of this.#listeners) listener();
  }

  #replace(record: KeyRecord): void {
    this.#remove(record.id);
    this.#byId.set(record.id, record);
    this.#byHash.set(record.hash, record);
  }

  #remove(id: string): void {
    const before = this.#byId.get(id);
    if (!before) return;
    this.#byId.delete(id);
    // An operator might have moved the hash to another id.
    if (this.#byHash.get(before.hash) === before) this.#byHash.delete(before.hash);
  }
}

export const sqliteKeyStore: KeyStoreModule<SqliteKeyStoreOptions> = {
  kind: 'key-store',
  name: 'sqlite',
  options: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description:
          'The database file, which can also be used by the `sqlite` adapter. Created by the first `keys create`.',
      },
      pollMs: {
        type: 'integer',
        minimum: 50,
        maximum: 4000,
        default: POLL_MS,
        description: 'Interval between checks for changed keys, in milliseconds.',
      },
    },
  },
  create: (options, context) => new SqliteKeyStore(options, context),
};
