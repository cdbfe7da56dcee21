/** The limits of keys over three replicas behind nginx, by what callers see. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import { writeVersions } from '../support/dataset-version.js';
import { request } from '../support/http-client.js';
import { type Answer, askAll, LoadClient } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';
import { isPassed, isRefused, mostInWindow, refusedTooSoon } from '../support/windows.js';

/** How long bursts go on; three minutes and more with LIMITS_SECONDS=190. */
const SECONDS = Number(process.env['LIMITS_SECONDS'] ?? 75);
const CLOCK_SHIFT_MS = 30_000;
const PATHS = ['/markets', '/markets/12060', '/movers', '/forecasts', '/signals', '/markets/99999', '/movers?limit=x'];

const pathsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => PATHS[i % PATHS.length] as string);

/** The admissions that Redis has listed for a subject, gathered while they leave its window: stamp (µs) to total. */
class RedisWindow {
  readonly totals = new Map<number, number>();

  constructor(
    readonly redis: Redis,
    readonly keyId: string,
  ) {}

  async read(): Promise<void> {
    const list = await this.redis.lrange(`api:{key:${this.keyId}}:window`, 0, -1);
    for (let i = 1; i < list.length; i += 2) this.totals.set(Number(list[i]), Number(list[i + 1]));
  }

  get admitted(): number {
    return Math.max(...this.totals.values());
  }

  /** The most in any span of a window, by Redis's clock, to the microsecond. */
  get mostInWindow(): number {
    const entries = [...this.totals].sort(([a], [b]) => a - b);
    let most = 0;
    let base = 0;
    for (const [stamp, total] of entries) {
      while ((entries[base + 1]?.[0] ?? Number.POSITIVE_INFINITY) <= stamp - WINDOW_MS * 1000) base++;
      most = Math.max(most, total - (entries[base] as [number, number])[1]);
    }
    return most;
  }
}

describe('limits over three replicas, the clock of one being 30 seconds ahead', () => {
  let service: Replicas;
  let redis: Redis;
  let remove: () => Promise<void>;
  const clients: LoadClient[] = [];

  before(async function () {
    this.timeout(60_000);
    const written = await writeVersions([1]);
    remove = written.remove;
    const shifted = fileURLToPath(new URL('../support/shifted-clock.js', import.meta.url));
    service = await startReplicas({
      dataset: written.directories[0] as string,
      // A machine that stalls is no outage here: an outage has other limits.
      env: { METRO__REDIS__TIMEOUT_MS: '2000' },
      replicaEnv: (index): Readonly<Record<string, string>> =>
        index === 2 ? { NODE_OPTIONS: `--import=${shifted}`, CLOCK_SHIFT_MS: String(CLOCK_SHIFT_MS) } : {},
    });
    redis = new Redis(service.redis.url);
  });

  after(async () => {
    for (const client of clients) client.close();
    redis?.disconnect();
    await service?.stop();
    await remove?.();
  });

  /** A key that every replica knows, and its first requests: one at each replica. */
  const newKey = async (limit?: number) => {
    const { id, key } = await service.createKey(limit);
    const first = await untilKnown(service, key);
    const callers = Array.from({ length: 4 }, () => new LoadClient(service.url, key, 12));
    clients.push(...callers);
    return { callers, first, window: new RedisWindow(redis, id) };
  };

  const flood = async (limit: number | undefined, requests: number): Promise<Answer[]> => {
    const { callers, first } = await newKey(limit);
    const share = pathsOf(requests / callers.length);
    return [...first, ...(await Promise.all(callers.map((caller) => askAll(caller, share, 12)))).flat()];
  };

  const assertOnlyPassedOrRefused = (answers: readonly Answer[]): void => {
    const others = answers.filter((answer) => !isPassed(answer) && !isRefused(answer));
    assert.deepEqual(
      others.map(({ status, path }) => `${status} ${path}`),
      [],
    );
  };

  it('the clocks differ', async () => {
    // This document is as old as its process, by that process's clock.
    const startTimes = await Promise.all(
      service.replicas.map(async ({ url }) => {
        const { headers } = await request(`${url}/openapi.json`);
        return Date.parse(headers['last-modified'] as string);
      }),
    );
    assert.closeTo((startTimes[2] as number) - (startTimes[0] as number), CLOCK_SHIFT_MS, CLOCK_SHIFT_MS / 2);
  });

  it('600 a minute, 6,000 requests of four clients as fast as they go: exactly 600 pass', async function () {
    this.timeout(60_000);
    const answers = await flood(undefined, 6000);
    assertOnlyPassedOrRefused(answers);
    assert.equal(answers.filter(isPassed).length, 600);
    const processes = new Set(answers.map(({ headers }) => String(headers['x-request-id']).split('-')[0]));
    assert.equal(processes.size, service.replicas.length);
  });

  it('6,000 a minute, 12,000 requests of four clients as fast as they go: exactly 6,000 pass', async function () {
    this.timeout(60_000);
    const answers = await flood(6000, 12_000);
    assertOnlyPassedOrRefused(answers);
    assert.equal(answers.filter(isPassed).length, 6000);
  });

  describe(`bursts around the edges of windows, for ${SECONDS} seconds`, () => {
    /** Half of the limit in the middle of each window, all of it and more around its edges, and a trickle between. */
    const perSecondAt = (second: number, limit: number): number => {
      const phase = second % 60;
      if (phase < 2 || phase >= 58) return limit / 3;
      if (phase >= 30 && phase < 31) return limit / 2;
      return 4;
    };

    const measure = async (limit: number) => {
      const { callers, first, window } = await newKey(limit);
      const asked: Promise<Answer>[] = [];
      const since = performance.now();
      let due = 0;
      for (let last = since; last - since < SECONDS * 1000; ) {
        await delay(10);
        const now = performance.now();
        due += (perSecondAt((now - since) / 1000, limit) * (now - last)) / 1000;
        last = now;
        while (asked.length < due) {
          const caller = callers[asked.length % callers.length] as LoadClient;
          asked.push(caller.get(PATHS[asked.length % PATHS.length] as string));
        }
        if (asked.length % 50 === 0) await window.read();
      }
      const answers = [...first, ...(await Promise.all(asked))];
      // What was leased and not used is given back by then.
      await delay(1500);
      await window.read();
      return { answers, window };
    };

    type Measured = Awaited<ReturnType<typeof measure>>;
    const limits = [600, 6000] as const;
    const measured = new Map<number, Measured>();

    before(async function () {
      this.timeout(SECONDS * 1000 + 60_000);
      await Promise.all(limits.map(async (limit) => measured.set(limit, await measure(limit))));
    });

    for (const limit of limits) {
      // Above 1,000, admissions are counted by whole seconds: a slot comes back up to one second late.
      const lateMs = limit > 1000 ? 1000 : 0;
      it(`${limit} a minute: no 60 seconds hold more, and none is refused ${lateMs ? 'over a second ' : ''}before its time`, () => {
        const { answers, window } = measured.get(limit) as Measured;
        const passed = answers.filter(isPassed).length;
        assertOnlyPassedOrRefused(answers);
        console.log(
          `      ${answers.length} requests, ${passed} passed; most in 60 s: ${window.mostInWindow} by Redis, at least ${mostInWindow(answers)} by callers`,
        );
        assert.equal(window.admitted, passed, 'Redis has counted what passed');
        assert.isAtMost(window.mostInWindow, limit);
        assert.isAtMost(mostInWindow(answers), limit);
        assert.deepEqual(refusedTooSoon(answers, limit, lateMs), []);
        // It was used up, and came free again.
        assert.equal(mostInWindow(answers), limit);
        assert.isAbove(passed, limit);
        assert.isAbove(answers.length, passed);
      });
    }
  });
});
