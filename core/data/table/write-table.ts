/** Writes an imported table to a dataset directory. Other collections in the directory are kept. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Collection, Source } from '../../contracts/dataset.js';
import { writeFileAtomic } from '../../util/write-atomic.js';
import { DECLARATION } from '../declarations.js';
import { writeDirectory } from '../write-directory.js';
import { type Key, OutOfOrder, type ReadTable, RepeatedKey } from './table.js';

export interface WrittenTable {
  readonly version: string;
  readonly key: Key;
  readonly collection: Collection;
}

interface Target {
  readonly directory: string;
  readonly name: string;
  readonly created: Date;
  readonly sources: readonly Source[];
  readonly check: (collection: Collection) => Promise<void>;
  readonly onWrite?: (rows: number) => void;
}

/** Temporary files go to this folder, because it is on the same disk as the dataset. */
const existingFolder = (path: string): string => (existsSync(path) ? path : existingFolder(dirname(path)));

const writeOnce = async (
  table: ReadTable,
  key: Key,
  sorts: boolean,
  { directory, name, created, sources, check, onWrite }: Target,
): Promise<WrittenTable> => {
  const time = created.toISOString();
  let collection: Collection | undefined;
  const { version } = await writeDirectory(
    directory,
    { format: 1, created: time, vintage: time.slice(0, 10), synthetic: false, sources },
    { [name]: table.rows(key, sorts ? existingFolder(resolve(directory)) : undefined) },
    {
      onProgress: ({ written }) => onWrite?.(written),
      beforeCommit: async () => {
        collection = table.collection(key);
        await check(collection);
        await writeFileAtomic(join(directory, name + DECLARATION), `${JSON.stringify(collection, null, 2)}\n`);
      },
    },
  );
  return { version, key, collection: collection! };
};

/**
 * Writes the table with the first candidate key that is unique. Rows are sorted only if the file is not already in key
 * order.
 * @throws OperatorError
 */
export const writeTable = async (table: ReadTable, target: Target): Promise<WrittenTable> => {
  for (const [i, key] of table.keys.entries()) {
    for (const sorts of [false, true]) {
      try {
        return await writeOnce(table, key, sorts, target);
      } catch (error) {
        if (error instanceof RepeatedKey && i < table.keys.length - 1) break;
        if (!(error instanceof OutOfOrder)) throw error;
      }
    }
  }
  throw new Error('the last candidate is the row number, which is unique and ascending');
};
