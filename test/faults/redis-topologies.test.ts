import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { RedisCache } from '../../core/cache/redis-cache.js';
import { type Decision, WINDOW_MS } from '../../core/contracts/limiter.js';
import { systemClock } from '../../core/contracts/runtime.js';
import { RedisLimiter } from '../../core/limiter/redis-limiter.js';
import type { RedisConfig } from '../../core/redis/config.js';
import { connectRedis, type RedisConnection } from '../../core/redis/connection.js';
import { keptLogger } from '../support/kept-logger.js';
import { bucketsOf, countedIn, keyOf } from '../support/limiter-window.js';
import {
  type ClusterNode,
  finishMigration,
  type Sentinels,
  startCluster,
  startMigration,
  startSentinels,
} from '../support/redis-topologies.js';

const closers: (() => void)[] = [];

const connect = async (config: Omit<RedisConfig, 'keyPrefix' | 'timeoutMs' | 'connectTimeoutMs'>, timeoutMs = 40) => {
  const redis = connectRedis({ ...config, keyPrefix: 'p:', timeoutMs, connectTimeoutMs: 1000 }, keptLogger());
  await redis.opened;
  closers.push(redis.close);
  return redis;
};

/** A limiter that has been running for a minute has its full local share. */
const createLimiter = (redis: RedisConnection) => {
  let aheadMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
  const limiter = new RedisLimiter({ redis, replicas: 2, clock, logger: keptLogger() });
  aheadMs = WINDOW_MS;
  closers.push(() => void limiter.close());
  return limiter;
};

const load = (limiters: readonly RedisLimiter[], caller: string, limit: number) => {
  const seen = { allowed: 0, rejected: 0, longestMs: 0 };
  let isRunning = true;
  const workers = limiters.map(async (limiter) => {
    while (isRunning) {
      const since = performance.now();
      const { allowed } = (await limiter.take(caller, limit)) as Decision;
      seen.longestMs = Math.max(seen.longestMs, performance.now() - since);
      if (allowed) seen.allowed++;
      else seen.rejected++;
      await delay(5);
    }
  });
  return {
    seen,
    stop: async () => {
      isRunning = false;
      await Promise.all(workers);
    },
  };
};

const recovery = async (limiters: readonly RedisLimiter[]): Promise<void> => {
  const since = performance.now();
  while (!limiters.every((limiter) => limiter.health().ok)) {
    assert.isBelow(performance.now() - since, 10_000, 'the limiter did not recover');
    await delay(10);
  }
  await delay(50);
};

const returnPermits = async (limiters: readonly RedisLimiter[]): Promise<void> => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
};

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

describe('a Redis Cluster of three nodes', () => {
  let nodes: readonly ClusterNode[];
  let stop: () => Promise<void>;

  before(async () => {
    ({ nodes, stop } = await startCluster());
  });

  after(() => stop());

  const connectCluster = (timeoutMs?: number) =>
    connect({ cluster: { nodes: nodes.map(({ server }) => `127.0.0.1:${server.port}`), tls: false } }, timeoutMs);

  const partitionOf = async (caller: string) => {
    const key = keyOf('p:', caller, true);
    return { key, slot: (await (nodes[0] as ClusterNode).admin.cluster('KEYSLOT', key)) as number };
  };

  const countedOn = async ({ admin }: ClusterNode, key: string, caller: string): Promise<number> => {
    const field = await admin.hgetBuffer(key, caller);
    return bucketsOf(field as Buffer).reduce((sum, { count }) => sum + count, 0);
  };

  it('allows exactly the limit with two replicas, whatever the hash slot', async () => {
    // The test counts requests, so a slow machine must not look like an outage.
    const limiters = [createLimiter(await connectCluster(5000)), createLimiter(await connectCluster(5000))];
    for (let i = 0; i < 12; i++) {
      const takes = limiters.flatMap((limiter) => Array.from({ length: 20 }, () => limiter.take(`key:${i}`, 25)));
      const decisions = await Promise.all(takes);
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 25);
    }
  });

  it('the shared cache builds a value once', async () => {
    const connections = [await connectCluster(5000), await connectCluster(5000)];
    let builds = 0;
    const caches = connections.map((redis) => new RedisCache({ redis, logger: keptLogger() }));
    const values = await Promise.all(caches.map((cache) => cache.getOrBuild('status', 60, async () => `${++builds}`)));
    assert.deepEqual(
      values.map(({ value }) => value),
      ['1', '1'],
    );
    for (const cache of caches) await cache.close();
  });

  it('a hash slot moves under load: rejects no request, counts none twice, and applies no local share', async () => {
    const limiters = [createLimiter(await connectCluster(5000)), createLimiter(await connectCluster(5000))];
    const caller = 'key:moving';
    const { key, slot } = await partitionOf(caller);
    const owner = nodes.findIndex((_, i) => slot < Math.floor(((i + 1) * 16_384) / 3));
    const [from, to] = [nodes[owner], nodes[(owner + 1) % 3]] as [ClusterNode, ClusterNode];
    const { seen, stop: stopLoad } = load(limiters, caller, 100_000);
    await delay(200);
    await startMigration(slot, from, to);
    await delay(300);
    await finishMigration(slot, from, to, nodes);
    await delay(300);
    await stopLoad();
    assert.equal(seen.rejected, 0);
    for (const limiter of limiters) assert.isTrue(limiter.health().ok);
    await returnPermits(limiters);
    assert.equal(await countedOn(to, key, caller), seen.allowed);
  });

  it('a hash slot moves while new callers arrive: decides every request, and applies no local share', async () => {
    const limiter = createLimiter(await connectCluster(5000));
    const { slot } = await partitionOf('key:first-0');
    // Requests from 200 callers use every partition, so that all nodes are connected and have loaded the script.
    for (let i = 0; i < 200; i++) await limiter.take(`key:first-${i}`, 10);
    const countOn = ({ admin }: ClusterNode) => admin.cluster('COUNTKEYSINSLOT', slot) as Promise<number>;
    const counts = await Promise.all(nodes.map(countOn));
    const owner = counts.findIndex((count) => count > 0);
    const [from, to] = [nodes[owner], nodes[(owner + 1) % 3]] as [ClusterNode, ClusterNode];
    await startMigration(slot, from, to);
    const during = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.take(`key:new-${i}`, 10)));
    await finishMigration(slot, from, to, nodes);
    const after = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.take(`key:new-${i}`, 10)));
    assert.isTrue(limiter.health().ok);
    for (const { remaining } of during) assert.equal(remaining, 9);
    for (const { remaining } of after) assert.equal(remaining, 8);
  });

  it('a node dies and restarts: applies the local share, and counts every request afterwards', async () => {
    const limiters = [createLimiter(await connectCluster(250)), createLimiter(await connectCluster(250))];
    const caller = 'key:orphan';
    const { key, slot } = await partitionOf(caller);
    const owner = nodes[nodes.findIndex((_, i) => slot < Math.floor(((i + 1) * 16_384) / 3))] as ClusterNode;
    const { seen, stop: stopLoad } = load(limiters, caller, 100_000);
    await delay(200);
    await owner.server.kill();
    await delay(1000);
    assert.isFalse((limiters[0] as RedisLimiter).health().ok);
    await owner.server.restart();
    await recovery(limiters);
    await stopLoad();
    assert.equal(seen.rejected, 0);
    assert.isBelow(seen.longestMs, 1000);
    await returnPermits(limiters);
    assert.equal(await countedOn(owner, key, caller), seen.allowed);
  });
});

describe('Redis Sentinel', () => {
  let sentinels: Sentinels;

  before(async () => {
    sentinels = await startSentinels();
  });

  after(() => sentinels.stop());

  it('the primary dies under load: no request is rejected or waits long, and the new primary counts every request', async () => {
    const sentinel = { name: sentinels.name, nodes: sentinels.nodes, tls: false, db: 0 };
    const connections = [await connect({ sentinel }, 250), await connect({ sentinel }, 250)];
    const limiters = connections.map(createLimiter);
    const caller = 'key:failover';
    const limit = 10_000;
    const { seen, stop } = load(limiters, caller, limit);
    await delay(300);
    await sentinels.primary.kill();
    await delay(500);
    assert.isFalse((limiters[0] as RedisLimiter).health().ok);
    await recovery(limiters);
    await delay(200);
    await stop();
    assert.equal(seen.rejected, 0);
    assert.isBelow(seen.longestMs, 1000);
    await returnPermits(limiters);
    const [connection] = connections as [RedisConnection];
    assert.equal(await countedIn(connection.client, 'p:', caller), seen.allowed);
  });
});
