import memory from '../../../../adapters/memory.js';
import { chain, endOf, verifyChain } from '../../../../core/audit/chain.js';
import { dataAuditEntry, withPublished } from '../../../../core/audit/data-audit.js';
import type { DataAudit, DataAuditEntry } from '../../../../core/contracts/audit.js';
import type { StorageAdapter } from '../../../../core/contracts/storage.js';
import type { Breakage } from '../breakable.js';
import type { BrokenAdapter } from './breaking.js';

type Change = Pick<DataAuditEntry, 'action' | 'version' | 'replaces'>;

const currentOf = (adapter: StorageAdapter): string | null => {
  try {
    const snapshot = adapter.snapshot();
    snapshot.release();
    return snapshot.version;
  } catch {
    return null;
  }
};

const placed = (entries: readonly DataAuditEntry[]) => entries.map((entry, i) => ({ entry, place: `entry ${i}` }));

/**
 * An adapter with an in-memory audit log.
 * @param recorded entries to store for a change
 * @param wrong buggy methods that replace the correct ones
 */
const auditing = (
  recorded: (change: Change) => readonly Change[],
  wrong: (audit: DataAudit) => Partial<DataAudit> = () => ({}),
  refused: readonly Change[] = [],
): Breakage => ({
  capabilities: { ...memory.capabilities, audit: true },
  fault(adapter) {
    const entries: DataAuditEntry[] = [];
    const keep = (changes: readonly Change[]) => {
      for (const change of changes) entries.push(chain(dataAuditEntry(change, Date.now()), endOf(entries)));
    };
    const audit: DataAudit = {
      async list() {
        await adapter.ping();
        return [...entries];
      },
      async verify(expected) {
        await adapter.ping();
        const verified = verifyChain(placed(entries), endOf(entries), expected);
        return withPublished(verified, entries, { current: currentOf(adapter) });
      },
    };
    return {
      async publish(dataset, options) {
        const replaces = currentOf(adapter);
        await adapter.publish!(dataset, options).catch((error) => {
          keep(refused);
          throw error;
        });
        keep(recorded({ action: 'publish', version: dataset.manifest.version, replaces }));
      },
      versions: {
        ...adapter.versions!,
        list: () => adapter.versions!.list(),
        asOf: (time) => adapter.versions!.asOf(time),
        async activate(version) {
          const replaces = currentOf(adapter);
          await adapter.versions!.activate(version);
          keep(recorded({ action: 'activate', version, replaces }));
        },
        async prune(count) {
          const deleted = await adapter.versions!.prune(count);
          for (const version of deleted) keep(recorded({ action: 'prune', version }));
          return deleted;
        },
      },
      audit: { ...audit, ...wrong(audit) },
    };
  },
});

const PUBLICATIONS = 'audit list() includes each publication with the version it replaced, its time and its user';
const REFUSED = 'audit list() includes no publication that was rejected or interrupted';
const VERSIONS = 'audit list() includes each activation with the version it replaced, and each deletion';
const VERIFY = 'audit verify() returns the hash of the newest entry, and reports a missing entry';
const CAPABILITIES = 'the adapter and its snapshots have the members of its capabilities, and no others';

const UNCHANGED = 'audit list() includes no activation of the version that is already current';

const made = (change: Change): readonly Change[] =>
  change.action === 'activate' && change.version === change.replaces ? [] : [change];

export const auditWithoutFault = auditing(made);

export const auditRules = [PUBLICATIONS, REFUSED, VERSIONS, UNCHANGED, VERIFY, CAPABILITIES] as const;

export const auditFaults: readonly BrokenAdapter[] = [
  {
    that: 'has no entries for deletions',
    ...auditing((change) => (change.action === 'prune' ? [] : [change])),
    fails: [VERSIONS],
  },
  {
    that: 'does not record which version was replaced',
    ...auditing(({ replaces: _, ...change }) => [change]),
    fails: [PUBLICATIONS, VERSIONS],
  },
  {
    that: 'has entries for rejected publications',
    ...auditing(made, undefined, [{ action: 'publish', version: 'refused', replaces: null }]),
    fails: [REFUSED],
  },
  {
    that: 'has an entry for the activation of the current version',
    ...auditing((change) => [change]),
    fails: [UNCHANGED],
  },
  {
    that: 'lists the newest change first',
    ...auditing(made, (audit) => ({ list: async () => [...(await audit.list())].reverse() })),
    fails: [PUBLICATIONS, VERSIONS, VERIFY],
  },
  {
    that: 'returns an empty audit after close()',
    ...auditing(made, (audit) => ({ list: () => audit.list().catch(() => []) })),
    fails: ['close() makes every later call fail with closed'],
  },
  {
    that: 'replaces the last publication in each entry',
    ...auditing(made, (audit) => ({
      async list() {
        let last: string | null = null;
        return (await audit.list()).map(({ replaces, ...entry }) => {
          const before = last;
          if (entry.action === 'publish') last = entry.version;
          return entry.action === 'prune' ? entry : { ...entry, replaces: before };
        });
      },
    })),
    fails: [VERSIONS],
  },
  {
    that: 'counts too few entries in its audit',
    ...auditing(made, (audit) => ({ verify: async (hash) => ({ ...(await audit.verify(hash)), chained: 1 }) })),
    fails: [PUBLICATIONS, VERSIONS],
  },
  {
    that: 'finds no error in any audit',
    ...auditing(made, (audit) => ({ verify: async () => ({ ...(await audit.verify()), faults: [] }) })),
    fails: [VERIFY],
  },
  {
    that: 'has an audit but does not declare it',
    ...auditing(made),
    capabilities: memory.capabilities,
    fails: [CAPABILITIES],
  },
];
