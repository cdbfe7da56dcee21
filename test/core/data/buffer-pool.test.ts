import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import { BufferPool } from '../../../core/data/buffer-pool.js';
import { until } from '../../support/until.js';

const SIZE = 1000;
const USED = 7;

const lendsNew = (pool: BufferPool, size = SIZE, user = {}): boolean =>
  new Uint8Array(pool.take(size, user))[0] !== USED;

/** Lends buffers, and marks the first byte of each. */
const lend = (pool: BufferPool, sizes: readonly number[], user: object): void => {
  for (const size of sizes) new Uint8Array(pool.take(size, user))[0] = USED;
};

/** A function of its own, so that the user is not on the stack of the caller. */
const lendAndForget = (pool: BufferPool, ...sizes: readonly number[]): void => lend(pool, sizes, {});

/** Buffers can be lent again some time after a garbage collection. */
const collect = async (): Promise<void> => {
  await delay(1);
  collectGarbage();
  await delay(20);
};

describe('BufferPool', () => {
  it('lends a buffer again after its user has been garbage collected', async () => {
    const pool = new BufferPool();
    lendAndForget(pool, SIZE);
    await until(async () => {
      await collect();
      return !lendsNew(pool);
    });
  });

  it('does not lend a buffer that is used', async () => {
    const pool = new BufferPool();
    const user = { name: 'user' };
    lend(pool, [SIZE], user);
    for (let i = 0; i < 5; i++) await collect();
    expect(lendsNew(pool)).to.equal(true);
    expect(user.name).to.equal('user');
  });

  it('lends a buffer for data that has grown by an eighth, but not for less than half of its size', async () => {
    const pool = new BufferPool();
    lendAndForget(pool, SIZE);
    await collect();
    const requests = [SIZE * 1.2, SIZE * 0.4, SIZE * 1.125];
    expect(requests.map((size) => lendsNew(pool, size))).to.deep.equal([true, true, false]);
  });

  it('lends the smallest buffer that suffices', async () => {
    const pool = new BufferPool();
    lendAndForget(pool, 1500, SIZE, 1700);
    await collect();
    expect(pool.take(SIZE, {}).byteLength).to.equal(SIZE * 1.125);
  });

  it('reclaim() waits for the buffers that are no longer used', async () => {
    const pool = new BufferPool();
    lendAndForget(pool, SIZE);
    await delay(1);
    await pool.reclaim();
    expect(lendsNew(pool)).to.equal(false);
  });

  it('reclaim() frees the buffers that the last load did not need', async () => {
    const pool = new BufferPool();
    lendAndForget(pool, SIZE, 10 * SIZE);
    await collect();
    await pool.reclaim();
    lendAndForget(pool, SIZE);
    await pool.reclaim();
    expect([SIZE, 10 * SIZE].map((size) => lendsNew(pool, size))).to.deep.equal([false, true]);
  });

  it('reclaim() rejects if its signal is aborted', async () => {
    const pool = new BufferPool();
    const user = { name: 'user' };
    lend(pool, [SIZE], user);
    const closing = new AbortController();
    const waiting = pool.reclaim(closing.signal);
    closing.abort(new Error('closed'));
    expect(await waiting.catch((error: Error) => error.message)).to.equal('closed');
    expect(user.name).to.equal('user');
  });
});
