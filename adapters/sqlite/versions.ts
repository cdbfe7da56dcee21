import { audit, type Clock, publishing, type Versions } from 'metro-forecast-api/adapter';
import { appendEntry, DATA_AUDIT } from './audit.js';
import { addActivation, type Catalog, currentName, dropUnlisted, readCatalog, type StoredVersion } from './catalog.js';
import type { ThreadedConnection } from './connection.js';

const { dataAuditEntry } = audit;
const { momentAfter, unknownVersion } = publishing;

export interface VersionsContext {
  readonly clock: Clock;
  /** Resolves with undefined if there is no database. */
  withConnection<T>(work: (connection: ThreadedConnection) => Promise<T>): Promise<T | undefined>;
  /** Returns undefined if there is no database. */
  read(): Catalog | undefined;
  /** Switches to the version that is current after the last commit. */
  poll(): void;
  isHeld(id: number): boolean;
  /** Versions that asOf() must not open, because their deletion has not been committed. */
  readonly deleting: Set<number>;
}

export const sqliteVersions = ({
  clock,
  withConnection,
  read,
  poll,
  isHeld,
  deleting,
}: VersionsContext): Omit<Versions, 'asOf'> => ({
  list: async () => {
    const { versions = [], current } = read() ?? {};
    return versions.map(({ id, version, publishedAt }) => ({
      version,
      publishedAt,
      current: id === current?.versionId,
      held: isHeld(id),
    }));
  },

  async activate(version) {
    const activated = await withConnection((connection) =>
      connection.transaction(async () => {
        const catalog = await readCatalog(connection);
        const target = catalog.versions.find((one) => one.version === version);
        if (!target)
          throw unknownVersion(
            version,
            catalog.versions.map((one) => one.version),
          );
        if (target.id === catalog.current?.versionId) return true;
        const activatedAt = momentAfter(catalog.current?.activatedAt ?? new Date(0), clock);
        await addActivation(connection, { versionId: target.id, activatedAt });
        const entry = { action: 'activate', version, replaces: currentName(catalog) } as const;
        await appendEntry(connection, DATA_AUDIT, dataAuditEntry(entry, clock.now()));
        return true;
      }),
    );
    if (!activated) throw unknownVersion(version, []);
  },

  async prune(keep) {
    const pruned = await withConnection(async (connection) => {
      let unused: readonly StoredVersion[] = [];
      try {
        await connection.transaction(async () => {
          const { versions, current } = await readCatalog(connection);
          poll();
          unused = versions.slice(keep).filter(({ id }) => id !== current?.versionId && !isHeld(id));
          for (const { id } of unused) deleting.add(id);
          for (const { id, version } of unused) {
            await connection.run('DELETE FROM version WHERE id = ?', id);
            await appendEntry(connection, DATA_AUDIT, dataAuditEntry({ action: 'prune', version }, clock.now()));
          }
        });
      } finally {
        for (const { id } of unused) deleting.delete(id);
      }
      await dropUnlisted(connection);
      return unused.map(({ version }) => version);
    });
    return pruned ?? [];
  },
});
