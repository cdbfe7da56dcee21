import { assert } from 'chai';
import { eventually } from '../../../adapters/conformance/expect.js';
import { connectRedis } from '../../../core/redis/connection.js';
import { keptLogger } from '../../support/kept-logger.js';
import { redisForTests } from '../../support/services.js';

describe('connectRedis()', () => {
  const open = async () => {
    const { url } = await redisForTests();
    const redis = connectRedis({ url, keyPrefix: '', timeoutMs: 1000, connectTimeoutMs: 1000 }, keptLogger());
    await redis.opened;
    return redis;
  };

  it('reconnects after ioredis has given up', async () => {
    const redis = await open();
    redis.client.disconnect();
    await eventually('the connection has ended', () => redis.client.status === 'end', 5000);
    await eventually('the client has reconnected', () => redis.client.status === 'ready', 5000);
    redis.close();
  });

  it('does not reconnect after close()', async () => {
    const redis = await open();
    redis.close();
    await eventually('the connection has ended', () => redis.client.status === 'end', 5000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(redis.client.status, 'end');
  });
});
