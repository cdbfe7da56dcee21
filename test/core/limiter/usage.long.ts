/**
 * Tests usage and quotas under random faults. Each allowed request must be counted exactly once unless Redis loses
 * data. Quotas must hold within the bound in `docs/explanation/rate-limiter.md`.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { randomFrom } from '../../../plugins/metro/sample/random.js';
import { keptLogger } from '../../support/kept-logger.js';
import { whileFrozen } from '../../support/server-process.js';
import { startRedis } from '../../support/services.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const SEED = process.env['FAULTS_SEED'] || String(randomInt(1e9));
const SECONDS = 15;
const REPLICAS = 3;
const WINDOW_MS = 2000;
const LIMIT = 400;
/**
 * Maximum number of permits that are lost when a replica is killed. A replica has at most two calls in flight. Each
 * call gets permits for at most 9 requests, and prefetches at most 1/64 of the limit.
 */
const MOST_UNUSED = 2 * (9 + Math.ceil(LIMIT / 64));
const CALLER = 'key:a';

interface Outcome {
  allowed: number;
  refused: number;
  killed: number;
}

describe(`usage under random faults for ${SECONDS} seconds, FAULTS_SEED=${SEED}`, function () {
  this.timeout(SECONDS * 1000 + 30_000);

  const run = async (quota: number, mode: 'faults' | 'kills') => {
    const random = randomFrom(`${SEED} ${quota} ${mode}`);
    const chance = (most: number): number => random.uniform() * most;
    const server = await startRedis();
    const proxies = await Promise.all(Array.from({ length: REPLICAS }, () => startTcpProxy(server.port)));
    const until = performance.now() + SECONDS * 1000;
    const quotas = { perDay: quota, perMonth: null };
    const outcome: Outcome = { allowed: 0, refused: 0, killed: 0 };
    const start = async (port: number) => {
      const logger = keptLogger();
      // With a short timeout, a slow machine would cause local decisions, which a killed replica cannot report.
      const timeoutMs = mode === 'kills' ? 5000 : 40;
      const config = { url: `redis://127.0.0.1:${port}`, keyPrefix: 'p:', timeoutMs, connectTimeoutMs: 300 };
      const redis = connectRedis(config, logger);
      await redis.opened;
      const limiter = new RedisLimiter({
        redis,
        replicas: REPLICAS,
        windowMs: WINDOW_MS,
        countsUsage: true,
        logger,
      });
      return { redis, limiter };
    };

    const runReplicas = async (port: number): Promise<void> => {
      while (performance.now() < until) {
        const { redis, limiter } = await start(port);
        const ends = mode === 'kills' ? Math.min(until, performance.now() + chance(WINDOW_MS)) : until;
        const isKilled = mode === 'kills' && chance(2) < 1;
        let isAlive = true;
        const requests: Promise<void>[] = [];
        while (performance.now() < ends) {
          for (let i = 0; i < 1 + chance(8); i++) {
            requests.push(
              (async () => {
                const { allowed } = await limiter.take(CALLER, LIMIT, quotas);
                if (isAlive) outcome[allowed ? 'allowed' : 'refused']++;
              })(),
            );
          }
          await delay(5 + chance(20));
        }
        if (isKilled) {
          isAlive = false;
          outcome.killed++;
          redis.close();
        }
        await Promise.all(requests);
        if (mode === 'faults') await settled.promise;
        await limiter.close();
        if (!isKilled) redis.close();
      }
    };

    const settled = withResolvers();
    const injectFaults = async (): Promise<void> => {
      while (mode === 'faults' && performance.now() < until) {
        await delay(chance(2000));
        const proxy = proxies[Math.floor(chance(REPLICAS))]!;
        const lasts = chance(1500);
        if (chance(2) < 1) {
          await whileFrozen(server, () => delay(lasts));
        } else {
          proxy.cutReplies();
          await delay(lasts);
          proxy.mend();
        }
      }
      // All replicas reconnect and resync within three seconds.
      await delay(3000);
      settled.resolve();
    };

    await Promise.all([...proxies.map(({ port }) => runReplicas(port)), injectFaults()]);
    const { redis, limiter } = await start(server.port);
    const days = await limiter.usage(CALLER);
    await limiter.close();
    redis.close();
    for (const proxy of proxies) await proxy.close();
    await server.stop();
    const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
    const used = {
      requests: sum(days.map(({ requests }) => requests)),
      refused: sum(days.map(({ refused }) => refused)),
    };
    console.log(`      quota ${quota}, ${mode}: ${JSON.stringify({ ...outcome, used })}`);
    return { ...outcome, used };
  };

  for (const quota of [500, 1_000_000]) {
    it(`a quota of ${quota}, Redis frozen and replies lost: usage is exact`, async () => {
      const { allowed, refused, used } = await run(quota, 'faults');
      assert.deepEqual(used, { requests: allowed, refused });
      assert.isAtMost(allowed, quota + (REPLICAS - 1) * Math.floor(quota / REPLICAS));
      assert.isAbove(allowed, Math.min(quota - 1, LIMIT));
    });

    it(`a quota of ${quota}, replicas killed and restarted: counts every request, and at most the unused permits of killed replicas`, async () => {
      const { allowed, killed, used } = await run(quota, 'kills');
      assert.isAtLeast(used.requests, allowed);
      assert.isAtMost(used.requests, allowed + killed * MOST_UNUSED);
      assert.isAtMost(allowed, quota);
      assert.isAbove(killed, 0);
    });
  }
});

const withResolvers = () => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};
