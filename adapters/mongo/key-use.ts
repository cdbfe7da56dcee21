/**
 * When API keys were used last, in a collection of its own: no replica watches it, and in the keys' own documents each
 * time would make every replica read the key again.
 */
import type { Connection } from './connection.js';

const COLLECTION = 'api_key_use';
const BATCH = 1000;

interface UseDocument {
  readonly _id: string;
  readonly last_used_at: Date;
}

/** Keeps of each key the later time. */
export const writeUse = async (connection: Connection, times: ReadonlyMap<string, number>): Promise<void> => {
  const updates = [...times].map(([id, time]) => ({
    updateOne: { filter: { _id: id }, update: { $max: { last_used_at: new Date(time) } }, upsert: true },
  }));
  for (let from = 0; from < updates.length; from += BATCH) {
    await connection.run('note the use of keys', (db) =>
      db.collection<UseDocument>(COLLECTION).bulkWrite(updates.slice(from, from + BATCH), { ordered: false }),
    );
  }
};

/** By id, in milliseconds since 1970. */
export const readUse = async (connection: Connection): Promise<ReadonlyMap<string, number>> => {
  const cursor = connection.db.collection<UseDocument>(COLLECTION).find({});
  const times = new Map<string, number>();
  for await (const batch of connection.batches('read the use of keys', cursor))
    for (const { _id, last_used_at } of batch) times.set(_id, +last_used_at);
  return times;
};
