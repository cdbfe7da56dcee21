import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Logger } from '../contracts/runtime.js';
import { loadPackage } from '../util/package.js';
import { withTimeout } from '../util/with-timeout.js';
import type { RedisConfig } from './config.js';
import { isDatabaseError, isReply } from './problems.js';

export type RedisClient = Redis | Cluster;

export interface RedisConnection {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  readonly timeoutMs: number;
  /** Resolves when the Redis client has connected, on the first failure, or after `connectTimeoutMs`. Never rejects. */
  readonly opened: Promise<void>;
  /** If a call failed because Redis is disconnected, returns the last connection error. */
  causeOf(error: unknown): unknown;
  durations: { observe(seconds: number): void };
  close(): void;
}

const LONGEST_BACKOFF_MS = 250;
const backOff = (times: number): number => Math.min(times * 50, LONGEST_BACKOFF_MS);

/** Commands fail immediately while the Redis client is disconnected, and no command is sent twice. */
const common = (config: RedisConfig) =>
  ({
    connectTimeout: config.connectTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // A READONLY error means that the server is no longer the primary. Reconnecting finds the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }) as const satisfies RedisOptions;

/** A connection with pending commands counts as dead if this number of checks in a row find no new data. */
const DEAD_AFTER_CHECKS = 5;
const CHECK_MS = 200;

/**
 * Closes dead connections. Counts checks instead of time, because a process that was busy for seconds might not have
 * read the received data yet.
 */
const closeDeadConnections = (redis: Redis): void => {
  let checking: NodeJS.Timeout | undefined;
  redis.on('connect', () => {
    const { stream } = redis;
    let read = 0;
    let checks = 0;
    clearInterval(checking);
    checking = setInterval(() => {
      const isWaiting = redis.commandQueue.length > 0 && stream.bytesRead === read;
      checks = isWaiting ? checks + 1 : 0;
      read = stream.bytesRead;
      if (checks > DEAD_AFTER_CHECKS) stream.destroy(new Error('There was no reply from Redis for a second.'));
    }, CHECK_MS).unref();
  });
  redis.on('close', () => clearInterval(checking));
};

const address = (node: string): { host: string; port: number } => {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
};

const access = ({ username, password, tls }: NonNullable<RedisConfig['cluster']>) => ({
  username,
  password,
  ...(tls ? { tls: {} } : {}),
});

const optionsOf = (config: RedisConfig) => {
  const { sentinel } = config;
  const single = {
    ...common(config),
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: backOff,
  } satisfies RedisOptions;
  if (!sentinel) return single;
  return {
    ...single,
    ...access(sentinel),
    name: sentinel.name,
    sentinels: sentinel.nodes.map(address),
    sentinelUsername: sentinel.sentinelUsername,
    sentinelPassword: sentinel.sentinelPassword,
    sentinelRetryStrategy: backOff,
    sentinelCommandTimeout: config.connectTimeoutMs,
    enableTLSForSentinelMode: sentinel.tls,
    failoverDetector: true,
    db: sentinel.db,
  } satisfies RedisOptions;
};

const createClient = (config: RedisConfig): RedisClient => {
  const { url, cluster } = config;
  const { Cluster, Redis } = loadPackage('ioredis') as typeof import('ioredis');
  if (!cluster) {
    const client = url === undefined ? new Redis(optionsOf(config)) : new Redis(url, optionsOf(config));
    closeDeadConnections(client);
    return client;
  }
  const client = new Cluster(cluster.nodes.map(address), {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: backOff,
    slotsRefreshTimeout: config.connectTimeoutMs,
    slotsRefreshInterval: 1000,
    // ioredis must not retry failed commands, because its callers decide whether to retry.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: { ...common(config), ...access(cluster) },
  });
  return client.on('+node', closeDeadConnections);
};

export const connectRedis = (config: RedisConfig, logger: Logger): RedisConnection => {
  const { connectTimeoutMs } = config;
  const client = createClient(config);
  // The connection error is stored, because calls that fail while the client is disconnected do not report the cause.
  let lastError: unknown;
  let isWrongDatabase = false;
  client.on('error', (error: Error & { readonly lastNodeError?: Error }) => {
    lastError = error.lastNodeError ?? error;
    isWrongDatabase ||= isDatabaseError(lastError);
    logger.debug({ err: lastError }, 'redis: the connection failed');
  });
  client.on('connect', () => {
    isWrongDatabase = false;
  });
  client.on('ready', () => {
    // If Redis rejects the database number, ioredis silently uses database 0.
    if (isWrongDatabase) client.disconnect();
    else lastError = undefined;
  });
  let closed = false;
  const connect = (): void => {
    if (!closed) client.connect().catch(() => undefined);
  };
  // ioredis stops reconnecting if a failover occurs while it asks Sentinel for the address of the primary.
  client.on('end', () => setTimeout(connect, LONGEST_BACKOFF_MS));
  return {
    client,
    keyPrefix: config.keyPrefix,
    timeoutMs: config.timeoutMs,
    durations: { observe: () => undefined },
    causeOf: (error) => (isReply(error) ? error : (lastError ?? error)),
    opened: withTimeout(
      client.connect(),
      connectTimeoutMs,
      () => new Error(`no connection within ${connectTimeoutMs} ms`),
    ).catch((error: unknown) => {
      lastError ??= error;
    }),
    close: () => {
      closed = true;
      client.disconnect();
    },
  };
};
