/** The audit of keys: an entry for each change, and what no entry tells of, since somebody has edited keys by hand. */
import { createHash } from 'node:crypto';
import type { AuditVerification } from '../contracts/audit.js';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';
import { compileSchema } from '../validation/compile-schema.js';
import { actor, madeOnly } from './chain.js';

/** Not in the audit's changes: the id, which has a field of its own, and the hash, which is secret. */
const UNTOLD: ReadonlySet<string> = new Set(['id', 'hash']);

const text = { type: 'string' };
export const isKeyAuditEntry = compileSchema<KeyAuditEntry>({
  type: 'object',
  required: ['time', 'action', 'key', 'by', 'changes'],
  properties: {
    time: text,
    action: text,
    key: text,
    by: text,
    changes: { type: 'object', additionalProperties: { type: 'object', required: ['from', 'to'] } },
  },
});

/** A digest that differs when the hash differs, and reveals nothing of it. */
const fingerprintOf = ({ hash }: KeyRecord): string =>
  createHash('sha256').update(`fingerprint:${hash}`).digest('hex').slice(0, 32);

/** The fields that differ; without a record before, all were null. */
const changesOf = (before: object | undefined, after: object): KeyAuditEntry['changes'] => {
  const old = new Map<string, unknown>(Object.entries(before ?? {}));
  return Object.fromEntries(
    Object.entries(after)
      .map(([name, to]) => [name, { from: old.get(name) ?? null, to: to ?? null }] as const)
      .filter(([name, { from, to }]) => !UNTOLD.has(name) && from !== to),
  );
};

const actionOf = (
  before: KeyRecord | undefined,
  after: KeyRecord,
  changes: KeyAuditEntry['changes'],
): KeyAuditEntry['action'] => {
  if (before === undefined) return after.shares_limit_of === undefined ? 'create' : 'rotate';
  if (changes['revoked_at'] && after.revoked_at !== null) return 'revoke';
  const fields = Object.keys(changes).join();
  if (fields === 'limit_per_minute') return 'limit';
  if (fields === 'tier') return 'tier';
  return fields === 'expires_at' ? 'expire' : 'change';
};

/**
 * @param before undefined for a new key
 * @param now milliseconds since 1970
 * @returns undefined when nothing changes
 */
export const auditEntry = (before: KeyRecord | undefined, after: KeyRecord, now: number): KeyAuditEntry | undefined => {
  const changes = changesOf(before, after);
  if (Object.keys(changes).length === 0) return undefined;
  const action = actionOf(before, after, changes);
  const fingerprint = before === undefined ? { fingerprint: fingerprintOf(after) } : {};
  return { time: new Date(now).toISOString(), action, key: after.id, ...actor(), changes, ...fingerprint };
};

/** What the audit does not tell of a key: as an entry, without when and by whom it was found. */
type Unrecorded = Pick<KeyAuditEntry, 'action' | 'key' | 'changes' | 'fingerprint'>;

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

interface Comparison {
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
