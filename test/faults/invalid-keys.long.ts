import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { createKey } from '../../core/keys/key.js';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs, runProcess } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { type Arrival, OpenLoop } from '../support/open-loop.js';
import { type Server, startServer } from '../support/server-process.js';
import { startMongo, startRedis } from '../support/services.js';
import { skip } from '../support/skip.js';

const INVALID_PER_SECOND = 100_000 / 60;
const VALID_PER_SECOND = 200;
const LIMIT = 600;
/** To detect changed keys, a replica polls every `pollMs` and reads the change stream every 750 ms. */
const READS_PER_SECOND = 3;

const FLOODER = '127.0.0.1';
const CALLER = '127.0.0.2';

/** Half of the keys have a correct checksum, so they need a lookup. */
const invalidKeys = (): (() => string) => {
  const keys = Array.from({ length: 2000 }, (_, i) => {
    const { key } = createKey();
    return i % 2 === 0 ? key : `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  });
  let next = 0;
  return () => keys[next++ % keys.length] as string;
};

const p99 = (arrivals: readonly Arrival[]): number =>
  arrivals.map(({ ms }) => ms).sort((a, b) => a - b)[Math.ceil(arrivals.length * 0.99) - 1] ?? Number.NaN;

const count = (arrivals: readonly Arrival[], status: number): number =>
  arrivals.filter((arrival) => arrival.status === status).length;

const SECONDS = 60;

describe('a flood of invalid keys from one address', function () {
  this.timeout(60_000 + SECONDS * 3000);
  const servers: Server[] = [];
  let service: Server;
  let key: string;
  let mongo: MongoClient;
  let redis: Redis;

  before(async function () {
    if (process.platform !== 'linux') skip(this, 'only on Linux can a client use any address of 127.0.0.0/8');
    const [mongod, redisServer] = await Promise.all([startMongo(), startRedis()]);
    servers.push(mongod, redisServer);
    mongo = new MongoClient(mongod.url);
    redis = new Redis(redisServer.url);
    const config = join(redisServer.folder, 'config.json');
    writeFileSync(
      config,
      JSON.stringify({
        adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
        plugins: ['markets', 'status'],
        auth: { keys: { use: 'mongo' } },
        limits: { requestsPerMinute: LIMIT },
        redis: {},
      }),
    );
    const env = {
      METRO_CONFIG: config,
      MONGODB_URI: mongod.url,
      REDIS_URL: redisServer.url,
      // Overload protection would reject requests on a slow machine.
      METRO__SERVER__OVERLOAD: 'null',
    };
    ({ key } = JSON.parse(await runProcess(['keys', 'create', '--name', 'test', '--limit', '1000000', '--json'], env)));
    service = await startServer({
      name: 'service',
      program: process.execPath,
      args: () => commandArgs(['start']),
      env: (port) => ({ ...env, PORT: String(port) }),
      url: (port) => `http://127.0.0.1:${port}/api/v1`,
      ready: async (port) => {
        const { status } = await request(`http://127.0.0.1:${port}/api/v1/health`);
        if (status !== 200) throw new Error(`/health returned ${status}.`);
      },
    });
    servers.push(service);
  });

  after(async () => {
    await mongo?.close();
    redis?.disconnect();
    for (const server of servers.reverse()) await server.stop();
  });

  const countReads = async (): Promise<{ keys: number; limits: number }> => {
    const [stats] = await mongo
      .db('dataset')
      .collection('api_keys')
      .aggregate([{ $collStats: { latencyStats: {} } }])
      .toArray();
    const calls = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1];
    return { keys: Number(stats?.['latencyStats'].reads.ops), limits: Number(calls ?? 0) };
  };

  it('reaches the stores only within the limit of the address, and does not affect valid keys', async () => {
    const { port } = service;
    const valid = new OpenLoop(port, '/api/v1/markets/26420', key, CALLER);
    const invalid = new OpenLoop(port, '/api/v1/markets/26420', invalidKeys(), FLOODER);
    await valid.run(VALID_PER_SECOND, 2);
    const quiet = [...(await valid.run(VALID_PER_SECOND, SECONDS / 2))];
    const before = await countReads();
    const [during, flood] = await Promise.all([
      valid.run(VALID_PER_SECOND, SECONDS),
      invalid.run(INVALID_PER_SECOND, SECONDS),
    ]);
    const after = await countReads();
    quiet.push(...(await valid.run(VALID_PER_SECOND, SECONDS / 2)));
    valid.close();
    invalid.close();

    const [keys, limits] = [after.keys - before.keys, after.limits - before.limits];
    const [without, within] = [p99(quiet), p99(during)];
    for (const line of [
      `${flood.length} invalid keys in ${SECONDS} s: ${count(flood, 401)} x 401, ${count(flood, 429)} x 429`,
      `${keys} reads of the collection of keys, ${limits} calls for limits, with ${during.length} requests with a valid key`,
      `p99 of valid keys ${without.toFixed(2)} ms without the flood, ${within.toFixed(2)} ms with it: ${(within / without).toFixed(2)} x`,
    ]) {
      console.log(`      ${line}`);
    }
    const allowed = count(flood, 401);
    assert.equal(allowed + count(flood, 429), flood.length);
    assert.isAtMost(allowed, LIMIT * Math.ceil((SECONDS + 1) / 60));
    assert.deepEqual([count(quiet, 200), count(during, 200)], [quiet.length, during.length]);
    assert.isAtMost(keys, READS_PER_SECOND * (SECONDS + 5));
    // The limiter calls Redis once for each allowed request. It can make one more call for a request that arrives just
    // before the next permit is available.
    assert.isAtMost(limits, during.length + 2 * allowed);
  });
});
