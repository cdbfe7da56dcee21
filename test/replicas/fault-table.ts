/** The fault table: two loads through nginx, one fault, and what callers noticed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { writeVersions } from '../support/dataset-version.js';
import { type Answer, keepAsking, LoadClient, longest } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

const KEPT = ['/markets', '/markets/12060/history', '/movers', '/forecasts', '/signals', '/series', '/forecast-runs'];
const KEPT_PER_SECOND = 150;
const READ_PER_SECOND = 30;
/** From when storage has failed, an answer that needs it is a 503 within two seconds; the rest is this machine's. */
const BOUND_MS = 2500;
const SETTLED_MS = 2000;
const OUTAGE_MS = 2000;
/** A replica's own part of this takes two at most, which its limiter's and its adapter's tests prove. */
const RECOVERY_MS = 5000;

/** A path that nobody has asked for yet. */
let day = Date.parse('1500-01-01');
const unread = (): string => {
  day += 86_400_000;
  return `/observations?series_id=metro_hpi&since=${new Date(day).toISOString().slice(0, 10)}`;
};

export interface Fault {
  readonly name: string;
  /** Where it is MongoDB, answers that must be read may be 503 meanwhile. */
  readonly affects: 'redis' | 'mongo' | 'replica';
  begin(service: Replicas, keyId: string): unknown;
  /** Absent: it is over when it has begun. */
  end?(service: Replicas, keyId: string): unknown;
  /** How long after the beginning `/status` is asked and the end comes. Default: `OUTAGE_MS`. */
  readonly outageMs?: number;
  /** Whether anybody but callers can tell: then `/status` must. */
  readonly visible: boolean;
}

export const withRedis = async (service: Replicas, work: (redis: Redis) => Promise<unknown>): Promise<void> => {
  const redis = new Redis(service.redis.url);
  await work(redis);
  redis.disconnect();
};

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

const HEAD = ['fault', 'kept answers failed', 'longest', 'read answers failed', 'longest', 'recovered', '/status said'];

/** One test a fault, by the names of those that `start` resolves with; the rows are printed at the end. */
export const describeFaults = (title: string, names: readonly string[], start: () => Promise<Topology>): void => {
  describe(`the fault table, ${title}`, () => {
    let topology: Topology;
    let service: Replicas;
    let keyId: string;
    let key: string;
    let fresh = true;
    let versions: Awaited<ReturnType<typeof writeVersions>>;
    const rows: string[][] = [[...HEAD, 'in']];

    before(async function () {
      this.timeout(60_000);
      versions = await writeVersions([1]);
      topology = await start();
      service = await startReplicas({ dataset: versions.directories[0] as string, redisEnv: topology.redisEnv });
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

    /** Replicas that remember no `/status`, and have the kept answers. */
    const begin = async (): Promise<void> => {
      if (!fresh) {
        await withRedis(service, (redis) => redis.flushall());
        await Promise.all(service.replicas.map((replica) => replica.restart()));
      }
      fresh = false;
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

    for (const name of names) {
      it(`${name}: no 429, no 500, kept answers go on, and all recovers by itself`, async function () {
        this.timeout(60_000);
        const fault = topology.faults.find((each) => each.name === name) as Fault;
        await begin();
        const clients = [new LoadClient(service.url, key, 64), new LoadClient(service.url, key, 256)] as const;
        let next = 0;
        const kept = keepAsking(clients[0], KEPT_PER_SECOND, () => KEPT[next++ % KEPT.length] as string);
        const read = keepAsking(clients[1], READ_PER_SECOND, unread);
        let [keptAnswers, readAnswers]: (readonly Answer[])[] = [];
        let status: Answer[] = [];
        let recovery: number;
        try {
          await delay(500);
          await fault.begin(service, keyId);
          if (fault.end) {
            await delay(fault.outageMs ?? OUTAGE_MS);
            if (fault.affects !== 'replica') status = await askEach('/status');
            if (fault.affects === 'mongo') {
              for (const health of await askEach('/health')) assert.equal(health.status, 503, health.body);
            }
            await fault.end(service, keyId);
          }
          recovery = await recovered();
          await delay(500);
        } finally {
          [keptAnswers, readAnswers] = await Promise.all([kept.stop(), read.stop()]);
          for (const client of clients) client.close();
        }
        if (status.length === 0) {
          // Reads may be back before a store's next poll has found it so, and /status is kept for a minute.
          await delay(SETTLED_MS);
          status = await askEach('/status');
        }
        const said = new Set(
          status.map((each) => `${apiComponent(each).status}: ${apiComponent(each).message ?? '-'}`),
        );
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
};
