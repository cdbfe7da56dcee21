/** The shared limiter while its Redis is killed, frozen, emptied, demoted or cut off: what passes, and what is counted. */
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { type Decision, WINDOW_MS } from '../../../core/contracts/limiter.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import { LimiterUnavailable } from '../../../core/errors.js';
import type { OutagePolicy } from '../../../core/limiter/local.js';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { countedIn } from '../../support/limiter-window.js';
import { freePort } from '../../support/server-process.js';
import { type Server, startRedis } from '../../support/services.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const SUBJECT = 'key:k1';
const REPLICAS = 3;
/** Longer than a busy machine pauses: a reply that is late would be an outage of its own. */
const TIMEOUT_MS = 250;
const CONNECT_MS = 1000;
/** More than one timeout and what a busy machine adds, less than a second one in turn for each of many or a connection's. */
const AT_ONCE_MS = 800;
/** Half a second by itself, and what a busy machine adds. */
const BACK_MS = 5000;

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
    readonly whenUnreachable?: OutagePolicy;
    readonly logger?: KeptLogger;
    /** How long ago it has begun. */
    readonly ageMs?: number;
  }

  /** One that has run for a window, so that its share is whole. */
  const create = async (options: Options = {}) => {
    const { port = server.port, whenUnreachable = 'local', logger = keptLogger(), ageMs = WINDOW_MS } = options;
    const config = {
      url: `redis://127.0.0.1:${port}`,
      keyPrefix: 'p:',
      timeoutMs: TIMEOUT_MS,
      connectTimeoutMs: CONNECT_MS,
    };
    const redis = connectRedis(config, logger);
    await redis.opened;
    let aheadMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const limiter = new RedisLimiter({ redis, replicas: REPLICAS, whenUnreachable, clock, logger });
    aheadMs = ageMs;
    closers.push(() => {
      void limiter.close();
      redis.close();
    });
    return limiter;
  };

  const take = async (limiter: RedisLimiter, times: number, limit = 600): Promise<Decision[]> =>
    Promise.all(Array.from({ length: times }, () => limiter.take(SUBJECT, limit)));

  const passed = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;

  /** How many admissions the shared window holds. */
  const counted = (): Promise<number> => countedIn(admin, 'p:', SUBJECT);

  const assertCounted = async (expected: number): Promise<void> => {
    for (const until = performance.now() + 5000; performance.now() < until; await delay(10)) {
      if ((await counted()) === expected) break;
    }
    // It is to stay so.
    await delay(50);
    assert.equal(await counted(), expected);
  };

  const back = async (limiter: RedisLimiter): Promise<number> => {
    const since = performance.now();
    while (!limiter.health().ok) {
      assert.isBelow(performance.now() - since, 10_000, 'the limiter did not come back');
      await delay(5);
    }
    const waited = performance.now() - since;
    // What the replica knows is told right after: let that be applied.
    await delay(50);
    return waited;
  };

  it('killed: requests go on at once in the local window, and the shared one knows of them after the restart', async () => {
    const logger = keptLogger();
    const limiter = await create({ logger });
    assert.equal(passed(await take(limiter, 50)), 50);
    await server.kill();
    const since = performance.now();
    assert.equal(passed(await take(limiter, 300)), 200 - 50);
    assert.isBelow(performance.now() - since, AT_ONCE_MS);
    assert.deepInclude(limiter.health(), { ok: false });
    assert.notInstanceOf(limiter.take(SUBJECT, 600), Promise);
    await server.restart();
    assert.isBelow(await back(limiter), BACK_MS);
    // The new server was empty: all 200 came from this replica's memory of the window.
    await assertCounted(200);
    assert.equal(passed(await take(limiter, 600)), 400);
    assert.match(
      logger.lines.join('\n'),
      /warn: limiter: Redis is unreachable\n(.*\n)*info: limiter: Redis is reachable again/,
    );
  });

  it('killed with several replicas: the restarted window holds what all of them had admitted', async () => {
    const limiters = await Promise.all([create(), create(), create()]);
    for (const limiter of limiters) await take(limiter, 30);
    await server.kill();
    await Promise.all(limiters.map((limiter) => take(limiter, 20)));
    await server.restart();
    await Promise.all(limiters.map(back));
    await assertCounted(3 * 50);
    const decisions = await Promise.all(limiters.map((limiter) => take(limiter, 600)));
    assert.equal(
      decisions.map(passed).reduce((sum, n) => sum + n),
      600 - 150,
    );
  });

  it('killed and empty when it is back: no replica gets a limit that others have used up, but their share', async () => {
    const proxy = await startTcpProxy(server.port);
    const [first, second] = await Promise.all([create({ port: proxy.port }), create()]);
    assert.equal(passed(await take(first, 600)), 600);
    await server.kill();
    // The one that knows of them is the last to come back.
    proxy.inject({ latencyMs: 8 });
    await server.restart();
    let others = 0;
    while (!first.health().ok || !second.health().ok) {
      others += passed(await take(second, 100));
      await delay(5);
    }
    assert.equal(others, 600 / REPLICAS);
    await delay(50);
    await assertCounted(600 + others);
    assert.equal(passed(await take(second, 100)), 0);
    await proxy.close();
  });

  it('frozen: the first requests wait for one timeout, the next for nothing, and none is counted twice', async () => {
    const limiter = await create();
    await take(limiter, 10);
    server.freeze();
    const since = performance.now();
    assert.equal(passed(await take(limiter, 20)), 20);
    assert.isBelow(performance.now() - since, AT_ONCE_MS);
    const decision = limiter.take(SUBJECT, 600);
    assert.notInstanceOf(decision, Promise);
    assert.deepInclude(decision, { allowed: true, limit: 600, remaining: 200 - 31 });
    await delay(500);
    server.resume();
    assert.isBelow(await back(limiter), BACK_MS);
    await assertCounted(31);
  });

  it('frozen for longer than a connection is kept: it comes back all the same, and none is counted twice', async () => {
    const limiter = await create();
    await take(limiter, 10);
    server.freeze();
    assert.equal(passed(await take(limiter, 20)), 20);
    await delay(2500);
    assert.equal(passed(await take(limiter, 5)), 5);
    server.resume();
    assert.isBelow(await back(limiter), BACK_MS);
    await assertCounted(35);
  });

  it('a call that was counted, but whose reply was lost, is not counted again', async () => {
    const proxy = await startTcpProxy(server.port);
    const limiter = await create({ port: proxy.port });
    await take(limiter, 10);
    proxy.cutReplies();
    assert.equal(passed(await take(limiter, 7)), 7);
    proxy.mend();
    await back(limiter);
    await assertCounted(17);
    assert.equal(passed(await take(limiter, 600)), 583);
    await proxy.close();
  });

  it('a process that is busy for seconds takes it for no outage: nobody gets more than the limit', async () => {
    const logger = keptLogger();
    const [stalled, other] = await Promise.all([create({ logger }), create()]);
    assert.equal(passed(await take(stalled, 10, 20)), 10);
    for (let stalls = 0; stalls < 3; stalls++) {
      const decision = stalled.take(SUBJECT, 20);
      // The call is on its way.
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
      for (const until = performance.now() + 1500; performance.now() < until; );
      assert.isTrue((await decision).allowed);
    }
    assert.equal(passed(await take(other, 20, 20)), 7);
    assert.equal(passed(await take(stalled, 20, 20)), 0);
    assert.deepEqual(logger.lines, []);
  });

  it('closed after a call was lost: it waits for Redis, and gives back what it had asked for ahead', async () => {
    const proxy = await startTcpProxy(server.port);
    const limiter = await create({ port: proxy.port });
    let used = 0;
    // Until it has more slots ahead than the requests below use.
    while ((await counted()) <= used + 100) used += passed(await take(limiter, 1, 100_000));
    proxy.cutReplies();
    used += passed(await take(limiter, 100, 100_000));
    assert.isAbove(await counted(), used, 'slots ahead');
    const closed = limiter.close();
    proxy.mend();
    await closed;
    assert.equal(await counted(), used);
    await proxy.close();
  });

  it('closed while Redis is down, it waits no longer than a few seconds', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await server.kill();
    await take(limiter, 10);
    const since = performance.now();
    await limiter.close();
    assert.isBelow(performance.now() - since, 4000);
  });

  it('FLUSHALL: the next call finds out, and the window is full again once the others had time to tell', async () => {
    const limiter = await create();
    await take(limiter, 100);
    await admin.flushall();
    assert.equal(passed(await take(limiter, 600)), 200 - 100);
    await back(limiter);
    assert.equal(passed(await take(limiter, 600)), 400);
  });

  it('FLUSHALL: no replica gets what an idle one has used up', async () => {
    const [idle, busy] = await Promise.all([create(), create()]);
    assert.equal(passed(await take(idle, 550)), 550);
    assert.equal(passed(await take(busy, 10)), 10);
    await admin.flushall();
    let others = 0;
    for (const until = performance.now() + 1500; performance.now() < until; await delay(20)) {
      others += passed(await take(busy, 100));
    }
    assert.equal(10 + others, 600 / REPLICAS);
    await assertCounted(550 + 600 / REPLICAS);
  });

  it('FLUSHALL: callers that nobody asks for now are told too', async () => {
    const limiter = await create();
    await Promise.all(Array.from({ length: 300 }, (_, i) => limiter.take(`key:other-${i}`, 600)));
    await take(limiter, 40, 100_000);
    await admin.flushall();
    await limiter.take('key:next', 600);
    await delay(100);
    await assertCounted(40);
    for (const i of [0, 150, 299]) assert.equal(await countedIn(admin, 'p:', `key:other-${i}`), 1);
  });

  it('FLUSHALL while slots are ahead: those that were used are counted again, and the rest is not given back', async () => {
    const limiter = await create();
    for (let i = 0; i < 40; i++) await limiter.take(SUBJECT, 100_000);
    await admin.flushall();
    await take(limiter, 2000, 100_000);
    await limiter.close();
    await assertCounted(2040);
  });

  it('killed while slots are ahead: the local window counts what was used, and the slots are void', async () => {
    const limiter = await create();
    for (let i = 0; i < 40; i++) await limiter.take(SUBJECT, 6000);
    await server.kill();
    while (limiter.health().ok) await delay(1);
    assert.equal(passed(await take(limiter, 3000, 6000)), 2000 - 40);
  });

  it('demoted to a read-only replica: the local window, until it is a primary again', async () => {
    const limiter = await create();
    await take(limiter, 10);
    await admin.replicaof('127.0.0.1', await freePort());
    assert.equal(passed(await take(limiter, 300)), 190);
    assert.isFalse(limiter.health().ok);
    await admin.replicaof('NO', 'ONE');
    assert.isBelow(await back(limiter), BACK_MS);
    await assertCounted(200);
  });

  it('begun while Redis is down, a replica gets its share evenly over the first window', async () => {
    await server.kill();
    for (const [ageMs, share] of [
      [0, 0],
      [WINDOW_MS / 4, 50],
      [WINDOW_MS / 2, 100],
      [WINDOW_MS, 200],
    ] as const) {
      const decisions = await take(await create({ ageMs }), 300);
      // It grows by three while the test looks for a second.
      assert.isAtLeast(passed(decisions), share, `${ageMs}`);
      assert.isAtMost(passed(decisions), Math.min(200, share + 10), `${ageMs}`);
      if (ageMs < WINDOW_MS) assert.isAbove(decisions.at(-1)?.resetMs ?? 0, 0);
    }
  });

  it('begun anew ten times while Redis is down, a replica gets one share in all', async () => {
    await server.kill();
    let total = 0;
    for (let i = 0; i < 10; i++) total += passed(await take(await create({ ageMs: WINDOW_MS / 10 }), 300));
    assert.isAtMost(total, 200 + 10);
    assert.isAtLeast(total, 200);
  });

  it('begun anew with a Redis that is empty and soon lost, a replica gets no second share at once', async () => {
    const limiter = await create({ ageMs: 1000 });
    await server.kill();
    assert.isAtMost(passed(await take(limiter, 300)), 20);
  });

  it('starts while Redis is down, and joins the shared window when it comes', async () => {
    await server.kill();
    const limiter = await create();
    assert.equal(passed(await take(limiter, 201)), 200);
    await server.restart();
    assert.isBelow(await back(limiter), BACK_MS);
    await assertCounted(200);
  });

  it('does not wait for a Redis at 1 KB/s to be ready, and joins the shared window when it is faster', async () => {
    const proxy = await startTcpProxy(server.port);
    proxy.inject({ bytesPerSecond: 1024 });
    const since = performance.now();
    const limiter = await create({ port: proxy.port });
    // What a client asks a server about itself is over 6 KB.
    assert.isBelow(performance.now() - since, 4000);
    assert.equal(passed(await take(limiter, 201)), 200);
    proxy.heal();
    await back(limiter);
    await assertCounted(200);
    await proxy.close();
  });

  it('a subject that used up its limit before the outage is not refused for longer than its slot is due', async () => {
    const limiter = await create();
    const [first] = await take(limiter, 1, 1);
    await server.kill();
    const decision = await limiter.take(SUBJECT, 1);
    assert.isFalse(decision.allowed);
    assert.isAtMost(decision.resetMs, (first as Decision).resetMs);
  });

  it('a limit below the number of replicas leaves each of them one', async () => {
    await server.kill();
    const limiter = await create();
    assert.equal(passed(await take(limiter, 5, 2)), 1);
  });

  it('whenUnreachable "closed": rejects with LimiterUnavailable, without waiting', async () => {
    const limiter = await create({ whenUnreachable: 'closed' });
    await server.kill();
    for (let i = 0; i < 2; i++) {
      const error = await Promise.resolve(limiter.take(SUBJECT, 600)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.instanceOf(error, LimiterUnavailable);
    }
    await server.restart();
    await back(limiter);
    assert.equal(passed(await take(limiter, 1)), 1);
  });

  it('whenUnreachable "open": everything passes', async () => {
    const limiter = await create({ whenUnreachable: 'open' });
    await server.kill();
    assert.equal(passed(await take(limiter, 700)), 700);
  });

  it('health() says so in words that name no host and no cause', async () => {
    const limiter = await create();
    assert.deepEqual(limiter.health(), { ok: true, message: null });
    await server.kill();
    await take(limiter, 1);
    const { ok, message } = limiter.health();
    assert.isFalse(ok);
    assert.notMatch(message ?? '', /127|redis|ECONN/i);
  });
});
