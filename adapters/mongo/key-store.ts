/**
 * Stores API keys in MongoDB, and keeps all keys in memory. A change stream reports all changes, including manual
 * edits. Standalone servers have no change streams, so each poll also reads keys changed since the previous poll. The
 * intervals of polls overlap, because a change can become visible some time after its timestamp.
 */
import {
  type AuditVerification,
  audit,
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
import type { Filter } from 'mongodb';
import { MongoAudit } from './audit.js';
import { Connection, checkConnection } from './connection.js';
import {
  CachedKeys,
  type KeyDocument,
  prepareKeys,
  readUse,
  replaceKeys,
  setting,
  toRecord,
  writeUse,
} from './key-documents.js';
import { isDuplicate } from './layout.js';
import { type ConnectionOptions, connectionOptions, type Given, withDefaults } from './options.js';
import { type ChangeWatch, Poller, watchChanges } from './polling.js';

const { keyAuditEntry: auditEntry, withComparison, madeOnly, verifyStore } = audit;

const COLLECTION = 'api_keys';
const AUDIT = 'api_key_audit';
const OVERLAP_MS = 10_000;
const BATCH = 5000;

class MongoKeyStore implements KeyStore {
  readonly #options: ConnectionOptions;
  readonly #context: KeyStoreContext;
  readonly #connection: Connection;
  readonly #audit: MongoAudit<KeyAuditEntry>;
  readonly #poller: Poller;
  readonly #listeners: (() => void)[] = [];
  #watch: ChangeWatch | undefined;
  #cached = new CachedKeys();
  /** The store has read all changes before this time. The time comes from the clock of the MongoDB server. */
  #since = new Date(0);
  /** If true, the next poll reads all keys. Otherwise, the next poll reads `#dirty` and the changes since `#since`. */
  #all = true;
  #dirty = new Set<string>();
  #loaded = false;
  #streamed = false;
  #error: KeyStoreError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ConnectionOptions, context: KeyStoreContext) {
    this.#options = options;
    this.#context = context;
    this.#connection = new Connection(options);
    this.#audit = new MongoAudit(this.#connection, AUDIT);
    this.#poller = new Poller(options.pollMs, () => this.#poll());
  }

  async open(): Promise<void> {
    this.#watch ??= watchChanges(
      () => this.#connection.watch(COLLECTION, this.#options.operationMs / 2),
      {
        change: (change) => {
          if ('documentKey' in change) this.#dirty.add(String(change.documentKey._id));
          else this.#all = true;
          void this.#poller.poll();
        },
        // Manual edits may have been missed while the change stream was closed, so the next poll reads all keys again.
        open: () => {
          this.#all ||= this.#streamed;
          this.#streamed = true;
          void this.#poller.poll();
        },
      },
      this.#options.pollMs,
      this.#context.logger,
    );
    await this.#poller.poll();
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#watch?.stop();
      await this.#poller.stop();
      await this.#connection.close();
    })();
    return this.#closing;
  }

  lookup(hash: string): KeyRecord | undefined {
    if (!this.#loaded) throw this.#error ?? new KeyStoreError('unavailable', 'The key store has not been opened.');
    return this.#cached.lookup(hash);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  health(): Health {
    if (!this.#error) return { ok: true, message: null };
    const rest = this.#loaded ? 'the keys that were read last stay valid.' : 'no key can be checked yet.';
    return { ok: false, message: `The key store cannot be reached; ${rest}` };
  }

  async list(): Promise<readonly KeyRecord[]> {
    await this.#poller.poll();
    if (this.#error) throw this.#error;
    return this.#cached.list();
  }

  async insert(record: KeyRecord): Promise<void> {
    const { id, ...fields } = record;
    await this.#write(id, async () => {
      const keys = this.#keys();
      await prepareKeys(keys);
      const same = await keys.findOne({ $or: [{ _id: id }, { hash: record.hash }] });
      if (same) throw this.#conflict(id);
      await this.#audit.around(auditEntry(undefined, record, this.#context.clock.now())!, async () => {
        // The filter matches no existing key, so an id that is already in use causes a duplicate key error.
        await keys.updateOne({ _id: id, hash: { $exists: false } }, setting(fields), { upsert: true });
        return true;
      });
    });
  }

  async update(id: string, change: KeyChange): Promise<KeyRecord> {
    const changed = await this.#write(id, () => this.#change(id, change));
    if (!changed) throw new KeyStoreError('unknown_key', `There is no key with the id ${id}.`);
    return toRecord(changed);
  }

  audit(): Promise<readonly KeyAuditEntry[]> {
    return this.#connected(async () => madeOnly(await this.#audit.list()));
  }

  verifyAudit(expected?: string): Promise<AuditVerification> {
    return this.#connected(() =>
      verifyStore(this.#audit, expected, async (entries) => {
        const records: KeyRecord[] = [];
        for await (const record of this.#read({})) records.push(record);
        return (verified) => withComparison(verified, records, entries);
      }),
    );
  }

  noteUse(times: ReadonlyMap<string, number>): Promise<void> {
    return this.#connected((connection) => writeUse(connection, times));
  }

  lastUsed(): Promise<ReadonlyMap<string, number>> {
    return this.#connected(readUse);
  }

  async exportAll(): Promise<StoredKeys> {
    return { records: await this.list(), audit: await this.#connected(() => this.#audit.list()) };
  }

  async replaceAll({ records, audit: entries }: StoredKeys): Promise<void> {
    await this.#connected(async (connection) => {
      await this.#audit.replace(entries);
      await replaceKeys(connection, COLLECTION, records);
    });
    this.#all = true;
    await this.list();
  }

  async #connected<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      await this.#connection.connect();
      return await work(this.#connection);
    } catch (error) {
      throw new KeyStoreError('unavailable', (error as Error).message, { cause: error });
    }
  }

  async #change(id: string, change: KeyChange): Promise<KeyDocument | null> {
    for (;;) {
      const before = await this.#keys().findOne({ _id: id });
      if (!before) return null;
      const record = toRecord(before);
      const entry = auditEntry(record, { ...record, ...change }, this.#context.clock.now());
      if (!entry) return before;
      // If another process has changed the key, the filter does not match, and the loop retries.
      const recorded = Object.keys(entry.changes).map((name) => [
        name,
        { $eq: before[name as keyof KeyDocument] ?? null },
      ]);
      let changed: KeyDocument | null = null;
      await this.#audit.around(entry, async () => {
        changed = await this.#keys().findOneAndUpdate({ _id: id, ...Object.fromEntries(recorded) }, setting(change), {
          returnDocument: 'after',
        });
        return changed !== null;
      });
      if (changed) return changed;
    }
  }

  #conflict(id: string, cause?: unknown): KeyStoreError {
    return new KeyStoreError('conflict', `A key with the id ${id}, or with the same hash, already exists.`, { cause });
  }

  #keys() {
    return this.#connection.db.collection<KeyDocument>(COLLECTION);
  }

  /** Writes a key. When the promise resolves, the change is in effect in this process. */
  async #write<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      await this.#connection.connect();
      const result = await this.#connection.run('write a key', work);
      this.#dirty.add(id);
      await this.#poller.poll();
      return result;
    } catch (error) {
      const { cause } = error as Error;
      if (cause instanceof KeyStoreError) throw cause;
      if (isDuplicate(cause)) throw this.#conflict(id, cause);
      throw new KeyStoreError('unavailable', (error as Error).message, { cause: error });
    }
  }

  async #poll(): Promise<void> {
    const { logger } = this.#context;
    const all = this.#all;
    const dirty = this.#dirty;
    // Changes reported during this poll are left to the next poll.
    this.#all = false;
    this.#dirty = new Set();
    try {
      await this.#connection.connect();
      const { localTime } = await this.#connection.run('read the server time', (db) => db.command({ hello: 1 }));
      await (all ? this.#readAll() : this.#readChanges(dirty));
      this.#since = new Date(+localTime - OVERLAP_MS);
      if (this.#error) logger.info('the key store is reachable again');
      this.#error = undefined;
    } catch (cause) {
      this.#all ||= all;
      for (const id of dirty) this.#dirty.add(id);
      if (!this.#error) logger.warn({ err: cause }, 'the key store is unreachable; retrying');
      this.#error = new KeyStoreError('unavailable', (cause as Error).message, { cause });
    }
  }

  async #readAll(): Promise<void> {
    const cached = new CachedKeys();
    for await (const record of this.#read({})) cached.set(record);
    this.#cached = cached;
    this.#loaded = true;
    this.#notify();
  }

  async #readChanges(dirty: ReadonlySet<string>): Promise<void> {
    const deleted = new Set(dirty);
    let changed = false;
    const changes = { $or: [{ changed_at: { $gte: this.#since } }, { _id: { $in: [...dirty] } }] };
    for await (const record of this.#read(changes)) {
      deleted.delete(record.id);
      changed = this.#cached.set(record) || changed;
    }
    for (const id of deleted) changed = this.#cached.delete(id) || changed;
    if (changed) this.#notify();
  }

  async *#read(filter: Filter<KeyDocument>): AsyncGenerator<KeyRecord> {
    const cursor = this.#keys().find(filter, { batchSize: BATCH });
    for await (const batch of this.#connection.batches('read the keys', cursor))
      for (const key of batch) yield toRecord(key);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const mongoKeyStore: KeyStoreModule<Given<ConnectionOptions>> = {
  kind: 'key-store',
  name: 'mongo',
  options: connectionOptions,
  check: checkConnection,
  create: (options, context) => new MongoKeyStore(withDefaults<ConnectionOptions>(connectionOptions, options), context),
};
