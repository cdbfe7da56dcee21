/** The connection to Redis (one server, Sentinel or Cluster, by config), and the Lua scripts that run there. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Logger } from '../contracts/runtime.js';
import { loadPackage, packageRoot } from '../util/package.js';
import { withTimeout } from '../util/with-timeout.js';
import type { RedisConfig } from './config.js';

export type RedisClient = Redis | Cluster;

/** A connection, and the settings that all its users share. */
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

/** Options of all kinds of connections: commands fail at once while disconnected, and none is sent twice. */
const common = (config: RedisConfig) =>
  ({
    connectTimeout: config.connectTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // The server was demoted: connect again to find the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }) as const satisfies RedisOptions;

/** A connection on which commands have waited for so many checks without any data is dead. */
const DEAD_AFTER_CHECKS = 5;
const CHECK_MS = 200;

/**
 * Ends connections that are dead, so that new ones are made. Checks are counted, not time: a process that was busy for
 * seconds has not read what arrived meanwhile, and checks only once after that.
 */
const endDeadConnections = (redis: Redis): void => {
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
    retryStrategy: retry,
  } satisfies RedisOptions;
  if (!sentinel) return single;
  return {
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
    db: sentinel.db,
  } satisfies RedisOptions;
};

const createClient = (config: RedisConfig): RedisClient => {
  const { url, cluster } = config;
  const { Cluster, Redis } = loadPackage('ioredis') as typeof import('ioredis');
  if (!cluster) {
    const client = url === undefined ? new Redis(optionsOf(config)) : new Redis(url, optionsOf(config));
    endDeadConnections(client);
    return client;
  }
  const client = new Cluster(cluster.nodes.map(address), {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: retry,
    slotsRefreshTimeout: config.connectTimeoutMs,
    slotsRefreshInterval: 1000,
    // Redirections are followed; failures are not retried, which is the caller's decision.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: { ...common(config), ...access(cluster) },
  });
  return client.on('+node', endDeadConnections);
};

/** Connects, and goes on trying until it is closed. */
export const connectRedis = (config: RedisConfig, logger: Logger): RedisConnection => {
  const client = createClient(config);
  // Logs the cause of an outage only; the cache and the limiter log its effects.
  client.on('error', (error: Error) => logger.debug({ err: error }, 'redis: the connection failed'));
  let closed = false;
  const connect = (): void => {
    if (!closed) client.connect().catch(() => undefined);
  };
  // ioredis stops for good if Sentinel announces a new primary during a reconnection.
  client.on('end', () => setTimeout(connect, RETRY_AT_MOST_MS));
  return {
    client,
    keyPrefix: config.keyPrefix,
    timeoutMs: config.timeoutMs,
    opened: withTimeout(client.connect(), config.connectTimeoutMs).catch(() => undefined),
    close: () => {
      closed = true;
      client.disconnect();
    },
  };
};

/** The text of a Lua file. @param file relative to the package's root */
export const readScript = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');

/** A Lua script: sent by its digest, and whole where the server does not know it. */
export class RedisScript {
  readonly #digest: string;

  constructor(readonly source: string) {
    this.#digest = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Runs the script over keys of one slot. A server that has forgotten the script has not run it, so sending it again is
   * safe. Strings of the reply are buffers.
   */
  run<Reply>(redis: RedisClient, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<Reply> {
    const rest = [keys.length, ...keys, ...args];
    return (redis.callBuffer('evalsha', this.#digest, ...rest) as Promise<Reply>).catch((error: unknown) => {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.callBuffer('eval', this.source, ...rest) as Promise<Reply>;
    });
  }
}
