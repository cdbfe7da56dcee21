/** Each audit entry contains the hash of the previous one, so that later edits and removals can be detected. */
import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { AuditEntry, AuditVerification } from '../contracts/audit.js';

/** `userInfo` throws if the user id has no entry in `/etc/passwd`, which is common in containers. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

/** Users can set environment variables to any value, so audit entries based on them cannot be trusted. */
const hint = (name: string): string | undefined => /^[\w.:@-]{1,64}/.exec(process.env[name] ?? '')?.[0];

export const actor = (): { readonly by: string; readonly host: string } => {
  const sudoUser = hint('SUDO_USER');
  const sshConnection = hint('SSH_CONNECTION');
  return {
    by: sudoUser === undefined ? userName() : `${userName()} (sudo by ${sudoUser})`,
    host: sshConnection === undefined ? hostname() : `${hostname()} (ssh from ${sshConnection})`,
  };
};

/** An entry and its location, such as `line 7`. Error messages contain the location. */
export interface Placed<E extends AuditEntry> {
  readonly entry: E;
  readonly place: string;
}

/** Sorts property names before hashing, because a store might return fields in a different order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const hashOf = ({ hash: _, ...rest }: AuditEntry): string => createHash('sha256').update(canonical(rest)).digest('hex');

export const chain = <E extends AuditEntry>(entry: E, previous: string | null): E & { readonly hash: string } => {
  const linked = { ...entry, previous };
  return { ...linked, hash: hashOf(linked) };
};

export const endOf = (entries: readonly AuditEntry[]): string | null =>
  entries.findLast(({ hash }) => hash !== undefined)?.hash ?? null;

const findError = <E extends AuditEntry>({ entry, place }: Placed<E>, previous: string | null): string | undefined => {
  if (entry.hash === undefined) return `${place} has no hash: it was inserted by hand`;
  if (entry.hash !== hashOf(entry)) return `${place} was changed after it was written`;
  if (entry.previous === previous) return undefined;
  return `${place} does not follow the previous entry: entries were removed, inserted, moved or rewritten`;
};

/**
 * @param head the separately stored hash of the newest entry; undefined if it is missing
 * @param expected a hash that must occur in the log
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
    // The hash of the second newest entry is also accepted: a process can stop after it wrote an entry, and before it
    // stored the hash of the entry.
  } else if (head !== previous && last?.previous !== head) {
    errors.push(`the newest entry is missing: its hash is ${head}`);
  }
  if (expected !== undefined && !chained.some(({ hash }) => hash === expected)) {
    errors.push(`no entry has the hash ${expected}: entries were removed or rewritten`);
  }
  return { chained: chained.length, head: last?.hash ?? null, notes: [], faults: errors };
};

interface AuditLog<E extends AuditEntry> {
  list(): Promise<readonly E[]>;
  verify(expected?: string): Promise<AuditVerification>;
}

/**
 * Verifies an audit log and the store that it describes. Retries if an entry is added in the meantime.
 * @param compare reads the store, and returns a function that adds the differences to the result
 */
export const verifyStore = async <E extends AuditEntry>(
  log: AuditLog<E>,
  expected: string | undefined,
  compare: (entries: readonly E[]) => Promise<(verified: AuditVerification) => AuditVerification>,
): Promise<AuditVerification> => {
  for (;;) {
    const entries = await log.list();
    const withDifferences = await compare(entries);
    const verified = await log.verify(expected);
    if (endOf(entries) === verified.head) return withDifferences(verified);
  }
};

/** Removes audit entries whose changes were never made, and the entries that undo them. */
export const madeOnly = <E extends AuditEntry>(entries: readonly E[]): readonly E[] => {
  const undone = new Set(entries.flatMap(({ undoes }) => undoes ?? []));
  if (undone.size === 0) return entries;
  return entries.filter(({ hash, undoes }) => undoes === undefined && !(hash !== undefined && undone.has(hash)));
};

/** Returns an entry that undoes an earlier entry whose change was never made. */
export const undoing = <E extends AuditEntry>(
  { previous: _, hash, ...entry }: E,
  time: string,
): Omit<E, 'previous' | 'hash'> & { readonly undoes: string } => ({ ...entry, time, undoes: hash! });
