import { isDeepStrictEqual } from 'node:util';
import type { Collection, Document } from '../contracts/dataset.js';
import type { Dataset, Snapshot } from '../contracts/storage.js';
import { readable } from './publishing.js';

async function* rowsOf(batches: AsyncIterable<readonly Document[]>): AsyncGenerator<Document> {
  for await (const batch of batches) yield* batch;
}

/**
 * Rows that differ as objects are compared as JSON, because a store can turn -0 into 0 or return the fields in a
 * different order.
 */
const isSameRow = (a: Document, b: Document): boolean => {
  const [textA, textB] = [JSON.stringify(a), JSON.stringify(b)];
  return textA === textB || isDeepStrictEqual(JSON.parse(textA), JSON.parse(textB));
};

const haveSameRows = async (
  batches: AsyncIterable<readonly Document[]>,
  others: AsyncIterable<readonly Document[]>,
): Promise<boolean> => {
  const rest = rowsOf(others);
  try {
    for await (const row of rowsOf(batches)) {
      const other = await rest.next();
      if (other.done || !isSameRow(row, other.value)) return false;
    }
    return (await rest.next()).done === true;
  } finally {
    await rest.return(undefined);
  }
};

/** Returns the name of the first collection with different rows, or undefined if all rows are equal. */
export const differingCollection = async (
  dataset: Pick<Dataset, 'read'>,
  snapshot: Pick<Snapshot, 'find'>,
  collections: ReadonlyMap<string, Collection>,
): Promise<string | undefined> => {
  for (const { name, key } of collections.values()) {
    const rows = readable(() => dataset.read(name));
    if (!(await haveSameRows(rows, snapshot.find(name, { order: key })))) return name;
  }
  return undefined;
};
