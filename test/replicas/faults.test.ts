/** What callers notice while parts of the service die, hang, come back, or change places. */
import { MongoClient } from 'mongodb';
import {
  beginMigration,
  type ClusterNode,
  finishMigration,
  startCluster,
  startSentinels,
} from '../support/redis-topologies.js';
import type { Replicas } from '../support/replicas.js';
import type { Server } from '../support/services.js';
import { describeFaults, type Fault, withRedis } from './fault-table.js';

const stepDown = async ({ mongo }: Replicas): Promise<void> => {
  const client = new MongoClient(mongo.url, { directConnection: true, serverSelectionTimeoutMS: 2000 });
  await client.db('admin').command({ replSetStepDown: 2, force: true });
  await client.close();
};

const FAULTS: readonly Fault[] = [
  {
    name: 'Redis killed',
    affects: 'redis',
    visible: true,
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
  },
  {
    name: 'Redis frozen',
    affects: 'redis',
    visible: true,
    begin: ({ redis }) => redis.freeze(),
    end: ({ redis }) => redis.resume(),
  },
  { name: 'Redis restarted', affects: 'redis', visible: false, begin: ({ redis }) => redis.restart() },
  {
    name: 'SCRIPT FLUSH',
    affects: 'redis',
    visible: false,
    begin: (service) => withRedis(service, (redis) => redis.script('FLUSH')),
  },
  {
    name: 'MongoDB killed',
    affects: 'mongo',
    visible: true,
    begin: ({ mongo }) => mongo.kill(),
    end: ({ mongo }) => mongo.restart(),
  },
  {
    name: 'MongoDB frozen',
    affects: 'mongo',
    visible: true,
    begin: ({ mongo }) => mongo.freeze(),
    end: ({ mongo }) => mongo.resume(),
  },
  { name: 'MongoDB restarted', affects: 'mongo', visible: false, begin: ({ mongo }) => mongo.restart() },
  { name: 'MongoDB primary steps down', affects: 'mongo', visible: false, begin: stepDown },
  {
    name: 'a replica killed',
    affects: 'replica',
    visible: false,
    begin: ({ replicas }) => (replicas[0] as Server).kill(),
    end: ({ replicas }) => (replicas[0] as Server).restart(),
  },
  {
    name: 'a replica replaced (SIGTERM)',
    affects: 'replica',
    visible: false,
    begin: ({ replicas }) => (replicas[0] as Server).kill('SIGTERM'),
    end: ({ replicas }) => (replicas[0] as Server).restart(),
  },
];

describeFaults(
  'of each part by itself',
  FAULTS.map(({ name }) => name),
  async () => ({ faults: FAULTS }),
);

const FAILOVER = 'Redis Sentinel fails over';
describeFaults('behind Redis Sentinel', [FAILOVER], async () => {
  const { name, nodes, primary, stop } = await startSentinels();
  return {
    redisEnv: { METRO__REDIS__SENTINEL: JSON.stringify({ name, nodes }) },
    faults: [
      // Soon, since the Sentinels need little over half a second.
      { name: FAILOVER, affects: 'redis', visible: true, begin: () => primary.kill(), end: () => {}, outageMs: 200 },
    ],
    stop,
  };
});

const MIGRATION = 'a slot of Redis Cluster moves';
describeFaults('on a Redis Cluster of three', [MIGRATION], async () => {
  const { nodes, stop } = await startCluster();
  /** The slot of the key's window, the node that has it, and another. */
  const move = async (keyId: string) => {
    const [first] = nodes as [ClusterNode];
    const slot = await first.admin.cluster('KEYSLOT', `api:{key:${keyId}}:window`);
    const owner = nodes.findIndex((_, i) => slot < Math.floor(((i + 1) * 16_384) / 3));
    return { slot, from: nodes[owner] as ClusterNode, to: nodes[(owner + 1) % 3] as ClusterNode };
  };
  return {
    redisEnv: {
      METRO__REDIS__CLUSTER: JSON.stringify({ nodes: nodes.map(({ server }) => `127.0.0.1:${server.port}`) }),
    },
    faults: [
      {
        name: MIGRATION,
        affects: 'redis',
        visible: false,
        begin: async (_, keyId) => {
          const { slot, from, to } = await move(keyId);
          await beginMigration(slot, from, to);
        },
        end: async (_, keyId) => {
          const { slot, from, to } = await move(keyId);
          await finishMigration(slot, from, to, nodes);
        },
        outageMs: 1000,
      },
    ],
    stop,
  };
});
