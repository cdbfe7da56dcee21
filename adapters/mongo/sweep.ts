import type { Catalog } from './catalog.js';
import type { Connection } from './connection.js';
import { type VersionDocument, versionIdOf } from './layout.js';
import { lockedIds } from './replica-locks.js';

/**
 * Deletes the rows and documents of versions that are no longer needed. The collections are listed first, so that
 * collections of later publications are not dropped. The locks of the replicas are read last (see `version-locks.ts`).
 * The version named in the publisher lock is kept even if that lock has expired, because the publisher might still
 * renew it.
 */
export const sweep = async (connection: Connection, catalog: Catalog): Promise<void> => {
  const names = await connection.run('list the collections', async (db) =>
    (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name),
  );
  const described = await connection.run('list the versions', (db) =>
    db
      .collection<VersionDocument>('versions')
      .find({}, { projection: { _id: 1 } })
      .toArray(),
  );
  const { versions, lock } = await catalog.read();
  const kept = new Set([...versions.map(({ id }) => id), lock?.id, ...(await lockedIds(connection))]);
  for (const name of names) {
    const id = versionIdOf(name);
    if (id === undefined || kept.has(id)) continue;
    await connection.run('drop a collection', (db) => db.dropCollection(name));
  }
  const rubbish = described.map(({ _id }) => _id).filter((id) => !kept.has(id));
  if (rubbish.length === 0) return;
  await connection.run('delete versions', (db) =>
    db.collection<VersionDocument>('versions').deleteMany({ _id: { $in: rubbish } }),
  );
};
