/** Whether a version is stored as it was published. */

import type { Publication } from './catalog.js';
import type { Connection } from './connection.js';
import { readContent } from './content.js';
import { dataCollection } from './layout.js';
import type { VersionDocument } from './version-locks.js';

export interface StoredVersion {
  /** Undefined: its document is missing. */
  readonly described: VersionDocument | undefined;
  /** What is missing, or not as it was published. */
  readonly faults: readonly string[];
}

interface ReadOptions {
  readonly batchSize: number;
  /** Called before each batch. Throws to stop. */
  readonly assertGoingOn?: () => void;
}

/** Reads all rows of a version. */
export const readStored = async (
  connection: Connection,
  { id }: Publication,
  { batchSize, assertGoingOn = () => undefined }: ReadOptions,
): Promise<StoredVersion> => {
  const described = await connection.run('read a version', (db) =>
    db.collection<VersionDocument>('versions').findOne({ _id: id }),
  );
  if (!described) return { described: undefined, faults: [`the document ${id} of "versions" is missing`] };
  const faults: string[] = [];
  for (const [name, { rows, sha256, orders }] of Object.entries(described.collections)) {
    const collection = { name, key: orders[0] ?? [] };
    const found = await readContent({ connection, id, collection, batchSize, assertGoingOn });
    if (found.rows === rows && found.sha256 === sha256) continue;
    const what = found.rows === rows ? 'other rows' : `${found.rows} rows`;
    faults.push(`the collection "${dataCollection(id, name)}" has ${what} where ${rows} were published`);
  }
  return { described, faults };
};
