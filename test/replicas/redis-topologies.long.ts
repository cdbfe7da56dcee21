/** What callers notice while Redis Sentinel fails over, and while a slot of Redis Cluster moves. */

import { keyOf } from '../support/limiter-window.js';
import {
  beginMigration,
  type ClusterNode,
  finishMigration,
  startCluster,
  startSentinels,
} from '../support/redis-topologies.js';
import { describeFaults } from './fault-table.js';

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
