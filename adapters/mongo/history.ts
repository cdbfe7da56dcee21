import type { History } from 'metro-forecast-api/adapter';
import { Catalog, type Publication } from './catalog.js';
import type { Access } from './connection.js';
import { auditOver } from './data-audit.js';

export const mongoHistory = ({ read, withOwnConnection }: Access): History => ({
  read: () =>
    read(async (connection) => {
      const { versions, moves } = await new Catalog(connection).read();
      const stored = new Map(versions.map(({ id, version }) => [id, version]));
      return {
        moves: moves.map(({ id, publishedAt }) => ({ version: stored.get(id) ?? null, publishedAt })),
        audit: await auditOver(connection).list(),
      };
    }),

  clear: () =>
    withOwnConnection(async (connection) => {
      // The rows stay in the database until the next publication, which deletes rows of versions that the catalog does
      // not list.
      await new Catalog(connection).rewrite([], []);
      await auditOver(connection).replace([]);
    }),

  write: ({ versions, moves, audit }) =>
    withOwnConnection(async (connection) => {
      const catalog = new Catalog(connection);
      const ids = new Map((await catalog.read()).versions.map(({ id, version }) => [version, id]));
      const publications = versions.map((each): Publication => ({ ...each, id: ids.get(each.version)! }));
      const moved = moves.map(
        // Versions that no longer exist get negative ids.
        ({ version, publishedAt }, i): Publication => ({
          id: ids.get(version ?? '') ?? -i - 1,
          version: version ?? '',
          publishedAt,
        }),
      );
      await catalog.rewrite(publications, moved);
      await auditOver(connection).replace(audit);
    }),
});
