import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import { BufferPool } from '../../../core/data/buffer-pool.js';
import { until } from '../../support/until.js';

const SIZE = 1000;
const USED = 7;

/** Lends a buffer and marks its first byte. The returned array keeps the loan. */
const lend = (pool: BufferPool, size = SIZE): Uint8Array => {
  const bytes = new Uint8Array(pool.take(size));
  bytes[0] = USED;
  return bytes;
};

const lendsNew = (pool: BufferPool, size = SIZE): boolean => new Uint8Array(pool.take(size))[0] !== USED;

/** A function of its own, so that the loan is not on the stack of the caller. */
const lendAndForget = (pool: BufferPool, size = SIZE): void => {
  lend(pool, size);
};

/** Buffers can be lent again some time after a garbage collection. */
const collect = async (): Promise<void> => {
  await delay(1);
  collectGarbage();
  await delay(20);
};

describe('BufferPool', () => {
  it('lends a buffer again after a garbage collection if no array uses it', async () => {
    const pool = new BufferPool();
    lendAndForget(pool);
    await until(async () => {
      await collect();
      return !lendsNew(pool);
    });
  });

  it('does not lend a buffer that an array uses', async () => {
    const pool = new BufferPool();
    const part = lend(pool).subarray(100, 200);
    for (let i = 0; i < 5; i++) await collect();
    expect(lendsNew(pool)).to.equal(true);
    expect(part.buffer.byteLength).to.be.at.least(SIZE);
  });

  it('lends a buffer for data that has grown by an eighth, but not for less than half of its size', async () => {
    const pool = new BufferPool();
    lendAndForget(pool);
    await collect();
    const requests = [SIZE * 1.2, SIZE * 0.4, SIZE * 1.125];
    expect(requests.map((size) => lendsNew(pool, size))).to.deep.equal([true, true, false]);
  });

  it('lends the smallest buffer that suffices', async () => {
    const pool = new BufferPool();
    for (const size of [1500, SIZE, 1700]) lendAndForget(pool, size);
    await collect();
    expect(pool.take(SIZE).byteLength).to.equal(SIZE * 1.125);
  });

  it('reclaim() waits for the buffers that are no longer used', async () => {
    const pool = new BufferPool();
    lendAndForget(pool);
    await delay(1);
    await pool.reclaim();
    expect(lendsNew(pool)).to.equal(false);
  });

  it('reclaim() frees the buffers that the last load did not need', async () => {
    const pool = new BufferPool();
    for (const size of [SIZE, 10 * SIZE]) lendAndForget(pool, size);
    await collect();
    await pool.reclaim();
    lendAndForget(pool);
    await pool.reclaim();
    expect([SIZE, 10 * SIZE].map((size) => lendsNew(pool, size))).to.deep.equal([false, true]);
  });

  it('reclaim() rejects if its signal is aborted', async () => {
    const pool = new BufferPool();
    const held = lend(pool);
    const closing = new AbortController();
    const waiting = pool.reclaim(closing.signal);
    closing.abort(new Error('closed'));
    expect(await waiting.catch((error: Error) => error.message)).to.equal('closed');
    expect(held[0]).to.equal(USED);
  });
});
