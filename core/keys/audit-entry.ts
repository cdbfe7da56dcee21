/** What the audit keeps of a change: when, who, from where, and each field before and after. */
import { createHash } from 'node:crypto';
import { actor } from '../audit/actor.js';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';
import { compileSchema } from '../validation/compile-schema.js';

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

/** Shows that a hash is another, and nothing about it. */
export const fingerprintOf = ({ hash }: KeyRecord): string =>
  createHash('sha256').update(`fingerprint:${hash}`).digest('hex').slice(0, 32);

/** The fields that differ; of no record, all are null. */
export const changesOf = (before: object | undefined, after: object): KeyAuditEntry['changes'] => {
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
