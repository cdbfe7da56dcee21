/** Changes to a list of key records, with the rules that every store keeps; and the index to look them up by. */
import type { KeyChange, KeyRecord } from '../contracts/keys.js';
import { KeyStoreError } from '../errors.js';

/** @throws KeyStoreError `conflict` when the id or the hash is there already */
export const withInserted = (records: readonly KeyRecord[], record: KeyRecord): KeyRecord[] => {
  if (records.some(({ id, hash }) => id === record.id || hash === record.hash)) {
    throw new KeyStoreError('conflict', `There is a key with the id ${record.id}, or the same key, already.`);
  }
  return [...records, record];
};

/** @throws KeyStoreError `unknown_key` when there is no such id */
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
