import {
  type AuditEntry,
  type AuditVerification,
  audit,
  type DataAudit,
  type DataAuditEntry,
} from 'metro-forecast-api/adapter';
import { type Catalog, currentName, readCatalog } from './catalog.js';
import type { ThreadedConnection } from './connection.js';
import { differencesIn } from './content.js';

const { chain, contentOf, endOf, madeOnly, publicationOf, sumsOf, verifyChain, withPublished } = audit;

/** Appends an audit entry. Must be called within a transaction. */
export const appendEntry = async (connection: ThreadedConnection, table: string, entry: AuditEntry): Promise<void> => {
  const linked = chain(entry, await headOf(connection, table));
  await connection.run(`INSERT INTO ${table} (entry) VALUES (?)`, JSON.stringify(linked));
  await connection.run('INSERT OR REPLACE INTO audit_head VALUES (?, ?)', table, linked.hash);
};

const headOf = async (connection: ThreadedConnection, table: string): Promise<string | null> => {
  const [[hash] = [null]] = await connection.rows('SELECT hash FROM audit_head WHERE name = ?', table);
  return hash === undefined || hash === null ? null : String(hash);
};

export const readEntries = async <E extends AuditEntry>(
  connection: ThreadedConnection,
  table: string,
): Promise<readonly E[]> =>
  (await connection.rows(`SELECT entry FROM ${table} ORDER BY n`)).map(([entry]) => JSON.parse(String(entry)));

/** Replaces all audit entries. The new entries must already be chained. Must be called within a transaction. */
export const replaceEntries = async (
  connection: ThreadedConnection,
  table: string,
  entries: readonly AuditEntry[],
): Promise<void> => {
  await connection.run(`DELETE FROM ${table}`);
  await connection.run('DELETE FROM audit_head WHERE name = ?', table);
  const insert = await connection.prepare(`INSERT INTO ${table} (entry) VALUES (?)`);
  for (const entry of entries) insert([JSON.stringify(entry)]);
  const hash = endOf(entries);
  if (hash !== null) await connection.run('INSERT INTO audit_head VALUES (?, ?)', table, hash);
};

export const verifyEntries = async (
  connection: ThreadedConnection,
  table: string,
  entries: readonly AuditEntry[],
  expected: string | undefined,
): Promise<AuditVerification> => {
  const placed = entries.map((entry, i) => ({ entry, place: `entry ${i + 1}` }));
  const head = await headOf(connection, table);
  return verifyChain(placed, head === null && entries.length > 0 ? undefined : head, expected);
};

export const DATA_AUDIT = 'data_audit';

const damageOf = async (
  connection: ThreadedConnection,
  catalog: Catalog,
  entries: readonly DataAuditEntry[],
): Promise<readonly string[]> => {
  const notes: string[] = [];
  const current = currentName(catalog);
  for (const stored of catalog.versions) {
    const { version } = stored;
    const content = publicationOf(entries, version, current)?.content;
    const isOther = content !== undefined && contentOf(sumsOf(stored)) !== content;
    const other = isOther ? ['its description does not match the published rows'] : [];
    const errors = [...(await differencesIn(connection, stored)), ...other];
    notes.push(...errors.map((error) => `version "${version}": ${error}`));
  }
  return notes;
};

export const sqliteDataAudit = (
  withConnection: <T>(work: (connection: ThreadedConnection) => Promise<T>) => Promise<T>,
): DataAudit => ({
  list: () => withConnection(async (connection) => madeOnly(await readEntries<DataAuditEntry>(connection, DATA_AUDIT))),
  verify: (expected) =>
    withConnection(async (connection) => {
      // A transaction makes the reads consistent.
      await connection.exec('BEGIN');
      const entries = await readEntries<DataAuditEntry>(connection, DATA_AUDIT);
      const catalog = await readCatalog(connection);
      const verified = await verifyEntries(connection, DATA_AUDIT, entries, expected);
      const published = {
        current: currentName(catalog),
        versions: catalog.versions.map(({ version }) => version).reverse(),
      };
      const made = madeOnly(entries);
      const found = withPublished(verified, made, published);
      const damage = await damageOf(connection, catalog, made);
      await connection.exec('COMMIT');
      return { ...found, notes: [...found.notes, ...damage] };
    }),
});
