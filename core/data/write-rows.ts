/** Writes the rows of one collection to a file that is named after its content. */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';
import { ownNewFile } from '../util/write-atomic.js';
import { nonFinitePath } from '../validation/json.js';
import { type DataError, formatDataError } from './data-errors.js';
import { type CollectionFile, MANIFEST_FILE } from './manifest.js';

interface NdjsonBatch {
  readonly bytes: Uint8Array;
  readonly rows: number;
}

type Batch = readonly object[] | NdjsonBatch;

export type Batches = Iterable<Batch> | AsyncIterable<Batch>;

const STEP = 1000;

const refuse = (error: DataError, cause?: unknown): never => {
  throw new StorageError('invalid_dataset', formatDataError(error), { cause });
};

const jsonLine = (collection: string, row: number, document: Document): string => {
  // `JSON.stringify` would silently write NaN and infinite numbers as null.
  const infinite = nonFinitePath(document);
  if (infinite) refuse({ file: collection, row, field: infinite.join('.'), rule: 'must be a finite number' });
  try {
    return `${JSON.stringify(document)}\n`;
  } catch (cause) {
    return refuse(
      { file: collection, row, field: null, rule: `cannot be converted to JSON: ${(cause as Error).message}` },
      cause,
    );
  }
};

async function* steps(collection: string, batches: Batches): AsyncGenerator<NdjsonBatch> {
  let rows = 0;
  for await (const batch of batches) {
    if ('bytes' in batch) {
      rows += batch.rows;
      yield { bytes: batch.bytes, rows };
      continue;
    }
    if (!Array.isArray(batch)) throw new TypeError('A batch must be a list of rows, or {bytes, rows}.');
    for (let start = 0; start < batch.length; start += STEP) {
      const documents = batch.slice(start, start + STEP) as readonly Document[];
      const lines = documents.map((document) => jsonLine(collection, ++rows, document));
      yield { bytes: Buffer.from(lines.join('')), rows };
    }
  }
}

export interface WrittenFile extends Required<CollectionFile> {
  readonly isNew: boolean;
}

export const writeRows = async (
  directory: string,
  collection: string,
  batches: Batches,
  onWritten: (rows: number) => void,
): Promise<WrittenFile> => {
  const temporary = join(directory, `${collection}.${randomUUID()}.ndjson.tmp`);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined = await open(temporary, 'wx');
  let rows = 0;
  try {
    await ownNewFile(temporary, handle, { like: join(directory, MANIFEST_FILE) });
    for await (const step of steps(collection, batches)) {
      hash.update(step.bytes);
      await handle.writeFile(step.bytes);
      rows = step.rows;
      onWritten(rows);
    }
    await handle.sync();
    await handle.close();
    handle = undefined;
    const sha256 = hash.digest('hex');
    const file = `${collection}.${sha256.slice(0, 12)}.ndjson`;
    const isNew = (await stat(join(directory, file)).catch(() => undefined)) === undefined;
    // An existing file is also replaced, because it might be damaged.
    await rename(temporary, join(directory, file));
    return { file, rows, sha256, isNew };
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
};
