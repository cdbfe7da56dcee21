/** Checks that Redis responds, if the configuration names one. */
import { resolve } from '../../core/app/container.js';
import { type CheckContext, type Finding, failed, ok, warning } from './finding.js';

export const checkRedis = async ({ container, loaded }: CheckContext): Promise<Finding> => {
  const { limits } = loaded.config;
  const redis = resolve(container, 'redis');
  if (!redis) {
    return limits.replicas > 1
      ? warning(
          'redis',
          `not configured, but limits.replicas is ${limits.replicas}`,
          'without Redis each replica counts for itself: set redis.url, or REDIS_URL',
        )
      : ok('redis', 'not configured: this process counts for itself');
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
    return ok('redis', `answers in ${(performance.now() - startedAt).toFixed(1)} ms`);
  } catch (error) {
    const meanwhile = {
      local: 'each replica counts for itself',
      closed: 'all requests get 503',
      open: 'nothing is limited',
    };
    return failed(
      'redis',
      `does not answer: ${(lastFault ?? (error as Error)).message}`,
      `start it, or look at redis of the configuration; until then ${meanwhile[limits.whenRedisIsAway]}`,
    );
  } finally {
    redis.close();
  }
};
