import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { BuildLock, RedisCache } from '../../../core/cache/redis-cache.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { keptLogger } from '../../support/kept-logger.js';
import { whileFrozen } from '../../support/server-process.js';
import { redisForTests, type Server, startRedis, uniqueName } from '../../support/services.js';
import { until } from '../../support/until.js';
import { controlledBuild, defineCacheSuite } from './cache-suite.js';

const closers: (() => void)[] = [];

const create = async (url: string, keyPrefix: string, timeoutMs = 5000) => {
  const redis = connectRedis({ url, keyPrefix, timeoutMs, connectTimeoutMs: 1000 }, keptLogger());
  await redis.opened;
  const cache = new RedisCache({ redis, logger: keptLogger() });
  closers.push(() => {
    void cache.close();
    redis.close();
  });
  return { cache, redis };
};

after(() => {
  for (const close of closers.splice(0)) close();
});

defineCacheSuite('RedisCache', async () => {
  const { url } = await redisForTests();
  const prefix = `${uniqueName('cache')}:`;
  const replicas = await Promise.all([1, 2, 3].map(() => create(url, prefix)));
  return { replicas: replicas.map(({ cache }) => cache), wait: (ms) => delay(ms) };
});

describe('RedisCache', () => {
  let server: Server;
  let admin: Redis;

  before(async () => {
    server = await startRedis();
    admin = new Redis(server.url, { retryStrategy: () => 20 });
    admin.on('error', () => undefined);
  });

  after(async () => {
    admin.disconnect();
    await server.stop();
  });

  it('needs no call to Redis for a hit', async () => {
    const { cache } = await create(server.url, 'hits:');
    await cache.getOrBuild('status', 60, async () => 'value');
    await admin.del('hits:{cache:status}:entry');
    for (let i = 0; i < 100; i++) await cache.getOrBuild('status', 60, () => assert.fail('it was built again'));
  });

  it('builds on another replica when the lock of a dead builder expires', async () => {
    const { cache, redis } = await create(server.url, 'dies:');
    assert.isTrue((await new BuildLock(redis, 'dies:{cache:status}:entry', 60_000).claim()).mine);
    const since = performance.now();
    assert.equal((await cache.getOrBuild('status', 60, async () => 'from the next')).value, 'from the next');
    assert.isAtLeast(performance.now() - since, 1800);
  });

  it('builds once even if the build takes longer than the lock', async () => {
    const [one, two] = await Promise.all([create(server.url, 'slow:'), create(server.url, 'slow:')]);
    const slow = controlledBuild();
    const building = one.cache.getOrBuild('status', 60, slow.build);
    await delay(50);
    const waiting = two.cache.getOrBuild('status', 60, slow.build);
    await delay(2500);
    slow.end('at last');
    assert.deepEqual([(await building).value, (await waiting).value], ['at last', 'at last']);
    assert.equal(slow.builds, 1);
  });

  it('ignores the value of a builder that lost its lock', async () => {
    const { cache, redis } = await create(server.url, 'lost:');
    const key = 'lost:{cache:status}:entry';
    const late = new BuildLock(redis, key, 60_000);
    await late.claim();
    await admin.hset(key, 'held_until', 1);
    await cache.getOrBuild('status', 60, async () => 'newer');
    await late.store('older');
    assert.equal(await admin.hget(key, 'value'), 'newer');
  });

  it('sets a time to live, and rebuilds a value whose time is in the future because the Redis clock was set back', async () => {
    const { redis } = await create(server.url, 'back:');
    const key = 'back:{cache:status}:entry';
    const lock = new BuildLock(redis, key, 60_000);
    await lock.claim();
    await lock.store('value');
    assert.isAbove(await admin.pttl(key), 0);
    assert.isFalse((await lock.claim()).mine);
    await admin.hset(key, 'built_at', Date.now() + 3_600_000);
    assert.isTrue((await lock.claim()).mine);
  });

  it('builds one value per replica while Redis is unreachable, and shares values again afterwards', async () => {
    const unreachable = await startRedis();
    const replicas = await Promise.all([1, 2].map(() => create(unreachable.url, 'outage:', 40)));
    await unreachable.kill();
    const builds = [0, 0];
    const get = async (i: number) =>
      (await replicas[i]?.cache.getOrBuild('status', 60, async () => `own ${i} ${++(builds as number[])[i]!}`))?.value;
    for (let i = 0; i < 3; i++) assert.deepEqual([await get(0), await get(1)], ['own 0 1', 'own 1 1']);
    for (const { cache } of replicas) assert.isFalse(cache.health().ok);
    await unreachable.restart();
    await until(() => replicas.every(({ cache }) => cache.health().ok));
    const [one, two] = replicas;
    await one?.cache.getOrBuild('other', 60, async () => 'shared');
    assert.equal((await two?.cache.getOrBuild('other', 60, async () => 'not this'))?.value, 'shared');
    await unreachable.stop();
  });

  it('builds the value itself while Redis is frozen', async () => {
    const { cache } = await create(server.url, 'frozen:', 40);
    const { value } = await whileFrozen(server, () => cache.getOrBuild('status', 60, async () => 'own'));
    assert.equal(value, 'own');
  });
});
