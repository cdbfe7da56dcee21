import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { PATHS } from '../support/known-bodies.js';
import { type Answer, LoadClient, longest, sendSteadily } from '../support/load-client.js';
import { NETWORK_FAULTS } from '../support/network-faults.js';
import { metricsPorts, untilHealthy, untilKnown } from '../support/replica-state.js';
import { REPLICAS, type Replicas, startReplicas } from '../support/replicas.js';
import { isRejected, mostInWindow } from '../support/windows.js';

type Store = 'redis' | 'mongo';

const STORES: Readonly<Record<Store, string>> = { redis: 'Redis', mongo: 'MongoDB' };
/** Each fault lasts longer than every timeout of the service, so that the service detects dead connections. */
const FAULT_MS: Readonly<Record<Store, number>> = { redis: 800, mongo: 1800 };
/**
 * A response waits for at most two calls to Redis of 150 ms each (`redis.timeoutMs`), and up to 4 s for MongoDB
 * (`http.answerMs`). The rest is a margin for a busy machine.
 */
const BOUND_MS: Readonly<Record<Store, number>> = { redis: 2000, mongo: 6000 };
/** If the machine stalls for this long, reads can fail without a fault. */
const STALLED_MS = 1000;
const SEVERITY = 0.75;
const LIMIT = 60;

let day = Date.parse('1400-01-01');
const unread = (): string => {
  day += 86_400_000;
  return `/observations?series_id=metro_hpi&since=${new Date(day).toISOString().slice(0, 10)}`;
};

interface Load {
  readonly name: string;
  readonly perSecond: number;
  readonly path: () => string;
  readonly key: () => string;
  readonly statuses: Readonly<Record<Store, readonly number[]>>;
}

const always = (...statuses: number[]) => ({ redis: statuses, mongo: statuses });

describe('network faults between three replicas and', () => {
  let service: Replicas;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  let key: string;
  let limited: string;
  let metrics: readonly number[];
  const limitedAnswers: Answer[] = [];
  const rows = [['store', 'fault', 'longest cached', 'longest read', '503 of reads', 'recovered in']];

  let next = 0;
  const loads: readonly Load[] = [
    {
      name: 'cached',
      perSecond: 20,
      path: () => PATHS[next++ % PATHS.length] as string,
      key: () => key,
      statuses: always(200),
    },
    { name: 'read', perSecond: 8, path: unread, key: () => key, statuses: { redis: [200], mongo: [200, 503] } },
    { name: 'limited', perSecond: 6, path: () => '/markets', key: () => limited, statuses: always(200, 429) },
    { name: 'keyless', perSecond: 2, path: () => '/markets', key: () => 'mfk_none', statuses: always(401) },
  ];

  before(async function () {
    this.timeout(60_000);
    versions = await writeVersions([1]);
    metrics = await metricsPorts(REPLICAS);
    service = await startReplicas({
      dataset: versions.directories[0] as string,
      proxied: true,
      replicaEnv: (index) => ({ METRO__METRICS__PORT: String(metrics[index]) }),
    });
    ({ key } = await service.createKey(1_000_000));
    limited = (await service.createKey(LIMIT)).key;
    await untilKnown(service, key);
    await untilKnown(service, limited);
    for (const { url } of service.replicas) {
      const client = new LoadClient(url, key, 4);
      for (const path of PATHS) assert.equal((await client.get(path)).status, 200);
      client.close();
    }
  });

  after(async () => {
    await service?.stop();
    await versions?.remove();
    for (const row of rows) console.log(`      | ${row.join(' | ')} |`);
  });

  /** A proxy would hide the failure of a single replica, so requests go to each replica directly. */
  const startLoad = () => {
    const clients: LoadClient[] = [];
    const running = loads.flatMap((load) =>
      service.replicas.map(({ url }) => {
        const client = new LoadClient(url, load.key(), 256);
        clients.push(client);
        return { load, asking: sendSteadily(client, load.perSecond, load.path) };
      }),
    );
    return async (): Promise<ReadonlyMap<Load, readonly Answer[]>> => {
      const answers = new Map<Load, Answer[]>(loads.map((load) => [load, []]));
      for (const { load, asking } of running) answers.get(load)?.push(...(await asking.stop()));
      for (const client of clients) client.close();
      return answers;
    };
  };

  for (const store of Object.keys(STORES) as Store[]) {
    for (const [name, faultOf] of Object.entries(NETWORK_FAULTS)) {
      it(`${STORES[store]}, ${name}: each request gets an allowed status in time, and the service recovers`, async function () {
        this.timeout(60_000);
        const stop = startLoad();
        const proxy = (service.proxies as NonNullable<Replicas['proxies']>)[store];
        let recoveredMs: number;
        let answers: ReadonlyMap<Load, readonly Answer[]>;
        try {
          await delay(100);
          proxy.inject(faultOf(SEVERITY));
          await delay(FAULT_MS[store]);
          proxy.heal();
          recoveredMs = await untilHealthy(service, store, { key, metrics, unread });
        } finally {
          proxy.heal();
          answers = await stop();
        }
        const [cached, read] = [...answers.values()] as [readonly Answer[], readonly Answer[]];
        limitedAnswers.push(...(answers.get(loads[2] as Load) ?? []));
        const failed = read.filter(({ status }) => status === 503).length;
        rows.push([
          STORES[store],
          name,
          `${longest(cached)} ms`,
          `${longest(read)} ms`,
          `${failed} of ${read.length}`,
          `${recoveredMs} ms`,
        ]);

        const stalled = longest(answers.get(loads[3] as Load) ?? []);
        for (const [load, received] of answers) {
          const statuses = load.statuses[stalled < STALLED_MS ? store : 'mongo'];
          const wrong = received.filter(({ status }) => !statuses.includes(status));
          assert.deepEqual(
            wrong.map(({ status, path, body }) => `${load.name}: ${status} ${path} ${body}`),
            [],
          );
          assert.isBelow(longest(received), BOUND_MS[load.name === 'read' ? store : 'redis'] + 2 * stalled, load.name);
        }
        for (const { status, headers, body } of read) {
          if (status !== 503) continue;
          assert.match(String(headers['retry-after']), /^\d+$/);
          assert.equal(JSON.parse(body).code, 'service_unavailable');
        }
      });
    }
  }

  it('a key never gets more per minute than its limit plus the local shares during an outage', () => {
    const most = mostInWindow(limitedAnswers);
    console.log(`      limit ${LIMIT}: ${most} allowed within a minute`);
    assert.isAtMost(most, LIMIT + (REPLICAS - 1) * (LIMIT / REPLICAS));
    assert.isAbove(limitedAnswers.filter(isRejected).length, 0);
  });
});
