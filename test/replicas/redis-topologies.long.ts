import { keyOf } from '../support/limiter-window.js';
import {
  type ClusterNode,
  finishMigration,
  startCluster,
  startMigration,
  startSentinels,
} from '../support/redis-topologies.js';
import { describeFaults } from './fault-table.js';

const FAILOVER = 'Redis Sentinel fails over';
describeFaults('Redis Sentinel', [FAILOVER], async () => {
  const { name, nodes, primary, stop } = await startSentinels();
  return {
    redisEnv: { METRO__REDIS__SENTINEL: JSON.stringify({ name, nodes }) },
    faults: [
      // The Sentinels fail over after slightly more than half a second.
      { name: FAILOVER, affects: 'redis', visible: true, start: () => primary.kill(), end: () => {}, outageMs: 200 },
    ],
    stop,
  };
});

const MIGRATION = 'a hash slot of Redis Cluster moves';
describeFaults('Redis Cluster of three nodes', [MIGRATION], async () => {
  const { nodes, stop } = await startCluster();
  const move = async (keyId: string) => {
    const [first] = nodes as [ClusterNode];
    const slot = await first.admin.cluster('KEYSLOT', keyOf('api:', `key:${keyId}`, true));
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
        start: async (_, keyId) => {
          const { slot, from, to } = await move(keyId);
          await startMigration(slot, from, to);
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
