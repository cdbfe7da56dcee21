import type { DataAuditEntry, History } from 'metro-forecast-api/adapter';
import { DATA_AUDIT, readEntries, replaceEntries } from './audit.js';
import { addActivation, readCatalog } from './catalog.js';
import type { ThreadedConnection } from './connection.js';

/**
 * @param withConnection resolves with undefined if there is no database
 * @param cleared stops serving the current version, because it was deleted
 */
export const sqliteHistory = (
  withConnection: <T>(work: (connection: ThreadedConnection) => Promise<T>) => Promise<T | undefined>,
  cleared: () => void,
): History => ({
  read: async () =>
    (await withConnection((connection) =>
      connection.transaction(async () => {
        const { versions } = await readCatalog(connection);
        const names = new Map(versions.map(({ id, version }) => [id, version]));
        const moves = (await connection.rows('SELECT version, at FROM move ORDER BY n')).map(([id, at]) => ({
          version: names.get(Number(id)) ?? null,
          publishedAt: new Date(Number(at)),
        }));
        return { moves, audit: await readEntries<DataAuditEntry>(connection, DATA_AUDIT) };
      }),
    )) ?? { moves: [], audit: [] },

  clear: async () => {
    await withConnection((connection) =>
      connection.transaction(async () => {
        await connection.exec('DELETE FROM version; DELETE FROM move');
        await replaceEntries(connection, DATA_AUDIT, []);
      }),
    );
    cleared();
  },

  write: async ({ versions, moves, audit }) => {
    await withConnection((connection) =>
      connection.transaction(async () => {
        const stored = await readCatalog(connection);
        const ids = new Map(stored.versions.map(({ id, version }) => [version, id]));
        for (const { version, publishedAt } of versions) {
          await connection.run('UPDATE version SET published_at = ? WHERE name = ?', publishedAt.getTime(), version);
        }
        await connection.run('DELETE FROM move');
        // Versions that no longer exist get the id 0.
        for (const { version, publishedAt } of moves) {
          await addActivation(connection, { versionId: ids.get(version ?? '') ?? 0, activatedAt: publishedAt });
        }
        await replaceEntries(connection, DATA_AUDIT, audit);
      }),
    );
  },
});
