/**
 * Usage and quotas under random faults: as long as Redis keeps its data, what passed is counted once, and quotas hold
 * within the bound that `docs/explanation/rate-limiter.md` states.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { randomFrom } from '../../../plugins/metro/sample/random.js';
import { keptLogger } from '../../support/kept-logger.js';
import { startRedis } from '../../support/services.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

/** To have the same faults again. */
const SEED = process.env['FAULTS_SEED'] || String(randomInt(1e9));
const SECONDS = 15;
const REPLICAS = 3;
const WINDOW_MS = 2000;
const LIMIT = 400;
/** What a killed replica may leave counted: two calls in flight, each with a turn's requests and 1/64 of the limit ahead. */
const MOST_LEFT_BEHIND = 2 * (9 + Math.ceil(LIMIT / 64));
const SUBJECT = 'key:a';

interface Outcome {
  passed: number;
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
    const outcome: Outcome = { passed: 0, refused: 0, killed: 0 };
    const begin = async (port: number) => {
      const logger = keptLogger();
      // Where replicas are killed, a machine that stalls is no outage: they could not tell what passed in it.
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

    /** One place for a replica: those that stand in it live one after the other. */
    const keepPlace = async (port: number): Promise<void> => {
      while (performance.now() < until) {
        const { redis, limiter } = await begin(port);
        const ends = mode === 'kills' ? Math.min(until, performance.now() + chance(WINDOW_MS)) : until;
        const isKilled = mode === 'kills' && chance(2) < 1;
        let isAlive = true;
        const asked: Promise<void>[] = [];
        while (performance.now() < ends) {
          for (let i = 0; i < 1 + chance(8); i++) {
            asked.push(
              (async () => {
                const { allowed } = await limiter.take(SUBJECT, LIMIT, quotas);
                if (isAlive) outcome[allowed ? 'passed' : 'refused']++;
              })(),
            );
          }
          await delay(5 + chance(20));
        }
        if (isKilled) {
          // It tells nobody what it knows.
          isAlive = false;
          outcome.killed++;
          redis.close();
        }
        await Promise.all(asked);
        if (mode === 'faults') await settled.promise;
        await limiter.close();
        if (!isKilled) redis.close();
      }
    };

    const settled = withResolvers();
    const fail = async (): Promise<void> => {
      while (mode === 'faults' && performance.now() < until) {
        await delay(chance(2000));
        const proxy = proxies[Math.floor(chance(REPLICAS))]!;
        const lasts = chance(1500);
        if (chance(2) < 1) {
          server.freeze();
          await delay(lasts);
          server.resume();
        } else {
          proxy.cutReplies();
          await delay(lasts);
          proxy.mend();
        }
      }
      // All have found Redis again, and have told it everything.
      await delay(3000);
      settled.resolve();
    };

    await Promise.all([...proxies.map(({ port }) => keepPlace(port)), fail()]);
    const { redis, limiter } = await begin(server.port);
    const days = await limiter.usage(SUBJECT);
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
    it(`a quota of ${quota}, Redis frozen and replies cut: usage is exactly what passed and what was refused`, async () => {
      const { passed, refused, used } = await run(quota, 'faults');
      assert.deepEqual(used, { requests: passed, refused });
      assert.isAtMost(passed, quota + (REPLICAS - 1) * Math.floor(quota / REPLICAS));
      assert.isAbove(passed, Math.min(quota - 1, LIMIT));
    });

    it(`a quota of ${quota}, replicas killed and begun anew: no request is lost, and a killed one leaves no more than it had ahead`, async () => {
      const { passed, killed, used } = await run(quota, 'kills');
      assert.isAtLeast(used.requests, passed);
      assert.isAtMost(used.requests, passed + killed * MOST_LEFT_BEHIND);
      assert.isAtMost(passed, quota);
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
