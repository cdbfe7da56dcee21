/** The shared window's script by itself: numbered calls and reports, in every order in which they may arrive. */
import { setTimeout } from 'node:timers/promises';
import { assert } from 'chai';
import { NO_LEASE } from '../../../core/limiter/lease.js';
import { callWindow, EXACT_UP_TO, type WindowCall } from '../../../core/limiter/window-script.js';
import { connectRedis, type RedisConnection } from '../../../core/redis.js';
import { keptLogger } from '../../support/kept-logger.js';
import { redisForTests, uniqueName } from '../../support/services.js';

describe('callWindow()', () => {
  let redis: RedisConnection;

  before(async () => {
    const { url } = await redisForTests();
    const config = { url, keyPrefix: '', timeoutMs: 5000, connectTimeoutMs: 5000 };
    redis = connectRedis(config, keptLogger());
    await redis.opened;
  });

  after(() => redis.close());

  /** Calls on one subject, of which each test says only what matters to it. */
  const window = () => {
    const key = uniqueName('window');
    return (call: Partial<WindowCall>) =>
      callWindow(redis.client, {
        ...{ key, asked: 1, limit: 10, windowMs: 60_000, replica: 'a', call: 1, expected: 0, reports: [] },
        ...{ ahead: 0, unused: NO_LEASE },
        ...call,
      });
  };

  it('a call that arrives twice is counted once', async () => {
    const call = window();
    assert.equal((await call({ call: 1, asked: 3 })).granted?.remaining, 7);
    assert.deepEqual(await call({ call: 1, asked: 3 }), { last: 1 });
    assert.equal((await call({ call: 2, expected: 1 })).granted?.remaining, 6);
  });

  it('a call that arrives after a later one of its replica is not counted', async () => {
    const call = window();
    await call({ call: 5 });
    assert.deepEqual(await call({ call: 4, asked: 3 }), { last: 5 });
    assert.equal((await call({ call: 1, replica: 'b' })).granted?.remaining, 8);
  });

  it('a report is counted unless the call that it belongs to has been', async () => {
    const call = window();
    await call({ call: 3, asked: 2 });
    const reports = [
      { call: 2, ageMs: 5000, count: 1 },
      { call: 3, ageMs: 4000, count: 2 },
      { call: 4, ageMs: 3000, count: 4 },
    ];
    assert.equal((await call({ call: 5, asked: 0, reports })).granted?.remaining, 4);
  });

  it('of a call that granted less than was admitted meanwhile, the difference is counted', async () => {
    const call = window();
    await call({ call: 1, asked: 8 });
    assert.equal((await call({ call: 2, asked: 5, replica: 'b' })).granted?.admitted, 2);
    const reports = [{ call: 2, ageMs: 0, count: 5 }];
    assert.equal((await call({ call: 3, asked: 0, replica: 'b', reports })).granted?.remaining, 0);
    // 8 + 5 are counted: a limit of 13 is full, one of 14 is not.
    assert.equal((await call({ call: 4, replica: 'b', limit: 13 })).granted?.admitted, 0);
    assert.equal((await call({ call: 5, replica: 'b', limit: 14 })).granted?.admitted, 1);
  });

  it('a report takes its place by its age: it leaves the window before what came later', async () => {
    const call = window();
    await call({ call: 1, asked: 4 });
    const reports = [{ call: 2, ageMs: 50_000, count: 6 }];
    const { granted } = await call({ call: 2, asked: 1, replica: 'b', reports });
    assert.deepInclude(granted, { admitted: 0, remaining: 0 });
    assert.isAtMost(granted?.resetMs ?? 0, 10_000);
    assert.isAbove(granted?.resetMs ?? 0, 9000);
  });

  it('a report older than the window is not counted', async () => {
    const reports = [{ call: 1, ageMs: 60_001, count: 6 }];
    assert.equal((await window()({ call: 1, asked: 1, reports })).granted?.remaining, 9);
  });

  it('a replica whose counted calls were lost is told so, and nothing is counted', async () => {
    const call = window();
    await call({ call: 1, replica: 'b' });
    assert.deepEqual(await call({ call: 9, expected: 8, asked: 5 }), { last: 0 });
    assert.equal((await call({ call: 2, replica: 'b', asked: 0 })).granted?.remaining, 9);
  });

  it('above the exact limits an admission is dated by the end of its sixtieth of the window, never earlier', async () => {
    const key = uniqueName('window');
    const now = async () => {
      const [seconds, micros] = await redis.client.time();
      return Number(seconds) * 1e6 + Number(micros);
    };
    const before = await now();
    await window()({ key, limit: EXACT_UP_TO + 1 });
    const stamp = Number(await redis.client.lindex(key, 1));
    assert.isAtLeast(stamp, before);
    assert.isAtMost(stamp, (await now()) + 1e6);
    assert.equal(stamp % 1e6, 0);
  });

  it('leases at most 1/64 of what is left, and nothing where requests are refused', async () => {
    const call = window();
    const limit = 6500;
    const first = (await call({ call: 1, limit, asked: 100, ahead: 1000 })).granted;
    assert.deepInclude(first, { admitted: 100, remaining: 6300 });
    assert.equal(first?.leased.count, 100);
    assert.equal((await call({ call: 2, limit, ahead: 7 })).granted?.leased.count, 7);
    const full = (await call({ call: 3, limit, asked: 6500, ahead: 1000 })).granted;
    assert.deepInclude(full, { admitted: 6292, remaining: 0 });
    assert.equal(full?.leased.count, 0);
  });

  it('what is given back is free again, also when others have come after it', async () => {
    const call = window();
    const limit = 6400;
    const windowMs = 600;
    const { leased } = (await call({ call: 1, limit, windowMs, ahead: 50 })).granted ?? assert.fail();
    await setTimeout(25);
    await call({ call: 1, limit, windowMs, replica: 'b', asked: 10 });
    const unused = { ...leased, count: 30 };
    const back = (await call({ call: 2, limit, windowMs, unused, asked: 0 })).granted;
    assert.equal(back?.remaining, 6400 - 1 - 20 - 10);
    // Of the first entry 21 are left: when it has gone, the ten of the other replica are.
    await setTimeout(Math.ceil(back?.resetMs ?? 0) + 1);
    const later = (await call({ call: 3, limit, windowMs, asked: 0 })).granted;
    assert.include([6390, 6400], later?.remaining);
  });

  it('nothing is given back under a stamp that the window does not have', async () => {
    const call = window();
    const limit = 6400;
    const { leased } = (await call({ call: 1, limit, ahead: 50 })).granted ?? assert.fail();
    const unused = { count: 30, stamp: leased.stamp + 1_000_000 };
    assert.equal((await call({ call: 2, limit, unused, asked: 0 })).granted?.remaining, 6400 - 51);
    assert.equal((await window()({ limit, unused: leased })).granted?.remaining, 6399);
  });

  it('a call that is not applied gives nothing back', async () => {
    const call = window();
    const limit = 6400;
    const { leased } = (await call({ call: 1, limit, ahead: 50 })).granted ?? assert.fail();
    assert.deepEqual(await call({ call: 1, limit, unused: leased }), { last: 1 });
    assert.equal((await call({ call: 2, limit, asked: 0 })).granted?.remaining, 6400 - 51);
  });

  it('a limit of 0 admits nothing, also where something is counted', async () => {
    const call = window();
    assert.equal((await call({ call: 1, limit: 0 })).granted?.admitted, 0);
    await call({ call: 2, asked: 3 });
    assert.deepInclude((await call({ call: 3, limit: 0 })).granted, { admitted: 0, remaining: 0 });
  });
});
