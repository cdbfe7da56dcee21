/** Audit entries: who makes them, and their chain of hashes, which shows entries that were changed or removed later. */
import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { AuditEntry, AuditVerification } from '../contracts/audit.js';

/** The user's name; a user of a container may have none. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

/** A variable of the environment: a hint and no proof, since the user may have changed it. */
const said = (name: string): string | undefined => /^[\w.:@-]{1,64}/.exec(process.env[name] ?? '')?.[0];

export const actor = (): { readonly by: string; readonly host: string } => {
  const behind = said('SUDO_USER');
  const login = said('SSH_CONNECTION');
  return {
    by: behind === undefined ? userName() : `${userName()} (sudo by ${behind})`,
    host: login === undefined ? hostname() : `${hostname()} (ssh from ${login})`,
  };
};

/** An entry and where it stands, for messages: `line 7`. */
export interface Placed<E extends AuditEntry> {
  readonly entry: E;
  readonly place: string;
}

/** JSON with the names of each object sorted: stores may give them back in another sequence. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const digest = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex');

const hashOf = ({ hash: _, ...rest }: AuditEntry): string => digest(rest);

/** @param previous hash of the entry before, or `startOf` */
export const chain = <E extends AuditEntry>(entry: E, previous: string | null): E & { readonly hash: string } => {
  const linked = { ...entry, previous };
  return { ...linked, hash: hashOf(linked) };
};

/** What the first chained entry has as `previous`: the hash of all entries of version 1.0 before it; null: of none. */
export const startOf = (unchained: readonly AuditEntry[]): string | null =>
  unchained.length === 0 ? null : digest(unchained);

/** The hash that the next entry has as `previous`, unless the store keeps a head apart from the entries. */
export const endOf = (entries: readonly AuditEntry[]): string | null =>
  entries.findLast(({ hash }) => hash !== undefined)?.hash ?? startOf(entries);

const firstFault = <E extends AuditEntry>({ entry, place }: Placed<E>, previous: string | null): string | undefined => {
  if (entry.hash === undefined) return `${place} has no hash: version 1.0 wrote it, or somebody put it in`;
  if (entry.hash !== hashOf(entry)) return `${place} is not as it was written`;
  if (entry.previous === previous) return undefined;
  return `${place} does not follow the entry before it: entries were removed, put in, moved or written anew there`;
};

/**
 * @param placed all entries, the oldest first
 * @param head the hash of the newest entry as the store keeps it apart; undefined: it keeps none
 * @param expected the hash of an entry that must be there, as an earlier verification told it
 */
export const verifyChain = <E extends AuditEntry>(
  placed: readonly Placed<E>[],
  head: string | null | undefined,
  expected?: string,
): AuditVerification => {
  const first = placed.findIndex(({ entry }) => entry.hash !== undefined);
  const unchained = first === -1 ? placed : placed.slice(0, first);
  const chained = first === -1 ? [] : placed.slice(first);
  const faults: string[] = [];
  let previous = startOf(unchained.map(({ entry }) => entry));
  for (const each of chained) {
    const fault = firstFault(each, previous);
    if (fault !== undefined) faults.push(fault);
    previous = each.entry.hash ?? previous;
  }
  const last = chained.at(-1)?.entry;
  if (head === undefined) {
    if (last) faults.push('the record of the newest entry is missing: newer ones may have been removed with it');
    // A process may have been stopped after it wrote an entry and before it wrote the head.
  } else if (head !== previous && last?.previous !== head) {
    faults.push(`the newest entry is missing: its hash is ${head}`);
  }
  if (expected !== undefined && !chained.some(({ entry }) => entry.hash === expected)) {
    faults.push(`no entry has the hash ${expected}: entries were removed or written anew`);
  }
  return {
    chained: chained.filter(({ entry }) => entry.hash !== undefined).length,
    unchained: unchained.length,
    head: last?.hash ?? null,
    notes: [],
    faults,
  };
};

/** The entries of changes that were made. */
export const madeOnly = <E extends AuditEntry>(entries: readonly E[]): readonly E[] => {
  const undone = new Set(entries.flatMap(({ undoes }) => undoes ?? []));
  if (undone.size === 0) return entries;
  return entries.filter(({ hash, undoes }) => undoes === undefined && !(hash !== undefined && undone.has(hash)));
};

/** The entry that says that the change of an earlier entry was not made. */
export const undoing = <E extends AuditEntry>(
  { previous: _, hash, ...entry }: E,
  time: string,
): Omit<E, 'previous' | 'hash'> & { readonly undoes: string } => ({ ...entry, time, undoes: hash! });
