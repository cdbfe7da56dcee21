/** Checks the bound in `docs/explanation/rate-limiter.md` while Redis and replicas fail at random. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { randomFrom } from '../../../plugins/metro/sample/random.js';
import { keptLogger } from '../../support/kept-logger.js';
import { whileFrozen } from '../../support/server-process.js';
import { startRedis } from '../../support/services.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const SEED = process.env['FAULTS_SEED'] || String(randomInt(1e9));
const SECONDS = 45;
const REPLICAS = 3;
const WINDOW_MS = 6000;
const CALLER = 'key:k1';
/** A window may exceed the limit if Redis lost data during the window, or up to 200 ms before or after the window. */
const MARGIN_MS = 200;

interface Allowed {
  readonly sent: number;
  readonly received: number;
}

/**
 * Returns a window for each allowed request. The window starts when the request was sent. `count` includes only
 * requests whose responses arrived before the window ended.
 */
const windowsOf = (allowed: readonly Allowed[]): { since: number; count: number }[] => {
  const sorted = allowed.toSorted((a, b) => a.sent - b.sent);
  return sorted.map(({ sent: since }, i) => ({
    since,
    count: sorted.slice(i).filter(({ received }) => received < since + WINDOW_MS).length,
  }));
};

describe(`the bound of a limit under random faults for ${SECONDS} seconds, FAULTS_SEED=${SEED}`, function () {
  this.timeout(SECONDS * 1000 + 60_000);

  for (const [limit, restarts] of [
    [2, false],
    [40, false],
    [300, false],
    [2, true],
    [40, true],
    [300, true],
  ] as const) {
    it(`a limit of ${limit}, ${restarts ? 'replicas restart' : 'no replica restarts'}`, () =>
      results.get(`${limit} ${restarts}`)?.());
  }

  const results = new Map<string, () => void>();

  const run = async (limit: number, restarts: boolean): Promise<void> => {
    const random = randomFrom(`${SEED} ${limit} ${restarts}`);
    const chance = (most: number): number => random.uniform() * most;
    const server = await startRedis();
    const admin = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: 0 });
    admin.on('error', () => undefined);
    const proxies = await Promise.all(Array.from({ length: REPLICAS }, () => startTcpProxy(server.port)));
    const until = performance.now() + SECONDS * 1000;
    const allowed: Allowed[] = [];
    const losses: number[] = [];
    let starts = 0;

    const runReplicas = async (port: number): Promise<void> => {
      while (performance.now() < until) {
        starts++;
        const logger = keptLogger();
        const config = { url: `redis://127.0.0.1:${port}`, keyPrefix: 'p:', timeoutMs: 40, connectTimeoutMs: 300 };
        const redis = connectRedis(config, logger);
        await redis.opened;
        const limiter = new RedisLimiter({ redis, replicas: REPLICAS, windowMs: WINDOW_MS, logger });
        const ends = restarts ? Math.min(until, performance.now() + chance(WINDOW_MS)) : until;
        const requests: Promise<void>[] = [];
        while (performance.now() < ends) {
          for (let i = 0; i < 1 + limit / 50; i++) {
            const sent = performance.now();
            const take = async (): Promise<void> => {
              const decision = await limiter.take(CALLER, limit);
              if (decision.allowed) allowed.push({ sent, received: performance.now() });
            };
            requests.push(take());
          }
          await delay(5 + chance(20));
        }
        redis.close();
        await Promise.all(requests);
        void limiter.close();
      }
    };

    const injectFaults = async (): Promise<void> => {
      while (performance.now() < until) {
        await delay(chance(2500));
        const proxy = proxies[Math.floor(chance(REPLICAS))]!;
        const lasts = chance(2000);
        const kind = Math.floor(chance(4));
        if (kind === 0) {
          losses.push(performance.now());
          await server.kill();
          await delay(lasts);
          await server.restart();
        } else if (kind === 1) {
          losses.push(performance.now());
          await admin.flushall().catch(() => undefined);
        } else if (kind === 2) {
          await whileFrozen(server, () => delay(lasts));
        } else {
          proxy.cutReplies();
          await delay(lasts);
          proxy.mend();
        }
      }
    };

    await Promise.all([...proxies.map(({ port }) => runReplicas(port)), injectFaults()]);
    admin.disconnect();
    for (const proxy of proxies) await proxy.close();
    await server.stop();

    const share = Math.max(1, Math.floor(limit / REPLICAS));
    const boundOf = (since: number): number => {
      const lost = losses.filter((at) => at > since - MARGIN_MS && at < since + WINDOW_MS + MARGIN_MS).length;
      return restarts ? (lost + 1) * limit + 2 * REPLICAS * share : limit + (REPLICAS - 1) * share;
    };
    const windows = windowsOf(allowed);
    const most = Math.max(...windows.map(({ count }) => count));
    console.log(
      `      limit ${limit}: ${allowed.length} allowed, at most ${most} in a window; ${losses.length} data losses, ${starts} starts`,
    );
    results.set(`${limit} ${restarts}`, () => {
      assert.isAbove(allowed.length, limit);
      for (const { since, count } of windows) assert.isAtMost(count, boundOf(since));
    });
  };

  before(async () => {
    await Promise.all([2, 40, 300].flatMap((limit) => [run(limit, false), run(limit, true)]));
  });
});
