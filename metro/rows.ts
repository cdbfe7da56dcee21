/** Rows of a collection on their way, in batches of any size. */

export type Rows = AsyncIterable<readonly object[]>;

/** Rows that are at hand, as one batch. */
export async function* inOneBatch<T extends object>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}

/** @param onRead told how many rows have been read so far, after each batch */
export const readAll = async <T>(rows: Rows, onRead: (count: number) => void = () => {}): Promise<T[]> => {
  const all: T[] = [];
  for await (const batch of rows as AsyncIterable<readonly T[]>) {
    for (const row of batch) all.push(row);
    onRead(all.length);
  }
  return all;
};
