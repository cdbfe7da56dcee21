import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { Arena } from '../../../core/data/arena.js';
import { ObservedPool } from '../../support/observed-pool.js';

const MIB = 2 ** 20;
const arena = new URL('../../../core/data/arena.js', import.meta.url).href;

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

  it('allocates at most an eighth of the heap limit at once', () => {
    const [limit, expected] = [64 * MIB, 100 * MIB];
    const script = `import { Arena } from ${JSON.stringify(arena)};
      process.stdout.write(String(new Arena(${expected}).bytes(1).buffer.byteLength));`;
    const options = [`--max-old-space-size=${limit / MIB}`, '--input-type=module', '--eval', script];
    const bytes = Number(execFileSync(process.execPath, options, { encoding: 'utf8' }));
    expect(bytes).to.be.within(limit / 16, limit / 4);
  });

  it('takes large buffers from the pool, and small ones not', () => {
    const pool = new ObservedPool();
    new Arena(15 * MIB, pool).bytes(1);
    const arena = new Arena(20 * MIB, pool);
    for (let i = 0; i < 40; i++) arena.bytes(MIB);
    expect(pool.lent.map(({ byteLength }) => byteLength)).to.deep.equal([20 * 1.125 * MIB]);
  });

  it('allocates larger and larger buffers if no size is expected', () => {
    const arena = new Arena();
    expect(arena.bytes(1).buffer.byteLength).to.be.below(MIB);
    const arrays = Array.from({ length: 50 }, () => arena.bytes(MIB));
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).to.be.below(10);
  });
});
