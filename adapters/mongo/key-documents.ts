import { isDeepStrictEqual } from 'node:util';
import type { KeyRecord } from 'metro-forecast-api/adapter';
import type { Collection as MongoCollection, Document as MongoDocument } from 'mongodb';
import type { Connection } from './connection.js';

export interface KeyDocument {
  readonly _id: string;
  readonly hash: string;
  readonly pepper?: number | null;
  readonly name: string;
  readonly tier: string;
  readonly limit_per_minute: number | null;
  readonly created_at: string | Date;
  readonly expires_at?: string | Date | null;
  readonly revoked_at?: string | Date | null;
  readonly shares_limit_of?: string | null;
  /** The time of the last change by the server's clock. Polls use this time to find changed keys. */
  readonly changed_at?: Date;
}

const time = (value: string | Date | null | undefined): string | null =>
  value instanceof Date ? value.toISOString() : (value ?? null);

/** Accepts dates instead of strings, and missing fields, because operators can edit key documents. */
export const toRecord = (document: KeyDocument): KeyRecord => ({
  id: document._id,
  hash: document.hash,
  name: document.name,
  tier: document.tier,
  limit_per_minute: document.limit_per_minute ?? null,
  created_at: time(document.created_at) ?? '',
  expires_at: time(document.expires_at),
  revoked_at: time(document.revoked_at),
  ...(document.pepper ? { pepper: document.pepper } : {}),
  ...(document.shares_limit_of ? { shares_limit_of: document.shares_limit_of } : {}),
});

/** `$literal` keeps MongoDB from evaluating the values. */
export const setting = (fields: Partial<KeyRecord>): MongoDocument[] => [
  {
    $set: {
      ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { $literal: value }])),
      changed_at: '$$NOW',
    },
  },
];

export class CachedKeys {
  readonly #byId = new Map<string, KeyRecord>();
  readonly #byHash = new Map<string, KeyRecord>();

  lookup(hash: string): KeyRecord | undefined {
    return this.#byHash.get(hash);
  }

  list(): readonly KeyRecord[] {
    return [...this.#byId.values()].sort(
      (a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id),
    );
  }

  set(record: KeyRecord): boolean {
    if (isDeepStrictEqual(this.#byId.get(record.id), record)) return false;
    this.delete(record.id);
    this.#byId.set(record.id, record);
    this.#byHash.set(record.hash, record);
    return true;
  }

  delete(id: string): boolean {
    const record = this.#byId.get(id);
    if (!record) return false;
    // An operator might have moved the hash to another id.
    if (this.#byHash.get(record.hash) === record) this.#byHash.delete(record.hash);
    return this.#byId.delete(id);
  }
}

export const prepareKeys = (keys: MongoCollection<KeyDocument>): Promise<unknown> =>
  keys.createIndexes([{ key: { hash: 1 }, unique: true }, { key: { changed_at: 1 } }]);

export const replaceKeys = async (
  connection: Connection,
  name: string,
  records: readonly KeyRecord[],
): Promise<void> => {
  const keys = connection.db.collection<KeyDocument>(name);
  await connection.run('delete the keys', () => keys.deleteMany({}));
  await connection.run('delete the use of keys', (db) => db.collection(USE_COLLECTION).deleteMany({}));
  await connection.run('create the indexes of keys', () => prepareKeys(keys));
  const changed_at = new Date();
  for (let from = 0; from < records.length; from += BATCH) {
    const batch = records.slice(from, from + BATCH).map(({ id, ...fields }) => ({ _id: id, ...fields, changed_at }));
    await connection.run('write the keys', () => keys.insertMany(batch));
  }
};

/**
 * The time at which each key was last used is stored in a separate collection that replicas do not watch. Otherwise,
 * each use of a key would make every replica read the key again.
 */
const USE_COLLECTION = 'api_key_use';
const BATCH = 1000;

interface UseDocument {
  readonly _id: string;
  readonly last_used_at: Date;
}

/**
 * Stores when keys were last used. A stored time is replaced only by a later time.
 * @param times milliseconds since 1970, by key id
 */
export const writeUse = async (connection: Connection, times: ReadonlyMap<string, number>): Promise<void> => {
  const updates = [...times].map(([id, time]) => ({
    updateOne: { filter: { _id: id }, update: { $max: { last_used_at: new Date(time) } }, upsert: true },
  }));
  for (let from = 0; from < updates.length; from += BATCH) {
    await connection.run('note the use of keys', (db) =>
      db.collection<UseDocument>(USE_COLLECTION).bulkWrite(updates.slice(from, from + BATCH), { ordered: false }),
    );
  }
};

export const readUse = async (connection: Connection): Promise<ReadonlyMap<string, number>> => {
  const cursor = connection.db.collection<UseDocument>(USE_COLLECTION).find({});
  const times = new Map<string, number>();
  for await (const batch of connection.batches('read the use of keys', cursor))
    for (const { _id, last_used_at } of batch) times.set(_id, +last_used_at);
  return times;
};
