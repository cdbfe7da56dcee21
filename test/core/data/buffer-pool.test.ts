import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import { BufferPool } from '../../../core/data/buffer-pool.js';
import { until } from '../../support/until.js';

const SIZE = 1000;

/** Lends a buffer of each size to an object that can be collected afterwards. */
const lendAndForget = (pool: BufferPool, ...sizes: readonly number[]): readonly ArrayBuffer[] => {
  const user = {};
  return sizes.map((size) => pool.take(size, user));
};

/** Returns a pool that keeps buffers, and the buffers that it lent to an object that has been collected. */
const withUnused = async (...sizes: readonly number[]) => {
  const pool = new BufferPool();
  await pool.reclaim();
  const lent = lendAndForget(pool, ...sizes);
  for (let i = 0; i < 3; i++) {
    await delay(10);
    collectGarbage();
  }
  await delay(50);
  return { pool, lent };
};

describe('BufferPool', () => {
  it('lends a buffer again after its user has been garbage collected', async () => {
    const { pool, lent } = await withUnused(SIZE);
    expect(lent).to.include(pool.take(SIZE, {}));
  });

  it('does not lend a buffer that is used', async () => {
    const { pool } = await withUnused();
    const user = { buffers: new Set<ArrayBuffer>() };
    user.buffers.add(pool.take(SIZE, user));
    for (let i = 0; i < 5; i++) {
      await delay(10);
      collectGarbage();
    }
    expect(user.buffers).to.not.include(pool.take(SIZE, {}));
  });

  it('lends a buffer for data that has grown by an eighth', async () => {
    const { pool, lent } = await withUnused(SIZE);
    expect(lent).to.include(pool.take(SIZE * 1.125, {}));
  });

  for (const size of [SIZE * 1.2, SIZE * 0.4])
    it(`frees the unused buffers if all are too small or too large, as for ${size} of ${SIZE} bytes`, async () => {
      const { pool, lent } = await withUnused(SIZE);
      expect(lent).to.not.include(pool.take(size, {}));
      expect(lent).to.not.include(pool.take(SIZE, {}));
    });

  it('lends the smallest buffer that suffices', async () => {
    const { pool, lent } = await withUnused(1500, SIZE, 1700);
    expect(pool.take(SIZE, {})).to.equal(lent[1]);
  });

  it('reclaim() waits for the buffers that are no longer used', async () => {
    await until(async () => {
      const { pool } = await withUnused();
      const lent = lendAndForget(pool, SIZE);
      await delay(1);
      await pool.reclaim();
      return lent.includes(pool.take(SIZE, {}));
    });
  });

  it('reclaim() frees the buffers that the last load did not need', async () => {
    const { pool, lent } = await withUnused(SIZE, 1500);
    await pool.reclaim();
    expect(pool.take(SIZE, {})).to.equal(lent[0]);
    await pool.reclaim();
    expect(pool.take(1500, {})).to.not.equal(lent[1]);
  });

  it('keeps no buffers before the first call of reclaim()', async () => {
    const pool = new BufferPool();
    const lent = lendAndForget(pool, SIZE);
    await delay(10);
    collectGarbage();
    await delay(50);
    expect(lent).to.not.include(pool.take(SIZE, {}));
  });

  it('reclaim() rejects if its signal is aborted', async () => {
    const pool = new BufferPool();
    const user = { name: 'user' };
    pool.take(SIZE, user);
    const closing = new AbortController();
    const waiting = pool.reclaim(closing.signal);
    closing.abort(new Error('closed'));
    expect(await waiting.catch((error: Error) => error.message)).to.equal('closed');
    expect(user.name).to.equal('user');
  });
});
