/** Runs three replicas behind nginx on one machine with `config/replicas.json`. */
import { join } from 'node:path';
import { pino } from 'pino';
import { createContainer, resolve } from '../../core/app/container.js';
import { openDirectory } from '../../core/data/directory.js';
import { packageRoot } from '../../core/util/package.js';
import { loadConfig, loadModules } from '../../product.js';
import { commandArgs, runProcess } from './command-process.js';
import { request } from './http-client.js';
import { newKey } from './key-record.js';
import { startNginx } from './nginx.js';
import { type Server, startServer } from './server-process.js';
import { startMongo, startRedis } from './services.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

interface ReplicasOptions {
  readonly dataset?: string;
  /** If true, MongoDB is a standalone server without change streams, so the replicas only poll. */
  readonly standalone?: boolean;
  /** If true, replicas connect to each store through a proxy. Commands always connect directly. */
  readonly proxied?: boolean;
  /** Environment variables for another Redis, such as a cluster. The replicas then do not use `redis`. */
  readonly redisEnv?: Readonly<Record<string, string>> | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly replicaEnv?: (index: number) => Readonly<Record<string, string>>;
}

export interface Replicas {
  readonly redis: Server;
  readonly mongo: Server;
  readonly replicas: readonly Server[];
  readonly nginx: Server;
  /** Proxies between the replicas and the stores. Undefined unless `proxied` is set. */
  readonly proxies: { readonly redis: TcpProxy; readonly mongo: TcpProxy } | undefined;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  command(...args: string[]): Promise<string>;
  /** Inserts a key into the key store, which is faster than the CLI. */
  createKey(limit?: number | null): Promise<{ readonly id: string; readonly key: string }>;
  stop(): Promise<void>;
}

export const REPLICAS = 3;
const replicasConfig = join(packageRoot, 'config/replicas.json');
const BASE_PATH = '/api/v1';

const startReplica = (env: Readonly<Record<string, string>>): Promise<Server> =>
  startServer({
    name: 'replica',
    program: process.execPath,
    args: () => commandArgs(['start', '--config', replicasConfig]),
    env: (port) => ({ ...env, PORT: String(port) }),
    url: (port) => `http://127.0.0.1:${port}${BASE_PATH}`,
    // `/health` responds even without data.
    ready: async (port) => void (await request(`http://127.0.0.1:${port}${BASE_PATH}/health`)),
  });

/** Starting a process for each command would take almost a second, so this process opens the stores. */
const openStores = async (env: Readonly<Record<string, string>>) => {
  const config = await loadConfig({ path: replicasConfig, env });
  const overrides = { logger: pino({ level: 'silent' }) };
  const container = createContainer({ config, modules: await loadModules(config) }, overrides);
  return { adapter: resolve(container, 'adapter'), keyStore: resolve(container, 'keyStore') };
};

const publish = async (env: Readonly<Record<string, string>>, directory: string): Promise<void> => {
  const { adapter } = await openStores(env);
  try {
    await adapter.open();
    await adapter.publish?.((await openDirectory(directory)).dataset);
  } finally {
    await adapter.close();
  }
};

/** Starts replicas and their servers as child processes, which exit when the test process exits or is killed. */
export const startReplicas = async (options: ReplicasOptions = {}): Promise<Replicas> => {
  const started: Server[] = [];
  const begin = async (server: Promise<Server>): Promise<Server> => {
    started.push(await server);
    return server;
  };
  let proxies: Replicas['proxies'];
  const stop = async () => {
    for (const server of started.splice(0).reverse()) await server.stop();
    await Promise.all([proxies?.redis.close(), proxies?.mongo.close()]);
  };
  try {
    const [redis, mongo] = await Promise.all([
      begin(startRedis()),
      begin(startMongo({ replicaSet: !options.standalone })),
    ]);
    const env = {
      ...(options.redisEnv ?? { REDIS_URL: redis.url }),
      MONGODB_URI: mongo.url,
      // Three replicas, their stores, a proxy and the load would exceed the limits of overload protection on a small
      // machine.
      METRO__SERVER__OVERLOAD: 'null',
      ...options.env,
    };
    const command = (...args: string[]) => runProcess(['--config', replicasConfig, ...args], env);
    if (options.dataset) await publish(env, options.dataset);
    if (options.proxied) proxies = { redis: await startTcpProxy(redis.port), mongo: await startTcpProxy(mongo.port) };
    const through = proxies && {
      REDIS_URL: `redis://127.0.0.1:${proxies.redis.port}`,
      // Without a direct connection, the driver would use the address in the replica set configuration and bypass the
      // proxy.
      MONGODB_URI: `mongodb://127.0.0.1:${proxies.mongo.port}/?directConnection=true`,
    };
    const replicas = await Promise.all(
      Array.from({ length: REPLICAS }, (_, i) =>
        begin(startReplica({ ...env, ...through, ...options.replicaEnv?.(i) })),
      ),
    );
    const nginx = await begin(startNginx(replicas.map(({ port }) => port)));
    return {
      redis,
      mongo,
      replicas,
      nginx,
      proxies,
      url: `${nginx.url}${BASE_PATH}`,
      env,
      command,
      async createKey(limit = null) {
        const { key, record } = newKey({ limit_per_minute: limit });
        const { keyStore } = await openStores(env);
        try {
          await keyStore.open();
          await keyStore.insert(record);
        } finally {
          await keyStore.close();
        }
        return { id: record.id, key };
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};
