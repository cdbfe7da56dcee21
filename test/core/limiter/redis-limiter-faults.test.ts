import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { eventually } from '../../../adapters/conformance/expect.js';
import { type Decision, type Quotas, WINDOW_MS } from '../../../core/contracts/limiter.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import { LimiterUnavailable } from '../../../core/errors.js';
import type { OutagePolicy } from '../../../core/limiter/local.js';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { countedIn } from '../../support/limiter-window.js';
import { freePort, whileFrozen } from '../../support/server-process.js';
import { type Server, startRedis } from '../../support/services.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const CALLER = 'key:k1';
const REPLICAS = 3;
/** Timeout of a call in milliseconds. A shorter timeout would treat a pause of a busy machine as an outage. */
const TIMEOUT_MS = 250;
const CONNECT_MS = 1000;
/** Maximum time of a decision: longer than the timeout of a call, but shorter than the timeout of a connection. */
const AT_ONCE_MS = 800;
/** Recovery takes half a second. The margin allows for a busy machine. */
const RECOVERY_MS = 5000;

describe('RedisLimiter and an outage', () => {
  let server: Server;
  let admin: Redis;
  const closers: (() => void)[] = [];

  beforeEach(async () => {
    server = await startRedis();
    admin = new Redis(server.url, { retryStrategy: () => 20 });
    admin.on('error', () => undefined);
  });

  afterEach(async () => {
    for (const close of closers.splice(0)) close();
    admin.disconnect();
    await server.stop();
  });

  interface Options {
    readonly port?: number;
    readonly outagePolicy?: OutagePolicy;
    readonly logger?: KeptLogger;
    readonly countsUsage?: boolean;
    readonly ageMs?: number;
    readonly now?: () => number;
  }

  /** By default, the replica has been running for a whole window, so it has its full local share. */
  const create = async (options: Options = {}) => {
    const { port = server.port, outagePolicy = 'local', logger = keptLogger(), ageMs = WINDOW_MS } = options;
    const { countsUsage = false, now = systemClock.now } = options;
    const config = {
      url: `redis://127.0.0.1:${port}`,
      keyPrefix: 'p:',
      timeoutMs: TIMEOUT_MS,
      connectTimeoutMs: CONNECT_MS,
    };
    const redis = connectRedis(config, logger);
    await redis.opened;
    let aheadMs = 0;
    const clock = { ...systemClock, now, monotonic: () => systemClock.monotonic() + aheadMs };
    const limiter = new RedisLimiter({ redis, replicas: REPLICAS, outagePolicy, countsUsage, clock, logger });
    aheadMs = ageMs;
    closers.push(() => {
      void limiter.close();
      redis.close();
    });
    return limiter;
  };

  const take = async (limiter: RedisLimiter, times: number, limit = 600): Promise<Decision[]> =>
    Promise.all(Array.from({ length: times }, () => limiter.take(CALLER, limit)));

  const countAllowed = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;

  const counted = (): Promise<number> => countedIn(admin, 'p:', CALLER);

  const assertCounted = async (expected: number): Promise<void> => {
    for (const until = performance.now() + 5000; performance.now() < until; await delay(10)) {
      if ((await counted()) === expected) break;
    }
    await delay(50);
    assert.equal(await counted(), expected);
  };

  const recovery = async (limiter: RedisLimiter): Promise<number> => {
    const since = performance.now();
    while (!limiter.health().ok) {
      assert.isBelow(performance.now() - since, 10_000, 'the limiter did not recover');
      await delay(5);
    }
    const waited = performance.now() - since;
    await delay(50);
    return waited;
  };

  it('killed: applies the local share immediately, and resyncs after the restart', async () => {
    const logger = keptLogger();
    const limiter = await create({ logger });
    assert.equal(countAllowed(await take(limiter, 50)), 50);
    await server.kill();
    const since = performance.now();
    assert.equal(countAllowed(await take(limiter, 300)), 200 - 50);
    assert.isBelow(performance.now() - since, AT_ONCE_MS);
    assert.deepInclude(limiter.health(), { ok: false });
    assert.notInstanceOf(limiter.take(CALLER, 600), Promise);
    await server.restart();
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    // The restarted server was empty, so the resync must have reported all 200 requests.
    await assertCounted(200);
    assert.equal(countAllowed(await take(limiter, 600)), 400);
    assert.match(
      logger.lines.join('\n'),
      /warn: limiter: Redis is unreachable\n(.*\n)*info: limiter: Redis is available again/,
    );
  });

  it('out of memory: check() rejects, health() reports it, and both recover', async () => {
    const logger = keptLogger();
    const limiter = await create({ logger });
    await limiter.check();
    await admin.config('SET', 'maxmemory', '1mb');
    try {
      const error = await limiter.check().catch((cause: unknown) => cause as Error);
      assert.match(String(error), /OOM/);
      assert.deepInclude(limiter.health(), { ok: false });
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    await recovery(limiter);
    await limiter.check();
    assert.include(logger.lines, 'warn: limiter: Redis is out of memory');
  });

  it('out of memory without any request: health() reports it within 6 seconds', async () => {
    const limiter = await create();
    await admin.config('SET', 'maxmemory', '1mb');
    try {
      await eventually('the limiter has noticed it', () => !limiter.health().ok, 6000);
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    await recovery(limiter);
  }).timeout(10_000);

  it('killed with three replicas: after the restart Redis has counted the requests of all replicas', async () => {
    const limiters = await Promise.all([create(), create(), create()]);
    for (const limiter of limiters) await take(limiter, 30);
    await server.kill();
    await Promise.all(limiters.map((limiter) => take(limiter, 20)));
    await server.restart();
    await Promise.all(limiters.map(recovery));
    await assertCounted(3 * 50);
    const decisions = await Promise.all(limiters.map((limiter) => take(limiter, 600)));
    assert.equal(
      decisions.map(countAllowed).reduce((sum, n) => sum + n),
      600 - 150,
    );
  });

  it('killed and empty after the restart: a replica gets its local share until the other replicas have resynced', async () => {
    const proxy = await startTcpProxy(server.port);
    const [first, second] = await Promise.all([create({ port: proxy.port }), create()]);
    assert.equal(countAllowed(await take(first, 600)), 600);
    await server.kill();
    // The replica that used up the limit is behind the slow proxy, so it reconnects last.
    proxy.inject({ latencyMs: 8 });
    await server.restart();
    let others = 0;
    while (!first.health().ok || !second.health().ok) {
      others += countAllowed(await take(second, 100));
      await delay(5);
    }
    assert.equal(others, 600 / REPLICAS);
    await delay(50);
    await assertCounted(600 + others);
    assert.equal(countAllowed(await take(second, 100)), 0);
    await proxy.close();
  });

  it('frozen: the first requests are allowed, later requests do not wait, and no request is counted twice', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await whileFrozen(server, async () => {
      assert.equal(countAllowed(await take(limiter, 20)), 20);
      const decision = limiter.take(CALLER, 600);
      assert.notInstanceOf(decision, Promise);
      assert.deepInclude(decision, { allowed: true, limit: 200, remaining: 200 - 31 });
      await delay(500);
    });
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    await assertCounted(31);
  });

  it('frozen until the connection is closed: recovers, and counts no request twice', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await whileFrozen(server, async () => {
      assert.equal(countAllowed(await take(limiter, 20)), 20);
      await delay(2500);
      assert.equal(countAllowed(await take(limiter, 5)), 5);
    });
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    await assertCounted(35);
  });

  it('a lost reply: the resync does not count its call twice', async () => {
    const proxy = await startTcpProxy(server.port);
    const limiter = await create({ port: proxy.port });
    await take(limiter, 10);
    proxy.cutReplies();
    assert.equal(countAllowed(await take(limiter, 7)), 7);
    proxy.mend();
    await recovery(limiter);
    await assertCounted(17);
    assert.equal(countAllowed(await take(limiter, 600)), 583);
    await proxy.close();
  });

  it('a process that is busy for seconds is no outage', async () => {
    const logger = keptLogger();
    const [stalled, other] = await Promise.all([create({ logger }), create()]);
    assert.equal(countAllowed(await take(stalled, 10, 20)), 10);
    for (let stalls = 0; stalls < 3; stalls++) {
      const decision = stalled.take(CALLER, 20);
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
      for (const until = performance.now() + 1500; performance.now() < until; );
      assert.isTrue((await decision).allowed);
    }
    assert.equal(countAllowed(await take(other, 20, 20)), 7);
    assert.equal(countAllowed(await take(stalled, 20, 20)), 0);
    assert.deepEqual(logger.lines, []);
  });

  it('close() after a lost call waits for Redis and returns prefetched permits', async () => {
    const proxy = await startTcpProxy(server.port);
    const limiter = await create({ port: proxy.port });
    let used = 0;
    while ((await counted()) <= used + 100) used += countAllowed(await take(limiter, 1, 100_000));
    proxy.cutReplies();
    used += countAllowed(await take(limiter, 100, 100_000));
    assert.isAbove(await counted(), used, 'permits are prefetched');
    const closed = limiter.close();
    proxy.mend();
    await closed;
    assert.equal(await counted(), used);
    await proxy.close();
  });

  it('close() waits for a few seconds at most while Redis is down', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await server.kill();
    await take(limiter, 10);
    const since = performance.now();
    await limiter.close();
    assert.isBelow(performance.now() - since, 4000);
  });

  it('FLUSHALL: the next call detects the data loss, and the limit is whole again after the resync', async () => {
    const limiter = await create();
    await take(limiter, 100);
    await admin.flushall();
    assert.equal(countAllowed(await take(limiter, 600)), 200 - 100);
    await recovery(limiter);
    assert.equal(countAllowed(await take(limiter, 600)), 400);
  });

  it('FLUSHALL: an idle replica resyncs in time, so that no other replica gets its permits', async () => {
    const [idle, busy] = await Promise.all([create(), create()]);
    assert.equal(countAllowed(await take(idle, 550)), 550);
    assert.equal(countAllowed(await take(busy, 10)), 10);
    await admin.flushall();
    let others = 0;
    for (const until = performance.now() + 1500; performance.now() < until; await delay(20)) {
      others += countAllowed(await take(busy, 100));
    }
    assert.equal(10 + others, 600 / REPLICAS);
    await assertCounted(550 + 600 / REPLICAS);
  });

  it('FLUSHALL: resyncs idle callers too', async () => {
    const limiter = await create();
    await Promise.all(Array.from({ length: 300 }, (_, i) => limiter.take(`key:other-${i}`, 600)));
    await take(limiter, 40, 100_000);
    await admin.flushall();
    await limiter.take('key:next', 600);
    await delay(100);
    await assertCounted(40);
    for (const i of [0, 150, 299]) assert.equal(await countedIn(admin, 'p:', `key:other-${i}`), 1);
  });

  it('FLUSHALL with prefetched permits: resyncs used permits, and does not return the rest', async () => {
    const limiter = await create();
    for (let i = 0; i < 40; i++) await limiter.take(CALLER, 100_000);
    await admin.flushall();
    await take(limiter, 2000, 100_000);
    await limiter.close();
    await assertCounted(2040);
  });

  it('killed with prefetched permits: the local share contains used permits, and unused permits are dropped', async () => {
    const limiter = await create();
    for (let i = 0; i < 40; i++) await limiter.take(CALLER, 6000);
    await server.kill();
    while (limiter.health().ok) await delay(1);
    assert.equal(countAllowed(await take(limiter, 3000, 6000)), 2000 - 40);
  });

  it('demoted to a read-only replica: applies the local share until it is a primary again', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await admin.replicaof('127.0.0.1', await freePort());
    assert.equal(countAllowed(await take(limiter, 300)), 190);
    assert.isFalse(limiter.health().ok);
    await admin.replicaof('NO', 'ONE');
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    await assertCounted(200);
  });

  it('a key of another type: one outage with the local share, until the key is deleted', async () => {
    const logger = keptLogger();
    const limiter = await create({ logger });
    await take(limiter, 10);
    const keys = await admin.keys('p:*');
    for (const key of keys) await admin.multi().del(key).set(key, 'x').exec();
    assert.equal(countAllowed(await take(limiter, 300)), 190);
    await eventually('a warning', () => logger.lines.some((line) => line.startsWith('warn')), 1000);
    const probes = async () => Number(/cmdstat_hlen:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
    const before = await probes();
    await eventually('three probes', async () => (await probes()) >= before + 9, 3000);
    assert.isFalse(limiter.health().ok);
    const lines = logger.lines.filter((line) => /another type|available again/.test(line));
    assert.deepEqual(lines, ['warn: limiter: A Redis key of this service has a value of another type']);
    await admin.del(keys);
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    await assertCounted(200);
  });

  it('a replica that starts while Redis is down: its local share grows evenly over the first window', async () => {
    await server.kill();
    for (const [ageMs, share] of [
      [0, 0],
      [WINDOW_MS / 4, 50],
      [WINDOW_MS / 2, 100],
      [WINDOW_MS, 200],
    ] as const) {
      const decisions = await take(await create({ ageMs }), 300);
      // The local share grows by 3 permits per second, so a slow test can get more than `share`.
      assert.isAtLeast(countAllowed(decisions), share, `${ageMs}`);
      assert.isAtMost(countAllowed(decisions), Math.min(200, share + 10), `${ageMs}`);
      assert.deepInclude(decisions.at(-1), { allowed: false, limit: 200, remaining: 0 });
      if (ageMs < WINDOW_MS) assert.isAbove(decisions.at(-1)?.resetMs ?? 0, 0);
    }
  });

  it('a replica that restarts ten times while Redis is down gets only one local share', async () => {
    await server.kill();
    let total = 0;
    for (let i = 0; i < 10; i++) total += countAllowed(await take(await create({ ageMs: WINDOW_MS / 10 }), 300));
    assert.isAtMost(total, 200 + 10);
    assert.isAtLeast(total, 200);
  });

  it('a replica that has just started when Redis dies gets a small local share', async () => {
    const limiter = await create({ ageMs: 1000 });
    await server.kill();
    assert.isAtMost(countAllowed(await take(limiter, 300)), 20);
  });

  it('starts while Redis is down, and resyncs when Redis is up', async () => {
    await server.kill();
    const limiter = await create();
    assert.equal(countAllowed(await take(limiter, 201)), 200);
    await server.restart();
    assert.isBelow(await recovery(limiter), RECOVERY_MS);
    await assertCounted(200);
  });

  it('starts without waiting for a connection of 1 KB/s, and resyncs when it is faster', async () => {
    const proxy = await startTcpProxy(server.port);
    proxy.inject({ bytesPerSecond: 1024 });
    const since = performance.now();
    const limiter = await create({ port: proxy.port });
    // The client waits for the reply to INFO before it is ready. At 1 KB/s, this reply takes more than 6 seconds.
    assert.isBelow(performance.now() - since, 4000);
    assert.equal(countAllowed(await take(limiter, 201)), 200);
    proxy.heal();
    await recovery(limiter);
    await assertCounted(200);
    await proxy.close();
  });

  it('a caller that used its limit before the outage is rejected until its next permit is free, not longer', async () => {
    const limiter = await create();
    const [first] = await take(limiter, 1, 1);
    await server.kill();
    const decision = await limiter.take(CALLER, 1);
    assert.isFalse(decision.allowed);
    assert.isAtMost(decision.resetMs, (first as Decision).resetMs);
  });

  it('a limit below the number of replicas: the local share is 1', async () => {
    await server.kill();
    const limiter = await create();
    assert.equal(countAllowed(await take(limiter, 5, 2)), 1);
  });

  it('a request that exceeds the local share of a quota is rejected with 0 remaining requests', async () => {
    const limiter = await create({ countsUsage: true });
    await server.kill();
    const quotas = { perDay: 30, perMonth: null };
    const decisions = await Promise.all(Array.from({ length: 11 }, () => limiter.take(CALLER, 600, quotas)));
    assert.equal(countAllowed(decisions), 10);
    assert.deepInclude(decisions.at(-1), { allowed: false, limit: 200, remaining: 0 });
    assert.equal((decisions.at(-1) as Decision).resetMs, WINDOW_MS, 'a caller would retry every second');
  });

  it('a month that ends during an outage: callers get the local share of the quota for the new month', async () => {
    let now = Date.UTC(2026, 0, 31, 23, 59);
    const limiter = await create({ countsUsage: true, now: () => now });
    await server.kill();
    const quotas = { perDay: null, perMonth: 30 };
    const takeAll = () => Promise.all(Array.from({ length: 11 }, () => limiter.take(CALLER, 600, quotas)));
    assert.equal(countAllowed(await takeAll()), 10);
    now = Date.UTC(2026, 1, 1);
    const decisions = await takeAll();
    assert.equal(countAllowed(decisions), 10);
    assert.equal(decisions.at(-1)?.quotas?.[0]?.remaining, 20);
  });

  describe('with a caller that used up its limit on another replica before the outage', () => {
    const LIMIT = 60;
    const outcome = async (limiter: RedisLimiter, quotas?: Quotas) => {
      try {
        return (await limiter.take(CALLER, LIMIT, quotas)).allowed;
      } catch (error) {
        return error instanceof LimiterUnavailable ? 'unavailable' : error;
      }
    };
    const quotas = { perDay: LIMIT, perMonth: null };
    for (const [outagePolicy, expected] of [
      ['local', false],
      ['closed', 'unavailable'],
      ['open', true],
    ] as const) {
      for (const used of [undefined, quotas]) {
        it(`outagePolicy "${outagePolicy}"${used ? ' and a quota' : ''}: ${expected}`, async () => {
          const options = { outagePolicy, countsUsage: used !== undefined };
          const [limiter, other] = [await create(options), await create(options)];
          const before = await Promise.all(Array.from({ length: LIMIT }, () => other.take(CALLER, LIMIT, used)));
          assert.equal(countAllowed(before), LIMIT);
          assert.equal(await outcome(limiter, used), false);
          await server.kill();
          while (limiter.health().ok) await delay(1);
          for (let i = 0; i < 3; i++) assert.equal(await outcome(limiter, used), expected);
          await server.restart();
          await Promise.all([recovery(limiter), recovery(other)]);
          // The restarted server was empty, so the other replica has reported the requests before the outage.
          assert.equal(await outcome(limiter, used), false);
        });
      }
    }
  });

  it('outagePolicy "closed": rejects with LimiterUnavailable immediately', async () => {
    const limiter = await create({ outagePolicy: 'closed' });
    await server.kill();
    for (let i = 0; i < 2; i++) {
      const error = await Promise.resolve(limiter.take(CALLER, 600)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.instanceOf(error, LimiterUnavailable);
    }
    await server.restart();
    await recovery(limiter);
    assert.equal(countAllowed(await take(limiter, 1)), 1);
  });

  it('outagePolicy "open": allows all requests', async () => {
    const limiter = await create({ outagePolicy: 'open' });
    await server.kill();
    assert.equal(countAllowed(await take(limiter, 700)), 700);
  });

  it('health() reports the outage without host or cause', async () => {
    const limiter = await create();
    assert.deepEqual(limiter.health(), { ok: true, message: null });
    await server.kill();
    await take(limiter, 1);
    const { ok, message } = limiter.health();
    assert.isFalse(ok);
    assert.notMatch(message ?? '', /127|redis|ECONN/i);
  });
});
