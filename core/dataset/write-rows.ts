/** Writes the rows of one collection to a file that is named after its content. */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';
import { formatFault } from './fault.js';
import type { CollectionFile } from './manifest.js';
import { infiniteField } from './row-check.js';

/** Rows in key order, in batches of any size. */
export type Batches = Iterable<readonly object[]> | AsyncIterable<readonly object[]>;

/** Rows that are turned into text at once. */
const STEP = 1000;

/** JSON would quietly turn NaN and infinities into null. */
const refuse = (collection: string, row: number, field: string): never => {
  const fault = formatFault({ file: collection, row, field, rule: 'must be a finite number' });
  throw new StorageError('invalid_dataset', fault);
};

async function* texts(collection: string, batches: Batches): AsyncGenerator<{ text: string; rows: number }> {
  let rows = 0;
  for await (const batch of batches) {
    for (let start = 0; start < batch.length; start += STEP) {
      const lines = (batch.slice(start, start + STEP) as readonly Document[]).map((document) => {
        rows++;
        const field = infiniteField(document);
        if (field !== undefined) refuse(collection, rows, field);
        return `${JSON.stringify(document)}\n`;
      });
      yield { text: lines.join(''), rows };
    }
  }
}

export interface WrittenFile extends Required<CollectionFile> {
  /** Whether the directory did not have this very content before. */
  readonly isNew: boolean;
}

/** @param onWritten told the rows so far; what it throws ends the writing */
export const writeRows = async (
  directory: string,
  collection: string,
  batches: Batches,
  onWritten: (rows: number) => void,
): Promise<WrittenFile> => {
  const temporary = join(directory, `${collection}.${randomUUID()}.tmp`);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined = await open(temporary, 'wx');
  let rows = 0;
  try {
    for await (const step of texts(collection, batches)) {
      hash.update(step.text);
      await handle.writeFile(step.text);
      rows = step.rows;
      onWritten(rows);
    }
    await handle.sync();
    await handle.close();
    handle = undefined;
    const sha256 = hash.digest('hex');
    const file = `${collection}.${sha256.slice(0, 12)}.ndjson`;
    const isNew = (await stat(join(directory, file)).catch(() => undefined)) === undefined;
    // Also where it is there: that mends one that was damaged.
    await rename(temporary, join(directory, file));
    return { file, rows, sha256, isNew };
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
};
