/** Checks that Redis responds, if it is configured. */
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
          'Without Redis each replica counts on its own. Set redis.url or REDIS_URL.',
        )
      : ok('redis', 'not configured; this process counts on its own');
  }
  // If the connection fails, the cause is in the client's last `error` event and not in the error from `ping`.
  let lastError: Error | undefined;
  redis.client.on('error', (error: Error) => {
    lastError = error;
  });
  try {
    await redis.opened;
    const startedAt = performance.now();
    await redis.client.ping();
    return ok('redis', `responds in ${(performance.now() - startedAt).toFixed(1)} ms`);
  } catch (error) {
    const meanwhile = {
      local: 'each replica counts on its own',
      closed: 'every request is rejected with 503',
      open: 'there is no limit',
    };
    return failed(
      'redis',
      `does not respond: ${(lastError ?? (error as Error)).message}`,
      `Start Redis, or check redis of the configuration. Until then ${meanwhile[limits.whenRedisIsAway]}.`,
    );
  } finally {
    redis.close();
  }
};
