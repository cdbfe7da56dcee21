import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { writeVersions } from '../support/dataset-version.js';
import { type Answer, LoadClient, longest, sendSteadily } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

const CACHED = ['/markets', '/markets/12060/history', '/movers', '/forecasts', '/signals', '/series', '/forecast-runs'];
const CACHED_PER_SECOND = 150;
const READ_PER_SECOND = 30;
/** During an outage, reads fail with a 503 within 2 seconds. The margin allows for a busy machine. */
const BOUND_MS = 2500;
/** Reads from a frozen MongoDB take up to two seconds to fail. */
const OUTAGE_MS = { redis: 1000, mongo: 2000, replica: 1000 };
/** Replicas recover within two seconds. The margin allows for slow stores. */
const RECOVERY_MS = 5000;

let paths = 0;
const unread = (): string => {
  const sorts = ['name', '-name', 'cbsa', '-cbsa', 'id', '-id'];
  const n = paths++;
  return `/markets?sort=${sorts[Math.floor(n / 1000) % sorts.length]}&limit=${1 + (n % 1000)}`;
};

export interface Fault {
  readonly name: string;
  /** Component that fails. Only `mongo` may cause 503 responses, and only to requests that are not cached. */
  readonly affects: 'redis' | 'mongo' | 'replica';
  start(service: Replicas, keyId: string): unknown;
  end?(service: Replicas, keyId: string): unknown;
  readonly outageMs?: number;
  readonly visible: boolean;
}

export const withRedis = async (service: Replicas, work: (redis: Redis) => Promise<unknown>): Promise<void> => {
  const redis = new Redis(service.redis.url);
  await work(redis);
  redis.disconnect();
};

/**
 * An endpoint that returns the same state as `/status`. Responses of `/status` are cached for a minute, but responses
 * of this endpoint are not.
 */
const STATUS = '/status-now';
const statusNow = fileURLToPath(new URL('../support/status-now.js', import.meta.url));

const count = (answers: readonly Answer[]): string => {
  const failed = answers.filter(({ status }) => status !== 200);
  const kinds = new Map<number, number>();
  for (const { status } of failed) kinds.set(status, (kinds.get(status) ?? 0) + 1);
  const detail = [...kinds].map(([status, n]) => `${n} x ${status}`).join(', ');
  return `${failed.length} of ${answers.length}${detail ? ` (${detail})` : ''}`;
};

export interface Topology {
  readonly redisEnv?: Readonly<Record<string, string>>;
  readonly faults: readonly Fault[];
  stop?(): Promise<void>;
}

const HEAD = ['fault', 'failed (cached)', 'longest', 'failed (read)', 'longest', 'recovered', 'status'];

/** Defines one test per fault and prints the table after the last test. @param names faults from `start` */
export const describeFaults = (title: string, names: readonly string[], start: () => Promise<Topology>): void => {
  describe(`the fault table, ${title}`, () => {
    let topology: Topology;
    let service: Replicas;
    let keyId: string;
    let key: string;
    let versions: Awaited<ReturnType<typeof writeVersions>>;
    const rows: string[][] = [[...HEAD, 'in']];

    before(async function () {
      this.timeout(60_000);
      versions = await writeVersions([1]);
      topology = await start();
      service = await startReplicas({
        dataset: versions.directories[0] as string,
        redisEnv: topology.redisEnv,
        env: { METRO__PLUGINS__7: statusNow },
      });
      ({ id: keyId, key } = await service.createKey(1_000_000));
    });

    after(async () => {
      await service?.stop();
      await topology?.stop?.();
      await versions?.remove();
      for (const row of rows) console.log(`      | ${row.join(' | ')} |`);
    });

    const askEach = async (path: string): Promise<Answer[]> =>
      Promise.all(
        service.replicas.map(async ({ url }) => {
          const client = new LoadClient(url, key, 1);
          const answer = await client.get(path);
          client.close();
          return answer;
        }),
      );

    const warmUp = async (): Promise<void> => {
      await untilKnown(service, key);
      for (const path of CACHED) for (const { status } of await askEach(path)) assert.equal(status, 200, path);
    };

    const apiComponent = (answer: Answer) => JSON.parse(answer.body).components[0];

    /**
     * Waits until every replica is healthy and can read from MongoDB. Returns the responses of `STATUS` and the
     * duration of the recovery.
     */
    const recovered = async (): Promise<{ readonly ms: number; readonly status: readonly Answer[] }> => {
      const since = performance.now();
      for (;;) {
        const others = [...(await askEach(unread())), ...(await askEach('/health'))];
        const status = await askEach(STATUS);
        const answers = [...others, ...status];
        if (
          answers.every((answer) => answer.status === 200) &&
          status.every((answer) => apiComponent(answer).status === 'operational')
        ) {
          return { ms: Math.round(performance.now() - since), status };
        }
        if (performance.now() - since > RECOVERY_MS)
          throw new Error(`The service did not recover: ${answers.map(({ body }) => body)}`);
        await delay(20);
      }
    };

    for (const name of names) {
      it(`${name}: no 429, no 500, cached responses continue, and the service recovers`, async function () {
        this.timeout(60_000);
        const fault = topology.faults.find((each) => each.name === name) as Fault;
        await warmUp();
        const clients = [new LoadClient(service.url, key, 64), new LoadClient(service.url, key, 256)] as const;
        let next = 0;
        const cached = sendSteadily(clients[0], CACHED_PER_SECOND, () => CACHED[next++ % CACHED.length] as string);
        const read = sendSteadily(clients[1], READ_PER_SECOND, unread);
        let [cachedAnswers, readAnswers]: (readonly Answer[])[] = [];
        let during: readonly Answer[] | undefined;
        let recovery: Awaited<ReturnType<typeof recovered>>;
        try {
          await delay(500);
          await fault.start(service, keyId);
          if (fault.end) {
            await delay(fault.outageMs ?? OUTAGE_MS[fault.affects]);
            if (fault.visible) {
              during = await askEach(STATUS);
              for (const status of await askEach('/status')) assert.equal(status.status, 200, status.body);
            } else if (fault.affects !== 'replica') {
              await recovered();
            }
            if (fault.affects === 'mongo') {
              for (const health of await askEach('/health')) assert.equal(health.status, 503, health.body);
            }
            await fault.end(service, keyId);
          }
          recovery = await recovered();
          await delay(500);
        } finally {
          [cachedAnswers, readAnswers] = await Promise.all([cached.stop(), read.stop()]);
          for (const client of clients) client.close();
        }
        const status = during ?? recovery.status;
        const statuses = new Set(
          status.map((each) => `${apiComponent(each).status}: ${apiComponent(each).message ?? '-'}`),
        );
        rows.push([
          fault.name,
          count(cachedAnswers),
          `${longest(cachedAnswers)} ms`,
          count(readAnswers),
          `${longest(readAnswers)} ms`,
          `${recovery.ms} ms`,
          [...statuses].join(' / '),
          `${longest(status)} ms`,
        ]);

        assert.deepEqual([...new Set(cachedAnswers.map((answer) => answer.status))], [200]);
        const allowed = fault.affects === 'mongo' ? [200, 503] : [200];
        assert.includeMembers(allowed, [...new Set(readAnswers.map((answer) => answer.status))]);
        assert.isBelow(longest([...cachedAnswers, ...readAnswers]), BOUND_MS);
        if (fault.visible) assert.isDefined(during);
        for (const answer of during ?? []) assert.equal(apiComponent(answer).status, 'degraded', answer.body);
      });
    }
  });
};
