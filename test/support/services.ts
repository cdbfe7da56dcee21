import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { mongod, redisServer } from './binaries.js';
import { type Server, startServer } from './server-process.js';

export type { Server };

const pingRedis = async (port: number): Promise<void> => {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
};

/**
 * Starts Redis without persistence. `args` can enable persistence, because redis-server uses the last value of a
 * repeated argument.
 */
export const startRedis = async (options: { readonly args?: readonly string[] } = {}): Promise<Server> =>
  startServer({
    name: 'redis',
    program: await redisServer(),
    args: (port, folder) => [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--logfile', `${folder}/log`],
      ...['--save', '', '--appendonly', 'no', ...(options.args ?? [])],
    ],
    url: (port) => `redis://127.0.0.1:${port}`,
    ready: pingRedis,
  });

const REPLICA_SET = 'rs0';

const pingMongo = async (port: number, replicaSet: boolean): Promise<void> => {
  // Until the server listens, this connection fails immediately. The driver would retry only after 500 ms.
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1000,
  });
  try {
    const admin = client.db('admin');
    const hello = await admin.command({ hello: 1 });
    if (replicaSet && !hello['setName']) {
      const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
      await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
    }
    if (!hello['isWritablePrimary']) throw new Error('The replica set has no primary yet.');
  } finally {
    await client.close();
  }
};

/** Starts MongoDB as a replica set with one member, or as a standalone server without change streams. */
export const startMongo = async (
  options: { readonly replicaSet?: boolean; readonly args?: readonly string[] } = {},
): Promise<Server> => {
  const replicaSet = options.replicaSet ?? true;
  return startServer({
    name: 'mongo',
    program: await mongod(),
    args: (port, folder) => [
      ...['--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', folder],
      ...['--logpath', `${folder}/log`, '--quiet', '--wiredTigerCacheSizeGB', '0.25'],
      // Writes wait for the journal. The default interval of 100 ms would slow down the tests, and an interval below 20
      // ms would put load on idle servers.
      ...['--journalCommitInterval', '20', '--setParameter', 'diagnosticDataCollectionEnabled=false'],
      ...(replicaSet ? ['--replSet', REPLICA_SET, '--oplogSize', '64'] : []),
      ...(options.args ?? []),
    ],
    url: (port) =>
      `mongodb://127.0.0.1:${port}/${replicaSet ? `?replicaSet=${REPLICA_SET}` : '?directConnection=true'}`,
    ready: (port) => pingMongo(port, replicaSet),
  });
};

const shared = (variable: string, start: () => Promise<Server>): (() => Promise<{ readonly url: string }>) => {
  let service: Promise<{ readonly url: string }> | undefined;
  return () => {
    const url = process.env[variable];
    service ??= url ? Promise.resolve({ url }) : start();
    return service;
  };
};

/** All tests in this process share the Redis at `REDIS_URL`, or the server that the first call starts. */
export const redisForTests = shared('REDIS_URL', startRedis);

/** All tests in this process share the MongoDB at `MONGODB_URI`, or the replica set that the first call starts. */
export const mongoForTests = shared('MONGODB_URI', startMongo);

export const uniqueName = (what: string): string => `test-${what}-${randomBytes(6).toString('hex')}`;
