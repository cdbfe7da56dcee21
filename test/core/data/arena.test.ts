import { expect } from 'chai';
import fc from 'fast-check';
import { Arena } from '../../../core/data/arena.js';

const MIB = 2 ** 20;

describe('Arena', () => {
  it('returns arrays of every size that do not overlap', () => {
    const kinds = fc.constantFrom('bytes', 'integers', 'doubles');
    const sizes = fc.array(fc.tuple(kinds, fc.nat(5000)), { maxLength: 100 });
    fc.assert(
      fc.property(sizes, fc.nat(100_000), (requested, expected) => {
        const arena = new Arena(expected);
        const arrays = requested.map(([kind, length], i) => arena[kind](length).fill(i));
        for (const [i, array] of arrays.entries()) {
          expect(array.length).to.equal(requested[i]![1]);
          expect(array.every((value) => value === i)).to.equal(true);
        }
      }),
    );
  });

  it('allocates one buffer if the expected size suffices', () => {
    const arena = new Arena(50 * MIB);
    const arrays = Array.from({ length: 49 }, () => arena.bytes(MIB));
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).to.equal(1);
  });

  it('allocates larger and larger buffers if no size is expected', () => {
    const arena = new Arena();
    expect(arena.bytes(1).buffer.byteLength).to.be.below(MIB);
    const arrays = Array.from({ length: 50 }, () => arena.bytes(MIB));
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).to.be.below(10);
  });
});
