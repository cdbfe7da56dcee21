/** Faults of audits. */
import memory from '../../../../adapters/memory.js';
import type { DataAudit, DataAuditEntry } from '../../../../core/contracts/audit.js';
import type { StorageAdapter } from '../../../../core/contracts/storage.js';
import { dataAuditEntry, withPublished } from '../../../../core/data/data-audit.js';
import { chain, endOf, verifyChain } from '../../../../core/keys/chain.js';
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

/** An adapter that keeps an audit in memory. @param told what it keeps of a change @param wrong wrong parts of its audit */
const auditing = (
  told: (change: Change) => readonly Change[],
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
      list: async () => [...entries],
      async verify(expected) {
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
        keep(told({ action: 'publish', version: dataset.manifest.version, replaces }));
      },
      versions: {
        ...adapter.versions!,
        list: () => adapter.versions!.list(),
        asOf: (time) => adapter.versions!.asOf(time),
        async activate(version) {
          const replaces = currentOf(adapter);
          await adapter.versions!.activate(version);
          keep(told({ action: 'activate', version, replaces }));
        },
        async prune(count) {
          const deleted = await adapter.versions!.prune(count);
          for (const version of deleted) keep(told({ action: 'prune', version }));
          return deleted;
        },
      },
      audit: { ...audit, ...wrong(audit) },
    };
  },
});

const PUBLICATIONS = 'audit list() has each publication, with the version that it replaced, by whom and when';
const REFUSED = 'audit list() has no publication that was refused or broken off';
const VERSIONS = 'audit list() has each activation, with the version that it replaced, and each deletion';
const VERIFY = 'audit verify() tells the hash of the newest entry, and finds that one is missing which must be there';
const CAPABILITIES = 'the adapter can do what its capabilities say, and nothing else';

/** What the others are made from. */
export const auditWithoutFault = auditing((change) => [change]);

export const auditRules = [PUBLICATIONS, REFUSED, VERSIONS, VERIFY, CAPABILITIES] as const;

export const auditFaults: readonly BrokenAdapter[] = [
  {
    that: 'has no entries of deletions',
    ...auditing((change) => (change.action === 'prune' ? [] : [change])),
    fails: [VERSIONS],
  },
  {
    that: 'does not tell which version was replaced',
    ...auditing(({ replaces: _, ...change }) => [change]),
    fails: [PUBLICATIONS, VERSIONS],
  },
  {
    that: 'has entries of publications that were refused',
    ...auditing((change) => [change], undefined, [{ action: 'publish', version: 'refused', replaces: null }]),
    fails: [REFUSED],
  },
  {
    that: 'lists the newest change first',
    ...auditing(
      (change) => [change],
      (audit) => ({ list: async () => [...(await audit.list())].reverse() }),
    ),
    fails: [PUBLICATIONS, VERSIONS, VERIFY],
  },
  {
    that: 'finds no fault in any audit',
    ...auditing(
      (change) => [change],
      (audit) => ({ verify: async () => ({ ...(await audit.verify()), faults: [] }) }),
    ),
    fails: [VERIFY],
  },
  {
    that: 'keeps an audit and does not declare it',
    ...auditing((change) => [change]),
    capabilities: memory.capabilities,
    fails: [CAPABILITIES],
  },
];
