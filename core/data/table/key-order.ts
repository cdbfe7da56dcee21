import type { Scalar } from '../../contracts/storage.js';
import { compareScalars } from '../scalars.js';
import type { KeyedBlock } from './row-block.js';

export class OutOfOrder extends Error {}

/** Called for two rows with the same key. Must throw. */
export type OnRepeated = (key: readonly Scalar[], line: number, otherLine: number) => never;

const compareKeys = (a: readonly Scalar[], aAt: number, b: readonly Scalar[], bAt: number, width: number): number => {
  for (let i = 0; i < width; i++) {
    const order = compareScalars(a[aAt + i]!, b[bAt + i]!);
    if (order !== 0) return order;
  }
  return 0;
};

/** @throws OutOfOrder */
export async function* inKeyOrder(
  blocks: AsyncIterable<KeyedBlock>,
  onRepeated: OnRepeated,
): AsyncGenerator<KeyedBlock> {
  let last: Pick<KeyedBlock, 'keys' | 'lines'> | undefined;
  for await (const block of blocks) {
    const { keys, lines } = block;
    const width = keys.length / lines.length;
    for (let row = 0; row < lines.length; row++) {
      const previous = row === 0 ? last : block;
      if (!previous) continue;
      const at = row === 0 ? previous.lines.length - 1 : row - 1;
      const order = compareKeys(previous.keys, at * width, keys, row * width, width);
      if (order > 0) throw new OutOfOrder();
      if (order === 0) onRepeated(keys.slice(row * width, (row + 1) * width), lines[row]!, previous.lines[at]!);
    }
    last = block;
    yield block;
  }
}
