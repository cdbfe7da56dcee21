/** Writes an imported table into a dataset directory, next to its other collections. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Collection, Manifest, Source } from '../../contracts/dataset.js';
import { sha256Of } from '../../util/read-file.js';
import { writeFileAtomic } from '../../util/write-atomic.js';
import { DECLARATION } from '../declarations.js';
import type { CollectionFile } from '../manifest.js';
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
  /** Throws if the collection cannot be served. */
  readonly check: (collection: Collection) => Promise<void>;
  readonly onWrite?: (rows: number) => void;
}

/** A version that is derived from the sources and the digests of all collections. */
const versionOf = async (
  directory: string,
  vintage: string,
  sources: readonly Source[],
  files: Readonly<Record<string, CollectionFile>>,
): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(sources));
  for (const name of Object.keys(files).sort()) {
    const { file, sha256 = await sha256Of(join(directory, file)) } = files[name]!;
    hash.update(`\n${name} ${sha256}`);
  }
  return `${vintage}-${hash.digest('hex').slice(0, 12)}`;
};

/** The nearest existing folder. Temporary files go there, since it is on the disk of the dataset. */
const existingFolder = (path: string): string => (existsSync(path) ? path : existingFolder(dirname(path)));

const writeOnce = async (
  table: ReadTable,
  key: Key,
  sorts: boolean,
  { directory, name, created, sources, check, onWrite }: Target,
): Promise<WrittenTable> => {
  const time = created.toISOString();
  const vintage = time.slice(0, 10);
  let collection: Collection | undefined;
  const describe = async (files: Readonly<Record<string, CollectionFile>>): Promise<Manifest> => {
    collection = table.collection(key);
    await check(collection);
    const version = await versionOf(directory, vintage, sources, files);
    return { format: 1, version, created: time, vintage, synthetic: false, sources };
  };
  const { version } = await writeDirectory(
    directory,
    describe,
    { [name]: table.rows(key, sorts ? existingFolder(resolve(directory)) : undefined) },
    {
      onProgress: ({ written }) => onWrite?.(written),
      beforeCommit: () =>
        writeFileAtomic(join(directory, name + DECLARATION), `${JSON.stringify(collection, null, 2)}\n`),
    },
  );
  return { version, key, collection: collection! };
};

/**
 * Writes the table with the first of its keys that no two rows share. Rows are sorted only if the file is not in the
 * order of the key.
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
  throw new Error('the last key is the number of the row, which is unique and ascending');
};
