import { audit, type Clock, publishing, type Snapshot, type Versions } from 'metro-forecast-api/adapter';
import { appendEntry, DATA_AUDIT } from './audit.js';
import { addMove, currentName, dropUnlisted, type Move, readCatalog, type StoredVersion } from './catalog.js';
import type { WriteConnection } from './connection.js';

const { dataAuditEntry } = audit;
const { momentAfter, unknownVersion } = publishing;

export interface VersionsContext {
  readonly clock: Clock;
  /**
   * Runs `work` with a connection for writing, closes the connection, and polls the catalog. Resolves with undefined if
   * there is no database.
   */
  write<T>(work: (connection: WriteConnection) => Promise<T>): Promise<T | undefined>;
  /** Published versions, newest first. */
  list(): readonly StoredVersion[];
  current(): Move | undefined;
  isHeld(id: number): boolean;
  asOf(time: Date): Snapshot | undefined;
}

export const sqliteVersions = ({ clock, write, list, current, isHeld, asOf }: VersionsContext): Versions => ({
  list: async () => {
    const versions = list();
    const { id: currentId } = current() ?? {};
    return versions.map(({ id, version, publishedAt }) => ({
      version,
      publishedAt,
      current: id === currentId,
      held: isHeld(id),
    }));
  },

  async activate(version) {
    const activated = await write((connection) =>
      connection.transaction(async () => {
        const catalog = await readCatalog(connection);
        const target = catalog.versions.find((one) => one.version === version);
        if (!target)
          throw unknownVersion(
            version,
            catalog.versions.map((one) => one.version),
          );
        if (target.id === catalog.current?.id) return true;
        const publishedAt = momentAfter(catalog.current?.publishedAt ?? new Date(0), clock);
        await addMove(connection, { id: target.id, publishedAt });
        const entry = { action: 'activate', version, replaces: currentName(catalog) } as const;
        await appendEntry(connection, DATA_AUDIT, dataAuditEntry(entry, clock.now()));
        return true;
      }),
    );
    if (!activated) throw unknownVersion(version, []);
  },

  async prune(keep) {
    const pruned = await write(async (connection) => {
      const deleted = await connection.transaction(async () => {
        const { versions, current } = await readCatalog(connection);
        const unused = versions.slice(keep).filter(({ id }) => id !== current?.id && !isHeld(id));
        for (const { id, version } of unused) {
          await connection.run('DELETE FROM version WHERE id = ?', id);
          await appendEntry(connection, DATA_AUDIT, dataAuditEntry({ action: 'prune', version }, clock.now()));
        }
        return unused.map(({ version }) => version);
      });
      await dropUnlisted(connection);
      return deleted;
    });
    return pruned ?? [];
  },

  asOf: async (time) => asOf(time),
});
