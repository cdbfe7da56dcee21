/** The limiter of many replicas on a real Redis: the shared suite, and how it saves calls and memory. */
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { MOST_ADDRESSES } from '../../../core/limiter/callers.js';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { BUCKETS } from '../../../core/limiter/script.js';
import { connectRedis, type RedisConnection } from '../../../core/redis/connection.js';
import { keptLogger } from '../../support/kept-logger.js';
import { countedIn, fieldOf, readWindow } from '../../support/limiter-window.js';
import { redisForTests, type Server, startRedis, uniqueName } from '../../support/services.js';
import { defineLimiterSuite } from './limiter-suite.js';

const closers: (() => unknown)[] = [];

/** A patient connection: these tests are about counting, and the machine may be busy. */
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

/** Never less than `ms`, unlike a timer, which counts whole milliseconds and may come before the last of them is over. */
const wait = async (ms: number): Promise<void> => {
  const until = performance.now() + ms;
  while (performance.now() < until) await delay(until - performance.now());
};

/** Limiters before their connections. */
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

  // What a limiter does by itself would be counted among the calls of the next test.
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

  it('500 requests of one subject in one turn of the event loop are one call', async () => {
    const limiter = create(await connect(server.url));
    await limiter.take('key:warm', 1);
    const before = await calls();
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.take('key:a', 600)));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 500);
    assert.equal((await calls()) - before, 1);
  });

  it('a subject over its limit is refused without a call, and without a promise', async () => {
    const limiter = create(await connect(server.url));
    await Promise.all([1, 2, 3].map(() => limiter.take('key:a', 2)));
    const before = await calls();
    const decision = limiter.take('key:a', 2);
    assert.deepInclude(decision, { allowed: false, limit: 2, remaining: 0 });
    assert.equal(await calls(), before);
  });

  it('a subject that took its last slot is refused without a call', async () => {
    const limiter = create(await connect(server.url));
    await limiter.take('key:a', 1);
    const before = await calls();
    assert.notInstanceOf(limiter.take('key:a', 1), Promise);
    assert.equal(await calls(), before);
  });

  it('who waits as long as told passes, also when the call that told it reached Redis late', async () => {
    const limiter = create(await connect(server.url), 300);
    await limiter.take('key:warm', 1);
    server.freeze();
    const late = limiter.take('key:late', 1);
    await wait(100);
    server.resume();
    assert.isTrue((await late).allowed);
    const refused = await limiter.take('key:late', 1);
    assert.isFalse(refused.allowed);
    await wait(refused.resetMs);
    assert.isTrue((await limiter.take('key:late', 1)).allowed);
  });

  it('keys are in one hash and addresses in another, with prefix, hash tag and a time to live of two windows', async () => {
    await admin.flushall();
    const limiter = create(await connect(server.url, 'house:'));
    await Promise.all([limiter.take('key:k_1', 600), limiter.take('ip:2001:db8::/64', 6000)]);
    const [shard, addresses] = ['house:limits:{0-partition}', 'house:limits:{0-partition}:addresses'];
    assert.sameMembers(await admin.keys('house:*'), [shard, addresses]);
    assert.include(await admin.hkeys(shard), 'key:k_1');
    assert.sameMembers(await admin.hkeys(addresses), ['', 'ip:2001:db8::/64']);
    for (const key of [shard, addresses]) assert.approximately(await admin.pttl(key), 121_000, 2000);
  });

  it('the addresses seen last are remembered in Redis, in a bounded number, however many come', async () => {
    await admin.flushall();
    // As much as all of them take, with what the server needs for itself: without a bound, writing would fail.
    await admin.config('SET', 'maxmemory', '24mb');
    const connection = await connect(server.url, 'flood:');
    const limiter = create(connection);
    /** Asked by another replica, which knows only what Redis does. */
    const isRefused = async (subject: string): Promise<boolean> => {
      const other = create(connection);
      const { allowed } = await other.take(subject, 1);
      await other.close();
      return !allowed;
    };
    const flood = (from: number) =>
      Promise.all(Array.from({ length: 5000 }, (_, i) => limiter.take(`ip:2001:db8:${from}:${i}::/64`, 600)));
    assert.isTrue((await limiter.take('key:mine', 1)).allowed);
    assert.isTrue((await limiter.take('ip:busy', 1)).allowed);
    for (let i = 0; i < 12; i++) {
      for (const { allowed } of await flood(i)) assert.isTrue(allowed);
      assert.isTrue(await isRefused('ip:busy'), `after ${5000 * (i + 1)} addresses`);
      assert.isTrue(limiter.health().ok);
    }
    assert.isTrue(await isRefused('key:mine'));
    const parts = ['flood:limits:{0-partition}:addresses', 'flood:limits:{0-partition}:addresses-before'];
    for (const key of parts) assert.isAtMost(await admin.hlen(key), MOST_ADDRESSES + 200 + 1);
    await admin.config('SET', 'maxmemory', '0');
    await limiter.close();
  });

  it('subjects and replicas that nobody hears of for a window leave Redis, while others are asked for', async () => {
    const gone = create(await connect(server.url, 'idle:'), 300);
    await Promise.all(Array.from({ length: 1000 }, (_, i) => gone.take(`key:${i}`, 600)));
    // With the field of the replica and that of the sweep.
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

  /** What a subject takes in Redis, alone in its shard but for the replica. */
  const bytesOf = async (prefix: string): Promise<number> =>
    (await admin.memory('USAGE', `${prefix}limits:{0-partition}`, 'SAMPLES', 0)) as number;

  for (const [limit, over] of [
    [600, 'one by one'],
    [100_000_000, 'in every bucket of the window'],
  ] as const) {
    it(`a limit of ${limit}, used ${over}, takes at most 1 KB in Redis`, async () => {
      const prefix = `bytes-${limit}:`;
      // Long enough that a busy machine uses most of its sixtieths.
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

  for (const [subjects, expected] of [
    [15, 1],
    [100, 2],
  ] as const) {
    it(`${subjects} subjects of one turn of the event loop take ${expected === 1 ? 'one call' : 'two'}, and each is told what is left after its own`, async () => {
      const limiter = create(await connect(server.url));
      await limiter.take('key:warm', 1);
      const before = await calls();
      const takes = Array.from({ length: 3 * subjects }, (_, i) => limiter.take(`key:${i % subjects}`, 600));
      const decisions = await Promise.all(takes);
      assert.equal((await calls()) - before, expected);
      for (const { remaining } of decisions) assert.equal(remaining, 597);
    });
  }

  it('more subjects than one call may have are decided all the same', async () => {
    const limiter = create(await connect(server.url));
    const decisions = await Promise.all(Array.from({ length: 3000 }, (_, i) => limiter.take(`key:${i % 1500}`, 1)));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 1500);
  });

  it('a subject that is no valid Unicode is limited as any other, and costs those beside it nothing', async () => {
    const limiter = create(await connect(server.url));
    const subjects = ['key:half \ud83d', 'key:"quoted" \\ \u0000', 'key:é 😀', 'key:plain'];
    for (const allowed of [true, false]) {
      const decisions = await Promise.all(subjects.map((subject) => limiter.take(subject, 1)));
      assert.deepEqual(
        decisions.map((decision) => decision.allowed),
        subjects.map(() => allowed),
      );
    }
  });

  it('a subject that many replicas ask for is one bucket a replica in each sixtieth of the window', async () => {
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

  describe('slots ahead', () => {
    /** Under a limit that a burst cannot use up: how many of these requests, one after another, passed. */
    const takeInTurn = async (limiter: RedisLimiter, subject: string, times: number, limit: number) => {
      let allowed = 0;
      for (let i = 0; i < times; i++) if ((await limiter.take(subject, limit)).allowed) allowed++;
      return allowed;
    };
    const counted = (subject: string): Promise<number> => countedIn(admin, 'house:', subject);

    it('5,000 requests one after another take a few calls, and most of them not even a promise', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      const before = await calls();
      let promises = 0;
      const seconds = new Set<number>();
      for (let i = 0; i < 5000; i++) {
        const decision = limiter.take('key:busy', 1_000_000);
        if (decision instanceof Promise) promises++;
        const { remaining } = await decision;
        assert.equal(remaining, 1_000_000 - 1 - i, 'each answer tells what is left after it');
        seconds.add(Math.floor(performance.now() / 1000));
      }
      // Each call prefetches in proportion to the demand so far, so the number of calls grows with its logarithm.
      assert.isAtMost(promises, 12 + 5 * seconds.size);
      // Each second brings a few more: what is given back, and the question whether Redis has lost data.
      assert.isAtMost((await calls()) - before, promises + 2 + 5 * seconds.size);
    });

    it('a caller of ten requests in each second’s worth of its window asks Redis for less than every other one', async () => {
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

    it('what was not used is given back once its caller has stopped asking', async () => {
      const limiter = create(await connect(server.url, 'house:'), 6000);
      assert.equal(await takeInTurn(limiter, 'key:back', 40, 100_000), 40);
      // After two sixtieths, and with the next look.
      await wait(500);
      assert.equal(await counted('key:back'), 40);
    });

    it('what was not used is given back when the limiter is closed', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      assert.equal(await takeInTurn(limiter, 'key:closed', 40, 100_000), 40);
      assert.isAbove(await counted('key:closed'), 40);
      await limiter.close();
      assert.equal(await counted('key:closed'), 40);
    });

    it('slots are given back before a changed limit is applied', async () => {
      const limiter = create(await connect(server.url, 'house:'));
      await takeInTurn(limiter, 'key:changed', 40, 100_000);
      assert.equal((await limiter.take('key:changed', 50_000)).remaining, 50_000 - 41);
      assert.isFalse((await limiter.take('key:changed', 40)).allowed);
    });

    it('a replica that was refused passes requests again when another one has given back, long before the window is over', async () => {
      const [idle, busy] = [await connect(server.url, 'house:'), await connect(server.url, 'house:')].map((redis) =>
        create(redis),
      ) as [RedisLimiter, RedisLimiter];
      const [, micros] = await admin.time();
      // All of it within one second of the server's clock.
      if (Number(micros) > 500_000) await wait(600);
      await takeInTurn(idle, 'key:missed', 40, 6400);
      const decisions = await Promise.all(Array.from({ length: 6400 }, () => busy.take('key:missed', 6400)));
      assert.isBelow(decisions.filter(({ allowed }) => allowed).length, 6400 - 40);
      await wait(3500);
      assert.isTrue((await busy.take('key:missed', 6400)).allowed);
    });

    it('requests in turn over three replicas: exactly the limit passes, and what one has ahead the others miss for a moment', async () => {
      const limiters = await Promise.all([1, 2, 3].map(async () => create(await connect(server.url, 'house:'))));
      const limit = 3000;
      let passed = 0;
      for (let i = 0; i < 2 * limit; i++) {
        const decision = await (limiters[i % 3] as RedisLimiter).take('key:turns', limit);
        if (decision.allowed) passed++;
        else assert.isAtLeast(passed, limit - 3 * Math.ceil(limit / 64));
      }
      assert.equal(passed, limit);
    });
  });

  it('SCRIPT FLUSH costs nobody a decision and nothing of the count', async () => {
    const limiter = create(await connect(server.url));
    for (let i = 0; i < 5; i++) {
      assert.deepInclude(await limiter.take('key:a', 5), { allowed: true, remaining: 4 - i });
      await admin.script('FLUSH');
    }
    assert.isFalse((await limiter.take('key:a', 5)).allowed);
  });

  it('a clock of the server that was set back does not lengthen the window', async () => {
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
