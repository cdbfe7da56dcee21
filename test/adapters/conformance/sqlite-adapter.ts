/**
 * A SQLite adapter with every capability. Tests can replace each of its parts with a broken one.
 *
 * Each version is a database file that is written once. `catalog.json` lists the versions and is always replaced as a
 * whole. Strings are stored as UTF-8 bytes, which SQLite compares byte by byte.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import sqlite from 'node-sqlite3-wasm';
import { chain, endOf, verifyChain } from '../../../core/audit/chain.js';
import { dataAuditEntry, withPublished } from '../../../core/audit/data-audit.js';
import type { DataAuditEntry } from '../../../core/contracts/audit.js';
import type { Collection, Document, Manifest } from '../../../core/contracts/dataset.js';
import type { AdapterContext, Query, Scalar, Snapshot, StorageAdapter } from '../../../core/contracts/storage.js';
import { momentAfter, publicationTime, readable } from '../../../core/data/publishing.js';
import { StorageError } from '../../../core/errors.js';

export interface Version {
  readonly version: string;
  readonly file: string;
  readonly publishedAt: string;
  readonly manifest: Manifest;
}

export interface Catalog {
  /** The oldest publication comes first. */
  readonly versions: readonly Version[];
  readonly moves: readonly { readonly version: string; readonly file: string; readonly since: string }[];
  readonly audit: readonly DataAuditEntry[];
}

interface Open {
  readonly db: sqlite.Database;
  holds: number;
}

type Value = Uint8Array | string | number;

/** Parts of the adapter that tests can replace. Most of them build SQL. */
export interface Dialect {
  /** SQL expression for a key field or order field. */
  column(field: string, collection: Collection): string;
  stored(value: Scalar, field: string): Value;
  equal(field: string): string;
  from(field: string): string;
  to(field: string): string;
  /** SQL condition that matches rows after a position, with one parameter per field. */
  behind(fields: readonly string[], descending: boolean): string;
  orderBy(order: readonly string[], descending: boolean): string;
  query(query: Query): Query;
  page(query: Query, read: number): number;
  offset(query: Query, read: number): number;
  text(document: Document): string;
  document(text: string): Document;
  catalog(catalog: Catalog): Catalog;
  /** Interval between polls of the catalog in milliseconds. Undefined disables polling. */
  pollMs: number | undefined;
  release(held: { holds: number }, released: boolean): void;
  /** Chooses the versions to delete. `versions` contains neither the current version nor locked versions. */
  prune(versions: readonly Version[], keep: number): readonly Version[];
  since(moves: Catalog['moves'], time: Date): Catalog['moves'][number] | undefined;
}

const PAGE = 1000;

const right: Dialect = {
  column: (field) => `"${field}"`,
  stored: (value) => (typeof value === 'string' ? Buffer.from(value) : value),
  equal: (field) => `"${field}" = ?`,
  from: (field) => `"${field}" >= ?`,
  to: (field) => `"${field}" <= ?`,
  behind: (fields, descending) =>
    `(${fields.map((field) => `"${field}"`)}) ${descending ? '<' : '>'} (${fields.map(() => '?')})`,
  orderBy: (order, descending) => order.map((field) => `"${field}"${descending ? ' DESC' : ''}`).join(', '),
  query: (query) => query,
  page: ({ limit = Number.POSITIVE_INFINITY }, read) => Math.min(PAGE, limit - read),
  offset: (_query, read) => read,
  text: JSON.stringify,
  document: (text) => JSON.parse(text),
  catalog: (catalog) => catalog,
  pollMs: 50,
  release(held, released) {
    if (!released) held.holds--;
  },
  prune: (versions, keep) => versions.slice(0, Math.max(0, versions.length - keep)),
  since: (moves, time) => moves.findLast(({ since }) => new Date(since) <= time),
};

const EMPTY: Catalog = { versions: [], moves: [], audit: [] };

class SqliteAdapter implements StorageAdapter {
  readonly #context: AdapterContext;
  readonly #dialect: Dialect;
  readonly #path: (name: string) => string;
  readonly #open = new Map<string, Open>();
  #catalog = EMPTY;
  #stamp: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #publishing = false;
  #closed = false;

  constructor(dialect: Partial<Dialect>, context: AdapterContext) {
    this.#context = context;
    this.#dialect = { ...right, ...dialect };
    this.#path = (name) => context.resolvePath(name);
  }

  async open(): Promise<void> {
    this.#assertUsable();
    this.#look();
    const { pollMs } = this.#dialect;
    if (pollMs !== undefined) this.#timer ??= setInterval(() => this.#look(), pollMs).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const { db } of this.#open.values()) db.close();
    this.#open.clear();
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#assertUsable(signal);
  }

  snapshot(): Snapshot {
    this.#assertUsable();
    const move = this.#catalog.moves.at(-1);
    if (!move) throw new StorageError('unavailable', 'Nothing has been published yet.');
    return this.#hold(move)!;
  }

  async publish(...[dataset, { onProgress, signal } = {}]: Parameters<NonNullable<StorageAdapter['publish']>>) {
    this.#assertUsable(signal);
    this.#look();
    const { manifest } = dataset;
    if (this.#publishing) throw new StorageError('conflict', 'Another publication is in progress.');
    const isThere = () => this.#catalog.versions.some(({ version }) => version === manifest.version);
    if (isThere()) throw new StorageError('conflict', `The version "${manifest.version}" exists already.`);
    this.#publishing = true;
    const file = `${randomUUID()}.db`;
    const db = new sqlite.Database(this.#path(file));
    let kept = false;
    try {
      db.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN');
      for (const collection of this.#context.collections.values()) {
        const { insert, finalize } = this.#makeTable(db, collection);
        let written = 0;
        try {
          for await (const batch of readable(() => dataset.read(collection.name))) {
            this.#assertUsable(signal);
            for (const document of batch) insert(document);
            written += batch.length;
            onProgress?.({ collection: collection.name, written, total: undefined });
          }
        } finally {
          finalize();
        }
      }
      this.#assertUsable(signal);
      db.exec('COMMIT');
      this.#look();
      if (isThere()) throw new StorageError('conflict', `The version "${manifest.version}" exists already.`);
      const last = this.#catalog.moves.at(-1);
      const time = publicationTime(manifest, last && new Date(last.since), this.#context.clock).toISOString();
      kept = true;
      const { version } = manifest;
      this.#save(
        {
          versions: [...this.#catalog.versions, { version, file, publishedAt: time, manifest }],
          moves: [...this.#catalog.moves, { version, file, since: time }],
        },
        [{ action: 'publish', version, replaces: last?.version ?? null }],
      );
    } finally {
      this.#publishing = false;
      db.close();
      if (!kept) for (const each of [file, `${file}.lock`]) rmSync(this.#path(each), { force: true, recursive: true });
    }
  }

  readonly versions = {
    list: async () => {
      this.#assertUsable();
      this.#look();
      const current = this.#catalog.moves.at(-1)?.file;
      return this.#catalog.versions.toReversed().map(({ version, file, publishedAt }) => ({
        version,
        publishedAt: new Date(publishedAt),
        current: file === current,
        held: (this.#open.get(file)?.holds ?? 0) > 0,
      }));
    },
    activate: async (version: string) => {
      this.#assertUsable();
      this.#look();
      const { versions, moves } = this.#catalog;
      const target = versions.find((each) => each.version === version);
      if (!target) throw new StorageError('unknown_version', `The version "${version}" does not exist.`);
      const last = moves.at(-1)!;
      if (last.file === target.file) return;
      const since = momentAfter(new Date(last.since), this.#context.clock).toISOString();
      this.#save({ versions, moves: [...moves, { version, file: target.file, since }] }, [
        { action: 'activate', version, replaces: last.version },
      ]);
    },
    prune: async (keep: number) => {
      this.#assertUsable();
      this.#look();
      const { versions, moves } = this.#catalog;
      const isUsed = ({ file }: Version) => file === moves.at(-1)?.file || this.#open.get(file)?.holds;
      const pruned = this.#dialect.prune(versions, keep).filter((version) => !isUsed(version));
      this.#save(
        { versions: versions.filter((version) => !pruned.includes(version)), moves },
        pruned.map(({ version }) => ({ action: 'prune', version })),
      );
      for (const { file } of pruned) {
        this.#open.get(file)?.db.close();
        this.#open.delete(file);
        rmSync(this.#path(file), { force: true });
      }
      return pruned.map(({ version }) => version);
    },
    asOf: async (time: Date) => {
      this.#assertUsable();
      const move = this.#dialect.since(this.#catalog.moves, time);
      return move && this.#hold(move);
    },
  };

  readonly audit = {
    list: async () => {
      this.#assertUsable();
      this.#look();
      return this.#catalog.audit;
    },
    verify: async (expected?: string) => {
      const entries = await this.audit.list();
      const placed = entries.map((entry, i) => ({ entry, place: `entry ${i + 1}` }));
      return withPublished(verifyChain(placed, endOf(entries), expected), entries, {
        current: this.#catalog.moves.at(-1)?.version ?? null,
        versions: this.#catalog.versions.map(({ version }) => version),
      });
    },
  };

  #makeTable(db: sqlite.Database, collection: Collection) {
    const { name, key, orders = [] } = collection;
    const { column, stored, text } = this.#dialect;
    const fields = [...new Set([...key, ...orders.flat()])] as string[];
    const columns = fields.map((field) => column(field, collection)).join(', ');
    const indexes = [key, ...orders].map(
      (order) => `CREATE INDEX "${name} ${order}" ON "${name}" (${order.map((field) => `"${field}"`)});`,
    );
    db.exec(`CREATE TABLE "${name}" (${columns}, "its json" TEXT); ${indexes.join('')}`);
    const statement = db.prepare(`INSERT INTO "${name}" VALUES (${fields.map(() => '?')}, ?)`);
    return {
      insert: (document: Document) => {
        statement.run([...fields.map((field) => stored(document[field] as Scalar, field)), text(document)]);
      },
      finalize: () => statement.finalize(),
    };
  }

  #save(changed: Omit<Catalog, 'audit'>, changes: readonly Parameters<typeof dataAuditEntry>[0][]): void {
    let { audit } = this.#catalog;
    for (const change of changes) {
      audit = [...audit, chain(dataAuditEntry(change, this.#context.clock.now()), endOf(audit))];
    }
    const catalog = { ...changed, audit };
    const draft = this.#path(randomUUID());
    writeFileSync(draft, JSON.stringify(this.#dialect.catalog(catalog)));
    renameSync(draft, this.#path('catalog.json'));
    this.#look();
  }

  #look(): void {
    const found = statSync(this.#path('catalog.json'), { throwIfNoEntry: false });
    const stamp = found && `${found.ino} ${found.mtimeMs}`;
    if (this.#closed || stamp === undefined || stamp === this.#stamp) return;
    const before = this.#catalog.moves.length;
    this.#stamp = stamp;
    this.#catalog = JSON.parse(readFileSync(this.#path('catalog.json'), 'utf8'));
    if (this.#catalog.moves.length > before) this.#context.changed();
  }

  #hold({ version, file, since }: Catalog['moves'][number]): Snapshot | undefined {
    const found = this.#catalog.versions.find((each) => each.file === file);
    if (!found) return undefined;
    let open = this.#open.get(file);
    if (!open) {
      open = { db: new sqlite.Database(this.#path(file), { readOnly: true }), holds: 0 };
      this.#open.set(file, open);
    }
    const held = open;
    held.holds++;
    let released = false;
    return {
      version,
      publishedAt: new Date(since),
      manifest: found.manifest,
      get: async (name, key, signal) => {
        const order = this.#collection(name, signal).key;
        const equal = Object.fromEntries(order.map((field, i) => [field, key[i]!]));
        return this.#page(held, name, { order, equal }, 1, 0)[0];
      },
      find: (name, query, signal) => this.#find(held, name, this.#dialect.query(query), signal),
      release: () => {
        this.#dialect.release(held, released);
        released = true;
      },
    };
  }

  async *#find(open: Open, name: string, query: Query, signal?: AbortSignal) {
    let read = 0;
    for (;;) {
      this.#collection(name, signal);
      const size = this.#dialect.page(query, read);
      const found = size > 0 ? this.#page(open, name, query, size, this.#dialect.offset(query, read)) : [];
      if (found.length === 0) return;
      read += found.length;
      yield found;
    }
  }

  #page({ db }: Open, name: string, query: Query, size: number, offset: number): Document[] {
    const { equal = {}, range, order, descending = false, after } = query;
    const dialect = this.#dialect;
    const conditions = ['TRUE', ...Object.keys(equal).map(dialect.equal)];
    const values = Object.entries(equal).map(([field, value]) => dialect.stored(value, field));
    for (const bound of ['from', 'to'] as const) {
      const value = range?.[bound];
      if (range === undefined || value === undefined) continue;
      conditions.push(dialect[bound](range.field));
      values.push(dialect.stored(value, range.field));
    }
    if (after) {
      const free = order.slice(order.length - after.length);
      conditions.push(dialect.behind(free, descending));
      values.push(...free.map((field, i) => dialect.stored(after[i]!, field)));
    }
    const sql =
      `SELECT "its json" FROM "${name}" WHERE ${conditions.join(' AND ')} ` +
      `ORDER BY ${dialect.orderBy(order, descending)} LIMIT ${size} OFFSET ${offset}`;
    return db.all(sql, values).map((row) => dialect.document(String(row['its json'])));
  }

  #collection(name: string, signal?: AbortSignal): Collection {
    this.#assertUsable(signal);
    const collection = this.#context.collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `There is no collection "${name}".`);
    return collection;
  }

  #assertUsable(signal?: AbortSignal): void {
    if (this.#closed) throw new StorageError('closed', 'The adapter has been closed.');
    if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
  }
}

export const createSqlite = (context: AdapterContext, dialect: Partial<Dialect> = {}): StorageAdapter =>
  new SqliteAdapter(dialect, context);
