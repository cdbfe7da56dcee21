import { fileURLToPath } from 'node:url';
import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { type Answer, LoadClient } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';
import { isAllowed, isRejected } from '../support/windows.js';

export const CLOCK_SHIFT_MS = 30_000;
export const PATHS = [
  '/markets',
  '/markets/12060',
  '/movers',
  '/forecasts',
  '/signals',
  '/markets/99999',
  '/movers?limit=x',
];

export interface LimitedReplicas {
  readonly service: Replicas;
  /**
   * Creates a key that every replica knows, and four clients with this key. `first` contains one response of each
   * replica.
   */
  newKey(limit?: number): Promise<{
    readonly id: string;
    readonly clients: readonly LoadClient[];
    readonly first: readonly Answer[];
  }>;
  stop(): Promise<void>;
}

export const startLimitedReplicas = async (): Promise<LimitedReplicas> => {
  const versions = await writeVersions([1]);
  const shifted = fileURLToPath(new URL('../support/shifted-clock.js', import.meta.url));
  const service = await startReplicas({
    dataset: versions.directories[0] as string,
    // Other limits apply during an outage, so a stalled machine must not look like an outage.
    env: { METRO__REDIS__TIMEOUT_MS: '2000' },
    replicaEnv: (index): Readonly<Record<string, string>> =>
      index === 2 ? { NODE_OPTIONS: `--import=${shifted}`, CLOCK_SHIFT_MS: String(CLOCK_SHIFT_MS) } : {},
  }).finally(() => versions.remove());
  const clients: LoadClient[] = [];
  return {
    service,
    async newKey(limit) {
      const { id, key } = await service.createKey(limit);
      const first = await untilKnown(service, key);
      const ofKey = Array.from({ length: 4 }, () => new LoadClient(service.url, key, 12));
      clients.push(...ofKey);
      return { id, clients: ofKey, first };
    },
    async stop() {
      for (const client of clients) client.close();
      await service.stop();
    },
  };
};

export const assertAllowedOrRejected = (answers: readonly Answer[]): void => {
  const others = answers.filter((answer) => !isAllowed(answer) && !isRejected(answer));
  assert.deepEqual(
    others.map(({ status, path }) => `${status} ${path}`),
    [],
  );
};
