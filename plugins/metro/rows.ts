export type Rows = AsyncIterable<readonly object[]>;

export async function* inOneBatch<T extends object>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}

export const readAll = async <T>(rows: Rows, onRead: (count: number) => void = () => {}): Promise<T[]> => {
  const all: T[] = [];
  for await (const batch of rows as AsyncIterable<readonly T[]>) {
    for (const row of batch) all.push(row);
    onRead(all.length);
  }
  return all;
};
