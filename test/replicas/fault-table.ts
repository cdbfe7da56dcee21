/** The fault table: two loads through nginx, one fault, and what callers noticed. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
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
/** Reads from a MongoDB that hangs fail after up to two seconds; everything else shows within a few milliseconds. */
const OUTAGE_MS = { redis: 1000, mongo: 2000, replica: 1000 };
/** A replica's own part of this takes two seconds at most, which its limiter's and its adapter's tests prove. */
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
  /** How long after the beginning `/status` is asked and the end comes. Default: that of `OUTAGE_MS`. */
  readonly outageMs?: number;
  /** Whether anybody but callers can tell: then `/status` must. */
  readonly visible: boolean;
}

export const withRedis = async (service: Replicas, work: (redis: Redis) => Promise<unknown>): Promise<void> => {
  const redis = new Redis(service.redis.url);
  await work(redis);
  redis.disconnect();
};

/** `/status` is built once a minute. This one shows each fault, so that replicas go on from one to the next. */
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

const HEAD = ['fault', 'kept answers failed', 'longest', 'read answers failed', 'longest', 'recovered', 'status said'];

/** One test a fault, by the names of those that `start` resolves with; the rows are printed at the end. */
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

    /** Every replica knows the key and has the kept answers, also one that has just been started. */
    const begin = async (): Promise<void> => {
      await untilKnown(service, key);
      for (const path of KEPT) for (const { status } of await askEach(path)) assert.equal(status, 200, path);
    };

    const apiComponent = (answer: Answer) => JSON.parse(answer.body).components[0];

    /** Resolves when every replica reads, is ready and says that it is well, with what they say and how long that took. */
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
        if (performance.now() - since > RECOVERY_MS) throw new Error(`Not back: ${answers.map(({ body }) => body)}`);
        await delay(20);
      }
    };

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
        let during: readonly Answer[] | undefined;
        let recovery: Awaited<ReturnType<typeof recovered>>;
        try {
          await delay(500);
          await fault.begin(service, keyId);
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
          [keptAnswers, readAnswers] = await Promise.all([kept.stop(), read.stop()]);
          for (const client of clients) client.close();
        }
        const status = during ?? recovery.status;
        const said = new Set(
          status.map((each) => `${apiComponent(each).status}: ${apiComponent(each).message ?? '-'}`),
        );
        rows.push([
          fault.name,
          count(keptAnswers),
          `${longest(keptAnswers)} ms`,
          count(readAnswers),
          `${longest(readAnswers)} ms`,
          `${recovery.ms} ms`,
          [...said].join(' / '),
          `${longest(status)} ms`,
        ]);

        assert.deepEqual([...new Set(keptAnswers.map((answer) => answer.status))], [200]);
        const allowed = fault.affects === 'mongo' ? [200, 503] : [200];
        assert.includeMembers(allowed, [...new Set(readAnswers.map((answer) => answer.status))]);
        assert.isBelow(longest([...keptAnswers, ...readAnswers]), BOUND_MS);
        if (fault.visible) assert.isDefined(during);
        for (const answer of during ?? []) assert.equal(apiComponent(answer).status, 'degraded', answer.body);
      });
    }
  });
};
