import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { MOST_ADDRESSES } from '../../../core/limiter/caller-map.js';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { BUCKETS } from '../../../core/limiter/script.js';
import { connectRedis, type RedisConnection } from '../../../core/redis/connection.js';
import { keptLogger } from '../../support/kept-logger.js';
import { countedIn, fieldOf, readWindow } from '../../support/limiter-window.js';
import { whileFrozen } from '../../support/server-process.js';
import { redisForTests, type Server, startRedis, uniqueName } from '../../support/services.js';
import { defineLimiterSuite } from './limiter-suite.js';

const closers: (() => unknown)[] = [];

/** With long timeouts, a busy machine does not look like an outage and does not change the number of calls. */
const connect = async (url: string, keyPrefix = `${uniqueName('limiter')}:`): Promise<RedisConnection> => {
  const connection = connectRedis({ url, keyPrefix, timeoutMs: 5000, connectTimeoutMs: 5000 }, keptLogger());
  await connection.opened;
  closers.push(connection.close);
  return connection;
};

const create = (redis: RedisConnection, windowMs?: number, countsUsage = false) => {
  const limiter = new RedisLimiter({
    redis,
    countsUsage,
    replicas: 3,
    logger: keptLogger(),
    ...(windowMs === undefined ? {} : { windowMs }),
  });
  closers.push(() => limiter.close());
  return limiter;
};

/** Timers can fire up to a millisecond early. */
const wait = async (ms: number): Promise<void> => {
  const until = performance.now() + ms;
  while (performance.now() < until) await delay(until - performance.now());
};

const closeAll = async (): Promise<void> => {
  for (const close of closers.splice(0).reverse()) await close();
};

after(closeAll);

defineLimiterSuite('RedisLimiter', async () => {
  const { url } = await redisForTests();
  const keyPrefix = `${uniqueName('limiter')}:`;
  const windowMs = 600;
  const connections = await Promise.all([1, 2, 3].map(() => connect(url, keyPrefix)));
  const [first] = connections as [RedisConnection];
  return {
    windowMs,
    replicas: connections.map((redis) => create(redis, windowMs, true)),
    now: async () => {
      const [seconds, micros] = await first.client.time();
      return Number(seconds) * 1000 + Number(micros) / 1000;
    },
    wait,
    lateMs: () => windowMs / BUCKETS,
    runs: 8,
    isRealTime: true,
  };
});

describe('RedisLimiter', () => {
  let server: Server;
  let admin: Redis;

  before(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });

  // A running limiter would send calls during the next test, which counts them.
  afterEach(closeAll);

  after(async () => {
    admin.disconnect();
    await server.stop();
  });

  const calls = async (): Promise<number> => {
    const stats = await admin.info('commandstats');
    const count = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    return count('evalsha') + count('eval');
  };

  it('500 requests of one caller in one turn of the event loop are one call', async () => {
    const limiter = create(await connect(server.url));
    await limiter.take('key:warm', 1);
    const before = await calls();
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.take('key:a', 600)));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 500);
    assert.equal((await calls()) - before, 1);
  });

  it('a caller over its limit is rejected without a call and without a promise', async () => {
    const limiter = create(await connect(server.url));
    await Promise.all([1, 2, 3].map(() => limiter.take('key:a', 2)));
    const before = await calls();
    const decision = limiter.take('key:a', 2);
    assert.deepInclude(decision, { allowed: false, limit: 2, remaining: 0 });
    assert.equal(await calls(), before);
  });

  it('a caller that used its last permit is rejected without a call', async () => {
    const limiter = create(await connect(server.url));
    await limiter.take('key:a', 1);
    const before = await calls();
    assert.notInstanceOf(limiter.take('key:a', 1), Promise);
    assert.equal(await calls(), before);
  });

  it('a request after resetMs is allowed, even if the call that returned resetMs reached Redis late', async () => {
    const limiter = create(await connect(server.url), 300);
    await limiter.take('key:warm', 1);
    const late = await whileFrozen(server, async () => {
      const taken = limiter.take('key:late', 1);
      await wait(100);
      return { taken };
    });
    assert.isTrue((await late.taken).allowed);
    const refused = await limiter.take('key:late', 1);
    assert.isFalse(refused.allowed);
    await wait(refused.resetMs);
    assert.isTrue((await limiter.take('key:late', 1)).allowed);
  });

  it('keys and addresses are in separate hashes, with prefix, hash tag and a time to live of two windows', async () => {
    await admin.flushall();
    const limiter = create(await connect(server.url, 'house:'));
    await Promise.all([limiter.take('key:k_1', 600), limiter.take('ip:2001:db8::/64', 6000)]);
    const [shard, addresses] = ['house:limits:{0-partition}', 'house:limits:{0-partition}:addresses'];
    assert.sameMembers(await admin.keys('house:*'), [shard, addresses]);
    assert.include(await admin.hkeys(shard), 'key:k_1');
    assert.sameMembers(await admin.hkeys(addresses), ['', 'ip:2001:db8::/64']);
    for (const key of [shard, addresses]) assert.approximately(await admin.pttl(key), 121_000, 2000);
  });

  it('60,000 addresses: Redis keeps the last 10,000 to 20,000 of them', async () => {
    await admin.flushall();
    // 24 MB are enough for 20,000 addresses. Beyond that, writes fail.
    await admin.config('SET', 'maxmemory', '24mb');
    const connection = await connect(server.url, 'flood:');
    const limiter = create(connection);
    const isRejected = async (caller: string): Promise<boolean> => {
      const other = create(connection);
      const { allowed } = await other.take(caller, 1);
      await other.close();
      return !allowed;
    };
    const flood = (from: number) =>
      Promise.all(Array.from({ length: 5000 }, (_, i) => limiter.take(`ip:2001:db8:${from}:${i}::/64`, 600)));
    assert.isTrue((await limiter.take('key:mine', 1)).allowed);
    assert.isTrue((await limiter.take('ip:busy', 1)).allowed);
    for (let i = 0; i < 12; i++) {
      for (const { allowed } of await flood(i)) assert.isTrue(allowed);
      assert.isTrue(await isRejected('ip:busy'), `after ${5000 * (i + 1)} addresses`);
      assert.isTrue(limiter.health().ok);
    }
    assert.isTrue(await isRejected('key:mine'));
    const parts = ['flood:limits:{0-partition}:addresses', 'flood:limits:{0-partition}:addresses-before'];
    for (const key of parts) assert.isAtMost(await admin.hlen(key), MOST_ADDRESSES + 200 + 1);
    await admin.config('SET', 'maxmemory', '0');
    await limiter.close();
  });

  it('deletes callers and replicas that were idle for a window, while other callers are active', async () => {
    const idle = create(await connect(server.url, 'idle:'), 300);
    await Promise.all(Array.from({ length: 1000 }, (_, i) => idle.take(`key:${i}`, 600)));
    // The hash has 1,000 fields for callers, one for the replica, and one for the sweep that deletes unused fields.
    assert.equal(await admin.hlen('idle:limits:{0-partition}'), 1002);
    const limiter = create(await connect(server.url, 'idle:'), 300);
    const until = Date.now() + 3000;
    while (Date.now() < until && (await admin.hlen('idle:limits:{0-partition}')) > 3) {
      await limiter.take('key:busy', 100_000);
      await delay(5);
    }
    const fields = await admin.hkeys('idle:limits:{0-partition}');
    assert.equal(fields.length, 3);
    assert.includeMembers(fields, ['key:busy', '']);
    await limiter.close();
    await wait(700);
    assert.equal(await admin.exists('idle:limits:{0-partition}'), 0);
  });

  const bytesOf = async (prefix: string): Promise<number> =>
    (await admin.memory('USAGE', `${prefix}limits:{0-partition}`, 'SAMPLES', 0)) as number;

  for (const [limit, over] of [
    [600, 'one request at a time'],
    [100_000_000, 'in every bucket of the window'],
  ] as const) {
    it(`a limit of ${limit}, used ${over}, takes at most 1 KB in Redis`, async () => {
      const prefix = `bytes-${limit}:`;
      // A window of 1.8 seconds is long enough to fill most buckets, even on a busy machine.
      const limiter = create(await connect(server.url, prefix), 1800);
      const until = performance.now() + 1790;
      while (performance.now() < until) {
        await limiter.take('key:bytes', limit);
        if (limit < 1000) await delay(3);
      }
      await limiter.close();
      const { length } = await readWindow(admin, prefix, 'key:bytes');
      assert.isAtMost(length, BUCKETS + 2);
      assert.isAtLeast(length, BUCKETS / 2);
      assert.isAtMost(await bytesOf(prefix), 1024);
    });
  }

  for (const [callers, expected] of [
    [15, 1],
    [100, 2],
  ] as const) {
    it(`${callers} callers in one turn of the event loop need ${expected === 1 ? 'one call' : 'two calls'}, and each gets its own remaining permits`, async () => {
      const limiter = create(await connect(server.url));
      await limiter.take('key:warm', 1);
      const before = await calls();
      const takes = Array.from({ length: 3 * callers }, (_, i) => limiter.take(`key:${i % callers}`, 600));
      const decisions = await Promise.all(takes);
      assert.equal((await calls()) - before, expected);
      for (const { remaining } of decisions) assert.equal(remaining, 597);
    });
  }

  it('decides more callers than fit into one call', async () => {
    const limiter = create(await connect(server.url));
    const decisions = await Promise.all(Array.from({ length: 3000 }, (_, i) => limiter.take(`key:${i % 1500}`, 1)));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 1500);
  });

  it('limits a caller whose name is not valid Unicode, and the other callers of its batch', async () => {
    const limiter = create(await connect(server.url));
    const callers = ['key:half \ud83d', 'key:"quoted" \\ \u0000', 'key:é 😀', 'key:plain'];
    for (const allowed of [true, false]) {
      const decisions = await Promise.all(callers.map((subject) => limiter.take(subject, 1)));
      assert.deepEqual(
        decisions.map((decision) => decision.allowed),
        callers.map(() => allowed),
      );
    }
  });

  it('stores one bucket for each replica and second', async () => {
    const limiters = await Promise.all(
      [1, 2, 3, 4].map(async () => create(await connect(server.url, 'many:'), 60_000)),
    );
    for (let i = 0; i < 200; i++) await (limiters[i % 4] as RedisLimiter).take('key:many', 600);
    await Promise.all(limiters.map((limiter) => limiter.close()));
    const buckets = await readWindow(admin, 'many:', 'key:many');
    const ends = new Set(buckets.map(({ end }) => end));
    assert.isAtMost(buckets.length, 4 * ends.size);
    assert.equal(await countedIn(admin, 'many:', 'key:many'), 200);
  });

  describe('prefetched permits', () => {
    const takeInTurn = async (limiter: RedisLimiter, caller: string, times: number, limit: number) => {
      let allowed = 0;
      for (let i = 0; i < times; i++) if ((await limiter.take(caller, limit)).allowed) allowed++;
      return allowed;
    };
    const counted = (caller: string): Promise<number> => countedIn(admin, 'house:', caller);

    it('5,000 requests in sequence need a few calls, and most of them no promise', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      const before = await calls();
      let promises = 0;
      const seconds = new Set<number>();
      for (let i = 0; i < 5000; i++) {
        const decision = limiter.take('key:busy', 1_000_000);
        if (decision instanceof Promise) promises++;
        const { remaining } = await decision;
        assert.equal(remaining, 1_000_000 - 1 - i, 'each decision has the permits left after it');
        seconds.add(Math.floor(performance.now() / 1000));
      }
      // Each call prefetches in proportion to the demand so far, so the number of calls grows logarithmically.
      assert.isAtMost(promises, 12 + 5 * seconds.size);
      // A few more calls per second return permits or check for data loss.
      assert.isAtMost((await calls()) - before, promises + 2 + 5 * seconds.size);
    });

    it('10 requests per bucket: most of them need no call', async () => {
      const limiter = create(await connect(server.url, 'house:'), 6000);
      let promises = 0;
      for (let i = 0; i < 100; i++) {
        const decision = limiter.take('key:usual', 600);
        if (decision instanceof Promise) promises++;
        assert.equal((await decision).remaining, 600 - 1 - i);
        await wait(9);
      }
      assert.isBelow(promises, 50);
    });

    it('returns unused permits when the caller is idle', async () => {
      const limiter = create(await connect(server.url, 'house:'), 6000);
      assert.equal(await takeInTurn(limiter, 'key:back', 40, 100_000), 40);
      // Permits expire within one bucket. A timer returns them during the next bucket.
      await wait(500);
      assert.equal(await counted('key:back'), 40);
    });

    it('returns unused permits when the limiter is closed', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      assert.equal(await takeInTurn(limiter, 'key:closed', 40, 100_000), 40);
      assert.isAbove(await counted('key:closed'), 40);
      await limiter.close();
      assert.equal(await counted('key:closed'), 40);
    });

    it('returns unused permits before a changed limit applies', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      await takeInTurn(limiter, 'key:changed', 40, 100_000);
      assert.equal((await limiter.take('key:changed', 50_000)).remaining, 50_000 - 41);
      assert.isFalse((await limiter.take('key:changed', 40)).allowed);
    });

    it('allows requests again when another replica has returned permits', async () => {
      const [idle, busy] = [await connect(server.url, 'house:'), await connect(server.url, 'house:')].map((redis) =>
        create(redis),
      ) as [RedisLimiter, RedisLimiter];
      const [, micros] = await admin.time();
      if (Number(micros) > 500_000) await wait(600);
      await takeInTurn(idle, 'key:missed', 40, 6400);
      const decisions = await Promise.all(Array.from({ length: 6400 }, () => busy.take('key:missed', 6400)));
      assert.isBelow(decisions.filter(({ allowed }) => allowed).length, 6400 - 40);
      await wait(3500);
      assert.isTrue((await busy.take('key:missed', 6400)).allowed);
    });

    it('three replicas in turn: allows exactly the limit, and rejects early only for prefetched permits', async () => {
      const limiters = await Promise.all([1, 2, 3].map(async () => create(await connect(server.url, 'house:'))));
      const limit = 3000;
      let allowed = 0;
      for (let i = 0; i < 2 * limit; i++) {
        const decision = await (limiters[i % 3] as RedisLimiter).take('key:turns', limit);
        if (decision.allowed) allowed++;
        else assert.isAtLeast(allowed, limit - 3 * Math.ceil(limit / 64));
      }
      assert.equal(allowed, limit);
    });
  });

  it('SCRIPT FLUSH loses no decision and no count', async () => {
    const limiter = create(await connect(server.url));
    for (let i = 0; i < 5; i++) {
      assert.deepInclude(await limiter.take('key:a', 5), { allowed: true, remaining: 4 - i });
      await admin.script('FLUSH');
    }
    assert.isFalse((await limiter.take('key:a', 5)).allowed);
  });

  it('a clock of Redis that was set back does not lengthen the window', async () => {
    const limiter = create(await connect(server.url, 'house:'));
    const ahead = [{ end: Math.ceil(Date.now() / 1000) * 1_000_000 + 3_600_000_000, replica: 1, count: 1 }];
    await admin.hset('house:limits:{0-partition}', 'key:ahead', fieldOf(ahead));
    const decision = await limiter.take('key:ahead', 1);
    assert.isFalse(decision.allowed);
    assert.isAtMost(decision.resetMs, 62_000);
  });

  it('a replica with a system clock 30 seconds off counts in the same window', async () => {
    const redis = await connect(server.url);
    const off = { now: () => Date.now() + 30_000, monotonic: () => performance.now() + 30_000 };
    const other = new RedisLimiter({ redis, replicas: 3, clock: off, logger: keptLogger() });
    const limiter = create(redis);
    for (let i = 0; i < 3; i++) {
      assert.isTrue((await other.take('key:a', 6)).allowed);
      assert.isTrue((await limiter.take('key:a', 6)).allowed);
    }
    assert.isFalse((await other.take('key:a', 6)).allowed);
    assert.isFalse((await limiter.take('key:a', 6)).allowed);
    await other.close();
  });
});
