import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisServer } from './binaries.js';
import { freePort, startServer } from './server-process.js';
import { type Server, startRedis } from './services.js';

const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 15_000;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`Timeout while waiting: ${what}.`);
    await delay(50);
  }
};

export interface ClusterNode {
  readonly server: Server;
  readonly admin: Redis;
  readonly id: string;
}

const SLOTS = 16_384;

/** Each of the three primaries has a third of the hash slots. */
export const startCluster = async (): Promise<{ nodes: readonly ClusterNode[]; stop(): Promise<void> }> => {
  const nodes = await Promise.all(
    [0, 1, 2].map(async () => {
      const busPort = await freePort();
      const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-port', String(busPort)];
      const server = await startRedis({ args });
      const admin = new Redis(server.url, { retryStrategy: () => 50 });
      admin.on('error', () => undefined);
      return { server, admin, busPort, id: (await admin.cluster('MYID')) as string };
    }),
  );
  const [first] = nodes as [(typeof nodes)[number]];
  for (const [i, { admin, server, busPort }] of nodes.entries()) {
    const bounds = [Math.floor((i * SLOTS) / 3), Math.floor(((i + 1) * SLOTS) / 3) - 1];
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', ...bounds);
    await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort);
  }
  await until('A cluster', async () => {
    const infos = await Promise.all(nodes.map(({ admin }) => admin.cluster('INFO') as Promise<string>));
    return infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3'));
  });
  return {
    nodes,
    stop: async () => {
      for (const { admin, server } of nodes) {
        admin.disconnect();
        await server.stop();
      }
    },
  };
};

/** After the start of a migration, the source replies with ASK for keys that have moved. */
export const startMigration = async (slot: number, from: ClusterNode, to: ClusterNode): Promise<void> => {
  await to.admin.cluster('SETSLOT', slot, 'IMPORTING', from.id);
  await from.admin.cluster('SETSLOT', slot, 'MIGRATING', to.id);
};

export const finishMigration = async (
  slot: number,
  from: ClusterNode,
  to: ClusterNode,
  all: readonly ClusterNode[],
) => {
  const keys = await from.admin.cluster('GETKEYSINSLOT', slot, 1000);
  if (keys.length > 0) await from.admin.migrate('127.0.0.1', to.server.port, '', 0, 5000, 'KEYS', ...keys);
  for (const { admin } of [to, from, ...all]) await admin.cluster('SETSLOT', slot, 'NODE', to.id);
};

export interface Sentinels {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly primary: Server;
  readonly replica: Server;
  stop(): Promise<void>;
}

/** The three Sentinels fail over when the primary has not replied for 500 ms. */
export const startSentinels = async (): Promise<Sentinels> => {
  const name = 'limits';
  // By default, a primary waits five seconds for more replicas before it syncs.
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
  const link = new Redis(replica.url);
  await until('Replication', async () => (await link.info('replication')).includes('master_link_status:up'));
  link.disconnect();
  const program = await redisServer();
  const sentinels = await Promise.all(
    [0, 1, 2].map(() =>
      startServer({
        name: 'redis-sentinel',
        program,
        args: (port, folder) => {
          const file = join(folder, 'sentinel.conf');
          const lines = [
            `port ${port}`,
            'bind 127.0.0.1',
            `dir ${folder}`,
            `logfile ${folder}/log`,
            `sentinel monitor ${name} 127.0.0.1 ${primary.port} 2`,
            `sentinel down-after-milliseconds ${name} 500`,
            `sentinel failover-timeout ${name} 3000`,
          ];
          writeFileSync(file, `${lines.join('\n')}\n`);
          return [file, '--sentinel'];
        },
        url: (port) => `redis://127.0.0.1:${port}`,
        ready: async (port) => {
          const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
          redis.on('error', () => undefined);
          try {
            await redis.connect();
          } finally {
            redis.disconnect();
          }
        },
      }),
    ),
  );
  await Promise.all(
    sentinels.map(async ({ url }) => {
      const admin = new Redis(url);
      // Sentinels do not promote a replica if its INFO is older than five seconds, but refresh INFO only every ten
      // seconds by default.
      await admin.call('SENTINEL', 'DEBUG', 'INFO-PERIOD', '1000', 'PUBLISH-PERIOD', '200');
      await until('A quorum of Sentinels that know the replica', async () => {
        const quorum = await admin.call('SENTINEL', 'CKQUORUM', name);
        const replicas = (await admin.call('SENTINEL', 'REPLICAS', name)) as unknown[];
        return String(quorum).startsWith('OK 3') && replicas.length === 1;
      });
      admin.disconnect();
    }),
  );
  return {
    name,
    nodes: sentinels.map(({ port }) => `127.0.0.1:${port}`),
    primary,
    replica,
    stop: async () => {
      for (const server of [...sentinels, replica, primary]) await server.stop();
    },
  };
};
