/** The audit of what was published, activated and deleted: the collection `data_audit`. */
import { madeOnly } from '../../core/audit/chain.js';
import { dataAuditEntry, withPublished } from '../../core/audit/data-audit.js';
import type { AuditVerification, DataAudit, DataAuditEntry } from '../../core/contracts/audit.js';
import type { Clock } from '../../core/contracts/runtime.js';
import { MongoAudit } from './audit.js';
import { Catalog } from './catalog.js';
import type { Connection } from './connection.js';

const auditOver = (connection: Connection): MongoAudit<DataAuditEntry> => new MongoAudit(connection, 'data_audit');

/** Makes a change of the catalog after its entry has been stored. @param make false: not made */
export const audited = (
  connection: Connection,
  clock: Clock,
  change: Pick<DataAuditEntry, 'action' | 'version' | 'replaces'>,
  make: () => Promise<boolean>,
): Promise<boolean> => auditOver(connection).around(dataAuditEntry(change, clock.now()), make);

const verify = async (connection: Connection, expected: string | undefined): Promise<AuditVerification> => {
  for (;;) {
    const verified = await auditOver(connection).verify(expected);
    const { current, versions } = await new Catalog(connection).read();
    const entries = await auditOver(connection).list();
    // Otherwise a change was made meanwhile.
    if ((entries.at(-1)?.hash ?? null) !== verified.head) continue;
    const published = { current: current?.version ?? null, versions: versions.map(({ version }) => version) };
    return withPublished(verified, madeOnly(entries), published);
  }
};

/** @param connected does work over a connection, which is closed afterwards */
export const mongoDataAudit = (
  connected: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>,
): DataAudit => ({
  list: () => connected(async (connection) => madeOnly(await auditOver(connection).list())),
  verify: (expected) => connected((connection) => verify(connection, expected)),
});
