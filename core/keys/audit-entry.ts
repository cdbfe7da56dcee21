/** What the audit keeps of a change: when, who, and each field before and after. */
import { userInfo } from 'node:os';
import type { KeyAuditEntry, KeyRecord } from '../contracts/keys.js';

/** The id has a place of its own, and the hash is nobody's business. */
const UNTOLD: ReadonlySet<string> = new Set(['id', 'hash']);

const changesOf = (before: KeyRecord | undefined, after: KeyRecord): KeyAuditEntry['changes'] => {
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
  return fields === 'expires_at' ? 'expire' : 'change';
};

/** Containers may run as a user whom the system has no name for. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
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
  return { time: new Date(now).toISOString(), action, key: after.id, by: userName(), changes };
};
