/**
 * The fault table: what callers notice, through nginx, while parts of the service die, hang and come back.
 *
 * Two loads run all the time: answers that each replica keeps, and answers that must be read from storage.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { writeVersions } from '../support/dataset-version.js';
import { type Answer, keepAsking, LoadClient, longest } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';
import type { Server } from '../support/services.js';

const KEPT = ['/markets', '/markets/12060/history', '/movers', '/forecasts', '/signals', '/series', '/forecast-runs'];
const KEPT_PER_SECOND = 150;
const READ_PER_SECOND = 30;
/** From when storage has failed, an answer that needs it is a 503 within two seconds; the rest is this machine's. */
const BOUND_MS = 2500;
/** A replica's own part of this takes two at most, which its limiter's and its adapter's tests prove. */
const RECOVERY_MS = 5000;

/** A path that nobody has asked for yet. */
let day = Date.parse('1500-01-01');
const unread = (): string => {
  day += 86_400_000;
  return `/observations?series_id=metro_hpi&since=${new Date(day).toISOString().slice(0, 10)}`;
};

interface Fault {
  readonly name: string;
  /** Which answers may be 503 meanwhile. */
  readonly affects: 'redis' | 'mongo' | 'replica';
  begin(service: Replicas): unknown;
  /** Absent: it ends by itself. */
  end?(service: Replicas): unknown;
  /** Whether anybody but callers can tell: then `/status` must. */
  readonly visible: boolean;
}

const withRedis = async (service: Replicas, work: (redis: Redis) => Promise<unknown>): Promise<void> => {
  const redis = new Redis(service.redis.url);
  await work(redis);
  redis.disconnect();
};

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
];

const count = (answers: readonly Answer[]): string => {
  const failed = answers.filter(({ status }) => status !== 200);
  const kinds = new Map<number, number>();
  for (const { status } of failed) kinds.set(status, (kinds.get(status) ?? 0) + 1);
  const detail = [...kinds].map(([status, n]) => `${n} x ${status}`).join(', ');
  return `${failed.length} of ${answers.length}${detail ? ` (${detail})` : ''}`;
};

describe('the fault table', () => {
  let service: Replicas;
  let key: string;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  const rows: string[][] = [
    ['fault', 'kept answers failed', 'longest', 'read answers failed', 'longest', 'recovered', '/status said', 'in'],
  ];

  before(async function () {
    this.timeout(60_000);
    versions = await writeVersions([1]);
    service = await startReplicas({ dataset: versions.directories[0] as string });
    ({ key } = await service.createKey(1_000_000));
  });

  after(async () => {
    await service?.stop();
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

  /** Replicas that remember no `/status`, and have the kept answers. */
  const begin = async (): Promise<void> => {
    await withRedis(service, (redis) => redis.flushall());
    await Promise.all(service.replicas.map((replica) => replica.restart()));
    await untilKnown(service, key);
    for (const path of KEPT) for (const { status } of await askEach(path)) assert.equal(status, 200, path);
  };

  /** Whether the limiter of every replica has said last that Redis is there. */
  const limitersAreBack = (): boolean =>
    service.replicas.every(({ folder }) => {
      const lines = readFileSync(join(folder, 'stderr'), 'utf8').split('\n');
      const last = lines.findLast((line) => line.includes('limiter: the shared store is'));
      return !last?.includes('is away');
    });

  /** Resolves when every replica reads, counts and is ready, with how long that took in milliseconds. */
  const recovered = async (): Promise<number> => {
    const since = performance.now();
    for (;;) {
      const answers = [...(await askEach(unread())), ...(await askEach('/health'))];
      if (answers.every(({ status }) => status === 200) && limitersAreBack()) {
        return Math.round(performance.now() - since);
      }
      if (performance.now() - since > RECOVERY_MS) throw new Error(`Not back: ${answers.map(({ body }) => body)}`);
      await delay(20);
    }
  };

  const apiComponent = (answer: Answer) => JSON.parse(answer.body).components[0];

  for (const fault of FAULTS) {
    it(`${fault.name}: no 429, no 500, kept answers go on, and all recovers by itself`, async function () {
      this.timeout(60_000);
      await begin();
      const clients = [new LoadClient(service.url, key, 64), new LoadClient(service.url, key, 256)] as const;
      let next = 0;
      const kept = keepAsking(clients[0], KEPT_PER_SECOND, () => KEPT[next++ % KEPT.length] as string);
      const read = keepAsking(clients[1], READ_PER_SECOND, unread);
      await delay(500);
      await fault.begin(service);
      let status: Answer[] = [];
      if (fault.end) {
        await delay(1500);
        if (fault.affects !== 'replica') status = await askEach('/status');
        if (fault.affects === 'mongo') {
          for (const health of await askEach('/health')) assert.equal(health.status, 503, health.body);
        }
        await delay(1000);
        await fault.end(service);
      }
      const recovery = await recovered();
      await delay(500);
      const [keptAnswers, readAnswers] = await Promise.all([kept.stop(), read.stop()]);
      for (const client of clients) client.close();
      if (status.length === 0) status = await askEach('/status');
      const said = new Set(status.map((each) => `${apiComponent(each).status}: ${apiComponent(each).message ?? '-'}`));
      rows.push([
        fault.name,
        count(keptAnswers),
        `${longest(keptAnswers)} ms`,
        count(readAnswers),
        `${longest(readAnswers)} ms`,
        `${recovery} ms`,
        [...said].join(' / '),
        `${longest(status)} ms`,
      ]);

      assert.deepEqual([...new Set(keptAnswers.map((answer) => answer.status))], [200]);
      const allowed = fault.affects === 'mongo' ? [200, 503] : [200];
      assert.includeMembers(allowed, [...new Set(readAnswers.map((answer) => answer.status))]);
      assert.isBelow(longest([...keptAnswers, ...readAnswers]), BOUND_MS);
      for (const answer of status) {
        assert.equal(answer.status, 200);
        assert.equal(apiComponent(answer).status, fault.visible ? 'degraded' : 'operational', answer.body);
      }
    });
  }
});
