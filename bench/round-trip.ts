/**
 * What one round trip costs a program that does nothing else: a PING of Redis, or the find of a market in MongoDB as
 * the adapter makes it. A process of its own; prints the median in microseconds.
 */
import { Redis } from 'ioredis';
import { marketFinder } from './market-finder.js';
import { median } from './statistics.js';

/** Until all is compiled as well as it will be. */
const WARM_UP = 10_000;
const CALLS = 5000;

const time = async (call: () => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let i = 0; i < WARM_UP + CALLS; i++) {
    const began = performance.now();
    await call();
    if (i >= WARM_UP) times.push((performance.now() - began) * 1000);
  }
  return median(times);
};

const timeRedis = async (url: string): Promise<number> => {
  const redis = new Redis(url);
  const result = await time(() => redis.ping());
  redis.disconnect();
  return result;
};

const timeMongo = async (uri: string, database: string, cbsa: string): Promise<number> => {
  const { find, close } = await marketFinder(uri, database);
  const result = await time(() => find(cbsa));
  await close();
  return result;
};

const [store, address = '', database = '', cbsa = ''] = process.argv.slice(2);
const microseconds = store === 'redis' ? await timeRedis(address) : await timeMongo(address, database, cbsa);
process.stdout.write(String(microseconds));
