/** Changes to a list of key records, by the rules of every store. */
import type { KeyChange, KeyRecord } from '../contracts/keys.js';
import { KeyStoreError } from '../errors.js';

/** @throws KeyStoreError `conflict` if the id or the hash exists already */
export const withInserted = (records: readonly KeyRecord[], record: KeyRecord): KeyRecord[] => {
  if (records.some(({ id, hash }) => id === record.id || hash === record.hash)) {
    throw new KeyStoreError('conflict', `A key with the id ${record.id}, or with the same hash, already exists.`);
  }
  return [...records, record];
};

/** @throws KeyStoreError `unknown_key` if the id does not exist */
export const withChanged = (
  records: readonly KeyRecord[],
  id: string,
  change: KeyChange,
): { records: KeyRecord[]; changed: KeyRecord } => {
  const at = records.findIndex((record) => record.id === id);
  const record = records[at];
  if (record === undefined) throw new KeyStoreError('unknown_key', `There is no key with the id ${id}.`);
  const changed = { ...record, ...change };
  return { records: records.with(at, changed), changed };
};

export const indexByHash = (records: readonly KeyRecord[]): ReadonlyMap<string, KeyRecord> =>
  new Map(records.map((record) => [record.hash, record]));
