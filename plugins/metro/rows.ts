/** Helpers for rows: yields them in batches, and derives the version of a dataset from them. */
import { createHash } from 'node:crypto';
import type { Source } from 'metro-forecast-api/plugin';

export type Rows = AsyncIterable<readonly object[]>;

/** Yields rows that are in memory as one batch. */
export async function* inOneBatch<T extends object>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}

/** @param onRead called after each batch with the number of rows read so far */
export const readAll = async <T>(rows: Rows, onRead: (count: number) => void = () => {}): Promise<T[]> => {
  const all: T[] = [];
  for await (const batch of rows as AsyncIterable<readonly T[]>) {
    for (const row of batch) all.push(row);
    onRead(all.length);
  }
  return all;
};

/**
 * Returns a version such as `2025-12-31-1f0c2a9b7d3e`, which consists of the vintage and a hash of the content.
 * @param collections every collection, read once in the order of the map
 */
export const contentVersion = async (
  vintage: string,
  sources: readonly Source[],
  collections: ReadonlyMap<string, () => Rows>,
): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(sources));
  for (const [name, rows] of collections) {
    hash.update(`\n${name}\n`);
    for await (const batch of rows()) hash.update(batch.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  return `${vintage}-${hash.digest('hex').slice(0, 12)}`;
};
