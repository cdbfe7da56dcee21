import type { Catalog } from './catalog.js';
import type { Connection } from './connection.js';
import { versionIdOf } from './layout.js';
import { lockedIds, type VersionDocument } from './version-locks.js';

/**
 * Removes versions that are no longer needed. Lists the collections first, so that later publications are not deleted.
 * Reads the locks of the replicas last (see `version-locks.ts`). Keeps the version named in the publisher lock even if
 * the lock has expired, because the publisher might still renew the lock.
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
