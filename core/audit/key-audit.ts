/** Creates audit entries for key changes, and finds manual edits that have no audit entry. */
import { createHash } from 'node:crypto';
import type { AuditVerification } from '../contracts/audit.js';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';
import { compileSchema } from '../validation/compile-schema.js';
import { actor, madeOnly } from './chain.js';

const OMITTED: ReadonlySet<string> = new Set(['id', 'hash']);

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

/** A digest reveals whether the hash of a key has changed, but not the hash itself. */
const fingerprintOf = ({ hash }: KeyRecord): string =>
  createHash('sha256').update(`fingerprint:${hash}`).digest('hex').slice(0, 32);

const changesOf = (before: object | undefined, after: object): KeyAuditEntry['changes'] => {
  const old = new Map<string, unknown>(Object.entries(before ?? {}));
  return Object.fromEntries(
    Object.entries(after)
      .map(([name, to]) => [name, { from: old.get(name) ?? null, to: to ?? null }] as const)
      .filter(([name, { from, to }]) => !OMITTED.has(name) && from !== to),
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

/** @returns undefined if no field has changed */
export const auditEntry = (before: KeyRecord | undefined, after: KeyRecord, now: number): KeyAuditEntry | undefined => {
  const changes = changesOf(before, after);
  if (Object.keys(changes).length === 0) return undefined;
  const action = actionOf(before, after, changes);
  const fingerprint = before === undefined ? { fingerprint: fingerprintOf(after) } : {};
  return { time: new Date(now).toISOString(), action, key: after.id, ...actor(), changes, ...fingerprint };
};

interface AuditedKey {
  readonly fields: Record<string, unknown>;
  fingerprint: string | undefined;
}

/** A key that differs from its audit entries. `record` is missing if the key was removed. */
interface Unrecorded {
  readonly key: string;
  readonly record?: KeyRecord;
  readonly audited?: AuditedKey | undefined;
}

type Edit = Pick<KeyAuditEntry, 'action' | 'key' | 'changes' | 'fingerprint'>;

const replay = (entries: readonly KeyAuditEntry[]): Map<string, AuditedKey> => {
  const keys = new Map<string, AuditedKey>();
  for (const { action, key, changes, fingerprint } of entries) {
    if (action === 'remove') {
      keys.delete(key);
      continue;
    }
    const audited = keys.get(key) ?? { fields: Object.create(null), fingerprint: undefined };
    for (const [name, { to }] of Object.entries(changes)) audited.fields[name] = to;
    audited.fingerprint = fingerprint ?? audited.fingerprint;
    keys.set(key, audited);
  }
  return keys;
};

const editOf = ({ key, record, audited }: Unrecorded): Edit => {
  if (record === undefined) return { action: 'remove', key, changes: {} };
  const empty = Object.fromEntries(Object.keys(audited?.fields ?? {}).map((name) => [name, null]));
  const changes = changesOf(audited?.fields, { ...empty, ...record });
  const fingerprint = fingerprintOf(record);
  return { action: 'edit', key, changes, ...(audited?.fingerprint !== fingerprint && { fingerprint }) };
};

const compare = (records: readonly KeyRecord[], entries: readonly KeyAuditEntry[]): readonly Unrecorded[] => {
  const keys = replay(entries);
  const found: Unrecorded[] = [];
  for (const record of records) {
    const key = record.id;
    const unrecorded = { key, record, audited: keys.get(key) };
    keys.delete(key);
    if (unrecorded.audited) {
      const { changes, fingerprint } = editOf(unrecorded);
      if (Object.keys(changes).length === 0 && fingerprint === undefined) continue;
    }
    found.push(unrecorded);
  }
  return [...found, ...[...keys.keys()].map((key) => ({ key }))];
};

/** The audited fields of a key record. In the bit mask of a key, bit i is set if field i differs from the audit log. */
const FIELDS = 'pepper name tier limit_per_minute created_at expires_at revoked_at shares_limit_of'.split(' ');
/** The bit for the hash and for all fields that are not in FIELDS. */
const OTHER = 1 << FIELDS.length;

/**
 * How many of the newest audit entries are kept in memory. One entry is not enough, because a later entry can undo it.
 */
const MAX_NEWEST = 100;

type AnyRecord = Readonly<Record<string, unknown>>;

const bitOf = (name: string): number => {
  const at = FIELDS.indexOf(name);
  return at === -1 ? OTHER : 1 << at;
};

const unaudited = (record: AnyRecord): number =>
  FIELDS.reduce((bits, name, at) => ((record[name] ?? null) === null ? bits : bits | (1 << at)), OTHER);

const follow = (record: KeyRecord, differing: number, { action, changes, fingerprint }: KeyAuditEntry): number => {
  const fields = record as unknown as AnyRecord;
  if (action === 'remove') return unaudited(fields);
  let bits = differing;
  for (const [name, { to }] of Object.entries(changes)) {
    const isSame = FIELDS.includes(name) && to === (fields[name] ?? null);
    bits = isSame ? bits & ~bitOf(name) : bits | bitOf(name);
  }
  if (fingerprint === undefined) return bits;
  return fingerprint === fingerprintOf(record) ? bits & ~OTHER : bits | OTHER;
};

/** Returns the keys that might differ from the audit log. Entries of all other keys are dropped to save memory. */
export const entriesInDoubt = async (
  records: readonly KeyRecord[],
  read: () => AsyncIterable<KeyAuditEntry>,
): Promise<{ readonly records: readonly KeyRecord[]; readonly entries: readonly KeyAuditEntry[] }> => {
  const places = new Map(records.map(({ id }, place) => [id, place]));
  const differing = Uint16Array.from(records, (record) => unaudited(record as unknown as AnyRecord));
  const doubtful = new Set<string>();
  let newest: KeyAuditEntry[] = [];
  for await (const entry of read()) {
    if (entry.undoes === undefined) newest.push(entry);
    else newest = newest.filter(({ hash }) => hash === undefined || hash !== entry.undoes);
    if (newest.length > 2 * MAX_NEWEST) newest = newest.slice(-MAX_NEWEST);
    const place = places.get(entry.key);
    if (place !== undefined) differing[place] = follow(records[place]!, differing[place]!, entry);
    if (place === undefined || entry.undoes !== undefined) doubtful.add(entry.key);
  }
  for (const [id, place] of places) if (differing[place]! > 0) doubtful.add(id);
  const entries: KeyAuditEntry[] = [];
  if (doubtful.size > 0) {
    for (const { key } of newest.slice(-1)) doubtful.add(key);
    for await (const entry of read()) if (doubtful.has(entry.key)) entries.push(entry);
  }
  return { records: records.filter(({ id }) => doubtful.has(id)), entries };
};

export interface Comparison {
  readonly unrecorded: readonly Unrecorded[];
  readonly pending: KeyAuditEntry | undefined;
}

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

/** Yields one entry at a time, because audit entries need much more memory than keys. */
export function* entriesOf(unrecorded: readonly Unrecorded[], now: number): Generator<KeyAuditEntry> {
  const found = { time: new Date(now).toISOString(), ...actor() };
  for (const each of unrecorded) yield { ...found, ...editOf(each) };
}

/** Lists the changed fields without their values, for example `key_4fJ8kQ2mXw (limit_per_minute)`. */
export const describeUnrecorded = (unrecorded: Unrecorded): string => {
  const { action, key, changes, fingerprint } = editOf(unrecorded);
  if (action === 'remove') return `${key} (removed)`;
  if (changes['created_at']?.from === null) return `${key} (new)`;
  return `${key} (${[...(fingerprint === undefined ? [] : ['hash']), ...Object.keys(changes)].join(', ')})`;
};

export const withComparison = (
  verified: AuditVerification,
  records: readonly KeyRecord[],
  entries: readonly KeyAuditEntry[],
): AuditVerification => {
  const { unrecorded, pending } = compareWithAudit(records, entries);
  const byHand = unrecorded.map((each) => `${describeUnrecorded(each)} was edited by hand: it has no entry`);
  const stopped = pending ? [`the newest change, of ${pending.key}, was not made, or is still being made`] : [];
  return { ...verified, faults: [...verified.faults, ...byHand], notes: [...verified.notes, ...stopped] };
};
