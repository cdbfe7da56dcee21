/** Finds what the audit does not tell of the keys as they are: somebody has edited them by hand. */
import { actor } from '../audit/actor.js';
import { madeOnly } from '../audit/chain.js';
import type { AuditVerification } from '../contracts/audit.js';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';
import { changesOf, fingerprintOf } from './audit-entry.js';

/** An entry about it, but for when and by whom it was found. */
export type Unrecorded = Pick<KeyAuditEntry, 'action' | 'key' | 'changes' | 'fingerprint'>;

interface Told {
  readonly fields: Record<string, unknown>;
  fingerprint: string | undefined;
}

/** The keys as the entries left them. Entries of version 1.0 have no fingerprint. */
const toldBy = (entries: readonly KeyAuditEntry[]): Map<string, Told> => {
  const keys = new Map<string, Told>();
  for (const { action, key, changes, fingerprint } of entries) {
    if (action === 'remove') {
      keys.delete(key);
      continue;
    }
    const told = keys.get(key) ?? { fields: Object.create(null), fingerprint: undefined };
    for (const [name, { to }] of Object.entries(changes)) told.fields[name] = to;
    told.fingerprint = fingerprint ?? told.fingerprint;
    keys.set(key, told);
  }
  return keys;
};

const compare = (records: readonly KeyRecord[], entries: readonly KeyAuditEntry[]): readonly Unrecorded[] => {
  const keys = toldBy(entries);
  const found: Unrecorded[] = [];
  for (const record of records) {
    const told = keys.get(record.id);
    keys.delete(record.id);
    // A field that was taken out of a record counts as null.
    const empty = Object.fromEntries(Object.keys(told?.fields ?? {}).map((name) => [name, null]));
    const changes = changesOf(told?.fields, { ...empty, ...record });
    const fingerprint = fingerprintOf(record);
    const isOther = told?.fingerprint !== undefined && told.fingerprint !== fingerprint;
    if (Object.keys(changes).length === 0 && !isOther) continue;
    found.push({ action: 'edit', key: record.id, changes, ...(isOther || !told ? { fingerprint } : {}) });
  }
  return [...found, ...[...keys.keys()].map((key) => ({ action: 'remove' as const, key, changes: {} }))];
};

export interface Comparison {
  readonly unrecorded: readonly Unrecorded[];
  /** The newest entry, where its change has not been made: it is about to be, or the process was stopped before. */
  readonly pending: KeyAuditEntry | undefined;
}

/** @param entries all of the audit */
export const compareWithAudit = (records: readonly KeyRecord[], entries: readonly KeyAuditEntry[]): Comparison => {
  const made = madeOnly(entries);
  const unrecorded = compare(records, made);
  const newest = made.at(-1);
  if (newest === undefined || !unrecorded.some(({ key }) => key === newest.key))
    return { unrecorded, pending: undefined };
  const before = compare(records, made.slice(0, -1));
  return before.some(({ key }) => key === newest.key)
    ? { unrecorded, pending: undefined }
    : { unrecorded: before, pending: newest };
};

/** @param now milliseconds since 1970 */
export const entriesOf = (unrecorded: readonly Unrecorded[], now: number): readonly KeyAuditEntry[] => {
  const found = { time: new Date(now).toISOString(), ...actor() };
  return unrecorded.map((each) => ({ ...found, ...each }));
};

/** In words, without what the fields hold: `key_4fJ8kQ2mXw (limit_per_minute)`. */
export const describeUnrecorded = ({ action, key, changes, fingerprint }: Unrecorded): string => {
  if (action === 'remove') return `${key} (removed)`;
  if (changes['created_at']?.from === null) return `${key} (new)`;
  return `${key} (${[...(fingerprint === undefined ? [] : ['hash']), ...Object.keys(changes)].join(', ')})`;
};

/** A verification of the chain, and what the entries do not tell of the keys as they are. */
export const withComparison = (
  verified: AuditVerification,
  records: readonly KeyRecord[],
  entries: readonly KeyAuditEntry[],
): AuditVerification => {
  const { unrecorded, pending } = compareWithAudit(records, entries);
  const byHand = unrecorded.map((each) => `no entry tells of ${describeUnrecorded(each)}: it was edited by hand`);
  const stopped = pending ? [`the newest change, of ${pending.key}, was not made, or is not yet`] : [];
  return { ...verified, faults: [...verified.faults, ...byHand], notes: [...verified.notes, ...stopped] };
};
