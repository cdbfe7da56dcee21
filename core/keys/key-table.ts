import type { KeyChange, KeyRecord } from '../contracts/keys.js';
import { KeyStoreError } from '../errors.js';
import type { LineChange } from './key-lines.js';

export const withInserted = (records: readonly KeyRecord[], record: KeyRecord): KeyRecord[] => {
  if (records.some(({ id, hash }) => id === record.id || hash === record.hash)) {
    throw new KeyStoreError('conflict', `A key with the id ${record.id}, or with the same hash, already exists.`);
  }
  return [...records, record];
};

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

/** Returns the keys after a change, or undefined if an id or hash would no longer be unique. */
export const withChange = (
  records: readonly KeyRecord[],
  { at, removed, added }: Omit<LineChange, 'lines'>,
): readonly KeyRecord[] | undefined => {
  const changed = records.toSpliced(at, removed.length, ...added);
  const [ids, hashes] = [new Set(added.map(({ id }) => id)), new Set(added.map(({ hash }) => hash))];
  if (ids.size < added.length || hashes.size < added.length) return undefined;
  const found = changed.filter(({ id, hash }) => ids.has(id) || hashes.has(hash));
  return found.length === added.length ? changed : undefined;
};

export const indexByHash = (records: readonly KeyRecord[]): Map<string, KeyRecord> =>
  new Map(records.map((record) => [record.hash, record]));
