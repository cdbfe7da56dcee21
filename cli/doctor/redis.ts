import { resolve } from '../../core/app/container.js';
import type { Config } from '../../core/config/schema.js';
import { Tiers, volatileQuotas } from '../../core/config/tiers.js';
import type { RedisClient } from '../../core/redis/connection.js';
import { redisProblem } from '../../core/redis/problems.js';
import { type CheckContext, type Finding, failed, ok, warning } from './finding.js';

const WITHOUT_REDIS: Record<Config['limits']['whenRedisIsAway'], string> = {
  local: 'each replica counts on its own',
  closed: 'every request is rejected with 503',
  open: 'there is no limit',
};

export const checkRedis = async ({ container, loaded: { config } }: CheckContext): Promise<Finding> => {
  const { limits } = config;
  const redis = resolve(container, 'redis');
  if (!redis) return withoutRedis(config);
  const limiter = resolve(container, 'limiter');
  const cache = resolve(container, 'cache');
  try {
    await redis.opened;
    const startedAt = performance.now();
    await limiter.check?.();
    const message = `counts a request in ${(performance.now() - startedAt).toFixed(1)} ms`;
    await cache.check?.();
    const advice = await settingsAdvice(redis.client, config);
    return advice.length === 0 ? ok('redis', message) : warning('redis', message, ...advice);
  } catch (error) {
    const cause = redis.causeOf(error) as Error;
    const { reason, advice } = redisProblem(cause);
    return failed(
      'redis',
      `${reason}: ${cause.message}`,
      advice,
      `Until then ${WITHOUT_REDIS[limits.whenRedisIsAway]}.`,
    );
  } finally {
    await Promise.all([limiter.close(), cache.close()]);
    redis.close();
  }
};

const withoutRedis = ({ auth, limits }: Config): Finding => {
  const lost = volatileQuotas(auth, null);
  const advice = [
    ...(limits.replicas > 1 ? ['Without Redis each replica counts on its own. Set redis.url or REDIS_URL.'] : []),
    ...(lost ? [lost] : []),
  ];
  if (advice.length === 0) return ok('redis', 'not configured; this process counts on its own');
  const need = limits.replicas > 1 ? `limits.replicas is ${limits.replicas}` : 'the tiers have quotas';
  return warning('redis', `not configured, but ${need}`, ...advice);
};

/** Settings that the Redis user of the service cannot read are skipped. */
const settingsAdvice = async (client: RedisClient, { auth, limits }: Config): Promise<string[]> => {
  const info = await (client.info() as Promise<string>).catch(() => '');
  const read = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const policy = read('maxmemory_policy');
  const advice: string[] = [];
  if (policy !== undefined && policy !== 'noeviction' && read('maxmemory') !== '0') {
    advice.push(
      `maxmemory-policy is ${policy}: if Redis evicts counts, callers exceed their limits. Set it to noeviction.`,
    );
  }
  const [, save] = (await (client.config('GET', 'save') as Promise<string[]>).catch(() => [])) as string[];
  if (read('aof_enabled') === '0' && save === '' && new Tiers(auth, limits.requestsPerMinute).haveQuotas) {
    advice.push('Redis does not persist its data, so a restart resets all quotas. Set appendonly to yes.');
  }
  const failing = ['rdb_last_bgsave_status', 'aof_last_write_status'].filter((name) => read(name) === 'err');
  if (failing.length > 0) advice.push(`Redis cannot save its data (${failing.join(', ')}). See the Redis log.`);
  return advice;
};
