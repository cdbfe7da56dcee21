/** Real Redis and MongoDB for tests and benchmarks, on free ports of 127.0.0.1 and in temporary folders. */
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
 * A Redis of one's own, to be killed and frozen at will. It keeps nothing over a restart, unless `args`
 * (as on redis-server's command line, later ones win) say otherwise.
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
  // A refused connection rejects at once; the driver would look again only half a second later.
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
    if (!hello['isWritablePrimary']) throw new Error('There is no primary yet.');
  } finally {
    await client.close();
  }
};

/** A MongoDB of one's own: a replica set of one member, or a standalone server without change streams. */
export const startMongo = async (options: { readonly replicaSet?: boolean } = {}): Promise<Server> => {
  const replicaSet = options.replicaSet ?? true;
  return startServer({
    name: 'mongo',
    program: await mongod(),
    args: (port, folder) => [
      ...['--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', folder],
      ...['--logpath', `${folder}/log`, '--quiet', '--wiredTigerCacheSizeGB', '0.25'],
      // Writes wait for the journal: it is flushed more often than each 100 ms, but not so often that idle servers cost.
      ...['--journalCommitInterval', '20', '--setParameter', 'diagnosticDataCollectionEnabled=false'],
      ...(replicaSet ? ['--replSet', REPLICA_SET, '--oplogSize', '64'] : []),
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

/** The Redis that this process's tests share, started by the first call: `REDIS_URL`, or one that ends with the process. */
export const redisForTests = shared('REDIS_URL', startRedis);

/** The MongoDB that this process's tests share: `MONGODB_URI`, or a replica set of one that ends with the process. */
export const mongoForTests = shared('MONGODB_URI', startMongo);

/** A name that no other test and no other run uses: a key prefix, or a database. */
export const uniqueName = (what: string): string => `test-${what}-${randomBytes(6).toString('hex')}`;
