/** Whether Redis answers, where the configuration names one. */
import { resolve } from '../../app/container.js';
import type { Finding, Patient } from './finding.js';

export const checkRedis = async ({ container, loaded }: Patient): Promise<Finding> => {
  const { limits } = loaded.config;
  const redis = resolve(container, 'redis');
  if (!redis) {
    return limits.replicas > 1
      ? {
          check: 'redis',
          state: 'warning',
          message: `not configured, but limits.replicas is ${limits.replicas}`,
          advice: ['without Redis each replica counts for itself: set redis.url, or REDIS_URL'],
        }
      : { check: 'redis', state: 'ok', message: 'not configured: this process counts for itself' };
  }
  try {
    await redis.opened;
    const from = performance.now();
    await redis.client.ping();
    return { check: 'redis', state: 'ok', message: `answers in ${(performance.now() - from).toFixed(1)} ms` };
  } catch (error) {
    const message = `does not answer: ${(error as Error).message}`;
    const until = {
      local: 'each replica counts for itself',
      closed: 'all requests get 503',
      open: 'nothing is limited',
    };
    const advice = `start it, or look at redis of the configuration; until then ${until[limits.whenRedisIsAway]}`;
    return { check: 'redis', state: 'failed', message, advice: [advice] };
  } finally {
    redis.close();
  }
};
