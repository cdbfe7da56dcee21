import type { Scalar } from '../../contracts/storage.js';
import { compareScalars } from '../scalars.js';
import type { KeyedRow, WrittenRow } from './cells.js';

export class OutOfOrder extends Error {}

const compareKeys = (a: readonly Scalar[], b: readonly Scalar[]): number => {
  for (let i = 0; i < a.length; i++) {
    const order = compareScalars(a[i]!, b[i]!);
    if (order !== 0) return order;
  }
  return 0;
};

/** @throws OutOfOrder */
export async function* inKeyOrder(batches: AsyncIterable<readonly KeyedRow[]>): AsyncGenerator<readonly WrittenRow[]> {
  let last: KeyedRow | undefined;
  for await (const batch of batches) {
    for (const row of batch) {
      if (last && compareKeys(last.key, row.key) >= 0) throw new OutOfOrder();
      last = row;
    }
    yield batch.map(({ row }) => row);
  }
}
