import type { Scalar } from '../../contracts/storage.js';
import { compareScalars } from '../scalars.js';
import type { KeyedBlock, RowBlock } from './row-block.js';

export class OutOfOrder extends Error {}

const compareKeys = (a: readonly Scalar[], aAt: number, b: readonly Scalar[], bAt: number, width: number): number => {
  for (let i = 0; i < width; i++) {
    const order = compareScalars(a[aAt + i]!, b[bAt + i]!);
    if (order !== 0) return order;
  }
  return 0;
};

/** @throws OutOfOrder */
export async function* inKeyOrder(blocks: AsyncIterable<KeyedBlock>): AsyncGenerator<RowBlock> {
  let last: readonly Scalar[] = [];
  for await (const block of blocks) {
    const { keys, lines } = block;
    const width = keys.length / lines.length;
    if (last.length > 0 && compareKeys(last, 0, keys, 0, width) >= 0) throw new OutOfOrder();
    for (let at = width; at < keys.length; at += width)
      if (compareKeys(keys, at - width, keys, at, width) >= 0) throw new OutOfOrder();
    last = keys.slice(-width);
    yield block;
  }
}
