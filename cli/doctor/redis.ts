/** Whether Redis answers, where the configuration names one. */
import { resolve } from '../../app/container.js';
import type { CheckContext, Finding } from './finding.js';

export const checkRedis = async ({ container, loaded }: CheckContext): Promise<Finding> => {
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
  // When the connection fails, the error of `ping` does not say why; the client's last `error` event does.
  let lastFault: Error | undefined;
  redis.client.on('error', (error: Error) => {
    lastFault = error;
  });
  try {
    await redis.opened;
    const startedAt = performance.now();
    await redis.client.ping();
    return { check: 'redis', state: 'ok', message: `answers in ${(performance.now() - startedAt).toFixed(1)} ms` };
  } catch (error) {
    const message = `does not answer: ${(lastFault ?? (error as Error)).message}`;
    const meanwhile = {
      local: 'each replica counts for itself',
      closed: 'all requests get 503',
      open: 'nothing is limited',
    };
    const advice = `start it, or look at redis of the configuration; until then ${meanwhile[limits.whenRedisIsAway]}`;
    return { check: 'redis', state: 'failed', message, advice: [advice] };
  } finally {
    redis.close();
  }
};
