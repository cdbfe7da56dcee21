import { createHash } from 'node:crypto';
import type { AuditVerification, DataAuditEntry } from '../contracts/audit.js';
import { compileSchema } from '../validation/compile-schema.js';
import { actor } from './chain.js';

const text = { type: 'string' };
export const isDataAuditEntry = compileSchema<DataAuditEntry>({
  type: 'object',
  required: ['time', 'by', 'action', 'version'],
  properties: {
    time: text,
    by: text,
    action: text,
    version: text,
    replaces: { type: ['string', 'null'] },
    content: text,
  },
});

export const sumsOf = ({
  collections,
}: {
  readonly collections: Readonly<Record<string, { readonly sha256?: string }>>;
}): ReadonlyMap<string, string> =>
  new Map(Object.entries(collections).map(([name, { sha256 = '' }]) => [name, sha256]));

export const contentOf = (sums: Iterable<readonly [string, string]>): string => {
  const lines = [...sums].map(([name, sha256]) => `${name} ${sha256}\n`).sort();
  return createHash('sha256').update(lines.join('')).digest('hex');
};

export const dataAuditEntry = (
  change: Pick<DataAuditEntry, 'action' | 'version' | 'replaces' | 'content'>,
  now: number,
): DataAuditEntry => ({ time: new Date(now).toISOString(), ...change, ...actor() });

/** The versions in a store, oldest first. `versions` is set only if the store keeps several versions. */
export interface PublishedNow {
  readonly current: string | null;
  readonly versions?: readonly string[];
}

/** Returns publications and activations, even if they never took effect. */
const movesOf = (entries: readonly DataAuditEntry[]): readonly DataAuditEntry[] =>
  entries.filter(({ action }) => action !== 'prune');

const wasMade = (entry: DataAuditEntry, next: string | null | undefined): boolean => next === entry.version;

const madeOf = (moves: readonly DataAuditEntry[], current: string | null): readonly DataAuditEntry[] =>
  moves.filter((entry, i) => {
    const next = moves[i + 1];
    return wasMade(entry, next ? next.replaces : current);
  });

const nameOf = (version: string | null | undefined): string => (version == null ? 'none' : `"${version}"`);

const faultsOfMoves = (moves: readonly DataAuditEntry[], current: string | null): readonly string[] =>
  moves.flatMap((entry, i) => {
    const next = moves[i + 1];
    const found = next ? next.replaces : current;
    if (wasMade(entry, found) || found === entry.replaces) return [];
    const when = next ? `before ${next.time}` : 'now';
    return [
      `no entry records how ${nameOf(found)} became the current version: after ${entry.time} it was ` +
        `${nameOf(entry.version)}, and ${when} it is the other`,
    ];
  });

export const publicationOf = (
  entries: readonly DataAuditEntry[],
  version: string,
  current: string | null,
): DataAuditEntry | undefined =>
  madeOf(movesOf(entries), current).findLast((entry) => entry.action === 'publish' && entry.version === version);

const faultsOfVersions = (
  entries: readonly DataAuditEntry[],
  moves: readonly DataAuditEntry[],
  versions: readonly string[],
  current: string | null,
): readonly string[] => {
  const made = new Set(madeOf(moves, current));
  const last = new Map<string, DataAuditEntry>();
  for (const entry of entries) {
    if (entry.action === 'prune' || (entry.action === 'publish' && made.has(entry))) last.set(entry.version, entry);
  }
  const kept = new Set(versions);
  const gone = [...last.values()].filter(({ action, version }) => action === 'publish' && !kept.has(version));
  const back = [...last.values()].filter(({ action, version }) => action === 'prune' && kept.has(version));
  // Versions have no audit entries if they were published before auditing started.
  const first = versions.findIndex((version) => last.has(version));
  const published = new Set(entries.filter(({ action }) => action === 'publish').map(({ version }) => version));
  const unknown = first === -1 ? [] : versions.slice(first).filter((version) => !published.has(version));
  return [
    ...gone.map(({ version, time }) => `no entry records how "${version}", published at ${time}, was deleted`),
    ...back.map(({ version, time }) => `"${version}" still exists, although the entry of ${time} deletes it`),
    ...unknown.map((version) => `no entry records how "${version}" was published`),
  ];
};

export const withPublished = (
  verified: AuditVerification,
  entries: readonly DataAuditEntry[],
  { current, versions }: PublishedNow,
): AuditVerification => {
  const moves = movesOf(entries);
  const newest = moves.at(-1);
  const isPending = newest !== undefined && newest.version !== current && newest.replaces === current;
  const notes = isPending
    ? [`the newest change, ${newest.action} "${newest.version}", was not made, or is still in progress`]
    : [];
  const faults = faultsOfMoves(moves, current);
  const more = versions ? faultsOfVersions(entries, moves, versions, current) : [];
  return { ...verified, notes: [...verified.notes, ...notes], faults: [...verified.faults, ...faults, ...more] };
};
