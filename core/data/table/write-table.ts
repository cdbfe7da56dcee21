import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Collection, Source } from '../../contracts/dataset.js';
import { writeFileAtomic } from '../../util/write-atomic.js';
import { DECLARATION } from '../declarations.js';
import { assertNotAborted } from '../publishing.js';
import { writeDirectory } from '../write-directory.js';
import { OutOfOrder } from './key-order.js';
import type { RowBlock } from './row-block.js';
import { type Key, type ReadTable, RepeatedKey } from './table.js';

export interface KeyedTable {
  readonly name: string;
  /** @throws OutOfOrder, RepeatedKey */
  rows(fields?: readonly string[]): AsyncGenerator<RowBlock>;
  collection(): Collection;
}

export interface WrittenTable {
  readonly version: string;
  readonly collection: Collection;
}

export interface TableTarget {
  readonly folder: string;
  readonly created: Date;
  /** Called when all rows have been written. If it rejects, nothing changes. */
  readonly check: (collection: Collection) => Promise<void>;
  readonly onWrite: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}

export const writeToDirectory = async (
  { name, rows, collection }: KeyedTable,
  { folder, created, check, onWrite, signal }: TableTarget,
  sources: readonly Source[],
): Promise<WrittenTable> => {
  let isReplaced = false;
  const time = created.toISOString();
  async function* batches() {
    for await (const { bytes, ends } of rows()) yield { bytes, rows: ends.length };
  }
  const path = join(folder, name + DECLARATION);
  const before = existsSync(path) ? await readFile(path, 'utf8') : undefined;
  const { version } = await writeDirectory(
    folder,
    { format: 1, created: time, vintage: time.slice(0, 10), synthetic: false, sources },
    { [name]: batches() },
    {
      signal,
      onProgress: ({ written }) => onWrite(written),
      beforeCommit: async () => {
        await check(collection());
        assertNotAborted(signal);
        await writeFileAtomic(path, `${JSON.stringify(collection(), null, 2)}\n`);
        isReplaced = true;
      },
    },
  ).catch(async (error: unknown) => {
    if (isReplaced) await (before === undefined ? rm(path) : writeFileAtomic(path, before));
    throw error;
  });
  return { version, collection: collection() };
};

/** Returns the folder, or its closest parent that exists. Temporary files in it are on the same disk as the dataset. */
const existingFolder = (path: string): string => (existsSync(path) ? path : existingFolder(dirname(path)));

/** Writes a table to a dataset. Rows are sorted only if the file is not already in key order. */
export const writeTable = async (
  table: ReadTable,
  { name, folder }: { readonly name: string; readonly folder: string },
  write: (table: KeyedTable) => Promise<WrittenTable>,
): Promise<WrittenTable & { readonly key: Key }> => {
  for (const [i, key] of table.keys.entries()) {
    for (const sortFolder of [undefined, existingFolder(resolve(folder))]) {
      const rows: KeyedTable['rows'] = (fields) => table.rows(key, sortFolder, fields);
      try {
        return { key, ...(await write({ name, rows, collection: () => table.collection(key) })) };
      } catch (error) {
        if (error instanceof RepeatedKey && i < table.keys.length - 1) break;
        if (!(error instanceof OutOfOrder)) throw error;
      }
    }
  }
  throw new Error('the last candidate is the row number, which is unique and ascending');
};
