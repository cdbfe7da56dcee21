import {
  type AuditVerification,
  audit,
  type Clock,
  type DataAudit,
  type DataAuditEntry,
} from 'metro-forecast-api/adapter';
import { MongoAudit } from './audit.js';
import { Catalog, type CatalogDocument } from './catalog.js';
import type { Access, Connection } from './connection.js';
import { readStored } from './content.js';

const { contentOf, dataAuditEntry, publicationOf, sumsOf, withPublished, madeOnly, verifyStore } = audit;

export const auditOver = (connection: Connection): MongoAudit<DataAuditEntry> =>
  new MongoAudit(connection, 'data_audit');

/**
 * Stores an audit entry and then makes the change.
 * @param make resolves with true if it changed anything
 */
export const audited = (
  connection: Connection,
  clock: Clock,
  change: Parameters<typeof dataAuditEntry>[0],
  make: () => Promise<boolean>,
): Promise<boolean> => auditOver(connection).around(dataAuditEntry(change, clock.now()), make);

export const publishedContent = async (
  connection: Connection,
  version: string,
  current: string | null,
): Promise<string | undefined> =>
  publicationOf(madeOnly(await auditOver(connection).list()), version, current)?.content;

const damageOf = async (
  connection: Connection,
  { versions, current }: CatalogDocument,
  entries: readonly DataAuditEntry[],
  batchSize: number,
): Promise<readonly string[]> => {
  const notes: string[] = [];
  for (const publication of versions) {
    const { id, version } = publication;
    const { described, errors } = await readStored(connection, publication, { batchSize });
    const content = publicationOf(entries, version, current?.version ?? null)?.content;
    const isOther = described && content !== undefined && contentOf(sumsOf(described)) !== content;
    const other = isOther ? [`the document ${id} of "versions" does not match the published rows`] : [];
    notes.push(...[...errors, ...other].map((error) => `version "${version}": ${error}`));
  }
  return notes;
};

const verify = (connection: Connection, batchSize: number, expected: string | undefined): Promise<AuditVerification> =>
  verifyStore(auditOver(connection), expected, async (all) => {
    const made = madeOnly(all);
    const catalog = await new Catalog(connection).read();
    const { current, versions } = catalog;
    const damage = await damageOf(connection, catalog, made, batchSize);
    const published = { current: current?.version ?? null, versions: versions.map(({ version }) => version) };
    return (verified) => {
      const found = withPublished(verified, made, published);
      return { ...found, notes: [...found.notes, ...damage] };
    };
  });

export const mongoDataAudit = (batchSize: number, { read, withOwnConnection }: Access): DataAudit => ({
  list: () => read(async (connection) => madeOnly(await auditOver(connection).list())),
  verify: (expected) => withOwnConnection((connection) => verify(connection, batchSize, expected)),
});
