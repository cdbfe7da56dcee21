/** The audit of API keys: one document for each change, in a collection of its own that no replica watches. */
import { type Db, ObjectId } from 'mongodb';
import type { KeyAuditEntry } from '../../core/contracts/keys.js';
import type { Connection } from './connection.js';
import { isDuplicate } from './duplicate.js';

const COLLECTION = 'api_key_audit';

interface AuditDocument extends KeyAuditEntry {
  readonly _id: ObjectId;
}

const documents = (db: Db) => db.collection<AuditDocument>(COLLECTION);

/**
 * Keeps the entry, then makes the change. Takes the entry back where the change was surely not made; where nobody
 * knows, since MongoDB went away meanwhile, the entry stays.
 * @param change null: not made
 */
export const audited = async <T>(db: Db, entry: KeyAuditEntry, change: () => Promise<T | null>): Promise<T | null> => {
  const _id = new ObjectId();
  await documents(db).insertOne({ _id, ...entry });
  const takeBack = () => documents(db).deleteOne({ _id });
  try {
    const made = await change();
    if (made === null) await takeBack();
    return made;
  } catch (error) {
    if (isDuplicate(error)) await takeBack();
    throw error;
  }
};

/** The oldest first. */
export const readAudit = async (connection: Connection): Promise<readonly KeyAuditEntry[]> => {
  const cursor = documents(connection.db).find({}, { projection: { _id: 0 }, sort: { time: 1, _id: 1 } });
  const entries: KeyAuditEntry[] = [];
  for await (const batch of connection.batches('read the audit', cursor)) entries.push(...batch);
  return entries;
};
