/** The connection to Redis: one server, Sentinel or Cluster, by config. */
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Logger } from './contracts/runtime.js';
import { loadPackage } from './load-package.js';
import type { Credentials, RedisConfig } from './redis-config.js';
import { within } from './within.js';

export type RedisClient = Redis | Cluster;

/** A connection with what its users share. */
export interface RedisConnection {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  /** How long one call may take before Redis counts as away. */
  readonly timeoutMs: number;
  /** Resolves when ready, else at the first failure or after `connectTimeoutMs`: a service starts all the same. */
  readonly opened: Promise<void>;
  close(): void;
}

const RETRY_AT_MOST_MS = 250;
const retry = (times: number): number => Math.min(times * 50, RETRY_AT_MOST_MS);

/** What all kinds share: commands fail at once while there is no connection, and none is sent twice. */
const common = (config: RedisConfig) =>
  ({
    connectTimeout: config.connectTimeoutMs,
    // A connection on which commands have waited this long for any data is dead: make a new one.
    socketTimeout: 1000,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // The server was demoted: connect again, to find its successor.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }) as const satisfies RedisOptions;

const address = (node: string): { host: string; port: number } => {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
};

const access = ({ username, password, tls }: Credentials) => ({
  username,
  password,
  ...(tls ? { tls: {} } : {}),
});

const createClient = (config: RedisConfig): RedisClient => {
  const { url, sentinel, cluster } = config;
  const { Cluster, Redis } = loadPackage('ioredis') as typeof import('ioredis');
  if (cluster) {
    return new Cluster(cluster.nodes.map(address), {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: retry,
      slotsRefreshTimeout: config.connectTimeoutMs,
      slotsRefreshInterval: 1000,
      // Redirections are followed, failures are not retried: whoever called decides.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      redisOptions: { ...common(config), ...access(cluster) },
    });
  }
  const single = {
    ...common(config),
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: retry,
  } satisfies RedisOptions;
  if (!sentinel) return new Redis(url as string, single);
  return new Redis({
    ...single,
    ...access(sentinel),
    name: sentinel.name,
    sentinels: sentinel.nodes.map(address),
    sentinelUsername: sentinel.sentinelUsername,
    sentinelPassword: sentinel.sentinelPassword,
    sentinelRetryStrategy: retry,
    sentinelCommandTimeout: config.connectTimeoutMs,
    enableTLSForSentinelMode: sentinel.tls,
    failoverDetector: true,
    db: sentinel.db ?? 0,
  });
};

/** Connects, and goes on trying until it is closed. */
export const connectRedis = (config: RedisConfig, logger: Logger): RedisConnection => {
  const client = createClient(config);
  // What an outage means is said by those who do without; this is for its cause alone.
  client.on('error', (error: Error) => logger.debug({ err: error }, 'redis: the connection failed'));
  let closed = false;
  const connect = (): void => {
    if (!closed) client.connect().catch(() => undefined);
  };
  // ioredis gives up for good where Sentinel announces a new primary in the middle of a reconnection.
  client.on('end', () => setTimeout(connect, RETRY_AT_MOST_MS));
  return {
    client,
    keyPrefix: config.keyPrefix,
    timeoutMs: config.timeoutMs,
    opened: within(client.connect(), config.connectTimeoutMs).catch(() => undefined),
    close: () => {
      closed = true;
      client.disconnect();
    },
  };
};
