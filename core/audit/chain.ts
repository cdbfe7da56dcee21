/** Audit entries: who makes them, and the chain of hashes that shows later changes and removals. */
import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { AuditEntry, AuditVerification } from '../contracts/audit.js';

/** The name of the current user. In a container the user may have no name. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

/** Reads an environment variable. It is a hint, not proof, since the user can set it. */
const hint = (name: string): string | undefined => /^[\w.:@-]{1,64}/.exec(process.env[name] ?? '')?.[0];

/** Who runs this process, and from where. */
export const actor = (): { readonly by: string; readonly host: string } => {
  const sudoUser = hint('SUDO_USER');
  const sshConnection = hint('SSH_CONNECTION');
  return {
    by: sudoUser === undefined ? userName() : `${userName()} (sudo by ${sudoUser})`,
    host: sshConnection === undefined ? hostname() : `${hostname()} (ssh from ${sshConnection})`,
  };
};

/** An entry and its position as messages show it: `line 7`. */
export interface Placed<E extends AuditEntry> {
  readonly entry: E;
  readonly place: string;
}

/** JSON with sorted names, since a store may return the fields of an entry in another order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const hashOf = ({ hash: _, ...rest }: AuditEntry): string => createHash('sha256').update(canonical(rest)).digest('hex');

/** @param previous hash of the previous entry; null for the first one */
export const chain = <E extends AuditEntry>(entry: E, previous: string | null): E & { readonly hash: string } => {
  const linked = { ...entry, previous };
  return { ...linked, hash: hashOf(linked) };
};

/** The hash of the newest entry that has one; null if there is none. */
export const endOf = (entries: readonly AuditEntry[]): string | null =>
  entries.findLast(({ hash }) => hash !== undefined)?.hash ?? null;

const findError = <E extends AuditEntry>({ entry, place }: Placed<E>, previous: string | null): string | undefined => {
  if (entry.hash === undefined) return `${place} has no hash: it was inserted by hand`;
  if (entry.hash !== hashOf(entry)) return `${place} was changed after it was written`;
  if (entry.previous === previous) return undefined;
  return `${place} does not follow the previous entry: entries were removed, inserted, moved or rewritten`;
};

/**
 * Checks all entries and their order.
 * @param placed all entries, oldest first
 * @param head the hash of the newest entry, which the store keeps separately; undefined if it is missing
 * @param expected the hash of an entry that must be present, as an earlier verification printed it
 */
export const verifyChain = <E extends AuditEntry>(
  placed: readonly Placed<E>[],
  head: string | null | undefined,
  expected?: string,
): AuditVerification => {
  const errors: string[] = [];
  let previous: string | null = null;
  for (const each of placed) {
    const error = findError(each, previous);
    if (error !== undefined) errors.push(error);
    previous = each.entry.hash ?? previous;
  }
  const chained = placed.map(({ entry }) => entry).filter(({ hash }) => hash !== undefined);
  const last = chained.at(-1);
  if (head === undefined) {
    if (last) errors.push('the hash of the newest entry is missing: newer entries may have been removed with it');
    // A process may have been stopped after it wrote an entry and before it wrote the head.
  } else if (head !== previous && last?.previous !== head) {
    errors.push(`the newest entry is missing: its hash is ${head}`);
  }
  if (expected !== undefined && !chained.some(({ hash }) => hash === expected)) {
    errors.push(`no entry has the hash ${expected}: entries were removed or rewritten`);
  }
  return { chained: chained.length, head: last?.hash ?? null, notes: [], faults: errors };
};

/** Leaves out changes that were not made, and the entries that say so. */
export const madeOnly = <E extends AuditEntry>(entries: readonly E[]): readonly E[] => {
  const undone = new Set(entries.flatMap(({ undoes }) => undoes ?? []));
  if (undone.size === 0) return entries;
  return entries.filter(({ hash, undoes }) => undoes === undefined && !(hash !== undefined && undone.has(hash)));
};

/** An entry that says that the change of an earlier entry was not made. */
export const undoing = <E extends AuditEntry>(
  { previous: _, hash, ...entry }: E,
  time: string,
): Omit<E, 'previous' | 'hash'> & { readonly undoes: string } => ({ ...entry, time, undoes: hash! });
