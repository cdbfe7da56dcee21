/** The limits of keys over three replicas behind nginx, over several windows. */
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import { type Bucket, readWindow } from '../support/limiter-window.js';
import type { Answer, LoadClient } from '../support/load-client.js';
import { isPassed, mostInWindow, refusedTooSoon } from '../support/windows.js';
import { assertOnlyPassedOrRefused, type LimitedReplicas, PATHS, startLimitedReplicas } from './limited-replicas.js';

const SECONDS = 190;

/** The buckets that Redis has of a subject, gathered while they leave its window: of each replica, by their end. */
class RedisWindow {
  readonly buckets = new Map<string, Bucket>();

  constructor(
    readonly redis: Redis,
    readonly keyId: string,
  ) {}

  async read(): Promise<void> {
    for (const bucket of await readWindow(this.redis, 'api:', `key:${this.keyId}`)) {
      this.buckets.set(`${bucket.end} ${bucket.replica}`, bucket);
    }
  }

  get admitted(): number {
    return [...this.buckets.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** The most in any span of a window, by Redis's clock, to the microsecond. */
  get mostInWindow(): number {
    const buckets = [...this.buckets.values()].sort((a, b) => a.end - b.end);
    let [most, inside, oldest] = [0, 0, 0];
    for (const { end, count } of buckets) {
      inside += count;
      for (; (buckets[oldest] as Bucket).end <= end - WINDOW_MS * 1000; oldest++) {
        inside -= (buckets[oldest] as Bucket).count;
      }
      most = Math.max(most, inside);
    }
    return most;
  }
}

describe(`bursts around the edges of windows, for ${SECONDS} seconds, the clock of one of three replicas being 30 seconds ahead`, () => {
  let replicas: LimitedReplicas;
  let redis: Redis;

  after(async () => {
    redis?.disconnect();
    await replicas?.stop();
  });

  /** Half of the limit in the middle of each window, all of it and more around its edges, and a trickle between. */
  const perSecondAt = (second: number, limit: number): number => {
    const phase = second % 60;
    if (phase < 2 || phase >= 58) return limit / 3;
    if (phase >= 30 && phase < 31) return limit / 2;
    return 4;
  };

  const measure = async (limit: number) => {
    const { id, callers, first } = await replicas.newKey(limit);
    const window = new RedisWindow(redis, id);
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
    // What was taken ahead and not used is given back by then.
    await delay(4000);
    await window.read();
    return { answers, window };
  };

  type Measured = Awaited<ReturnType<typeof measure>>;
  const limits = [600, 6000] as const;
  const measured = new Map<number, Measured>();

  before(async function () {
    this.timeout(SECONDS * 1000 + 60_000);
    replicas = await startLimitedReplicas();
    redis = new Redis(replicas.service.redis.url);
    await Promise.all(limits.map(async (limit) => measured.set(limit, await measure(limit))));
  });

  for (const limit of limits) {
    // Requests are counted by whole seconds: a slot comes back up to one second late.
    const lateMs = 1000;
    it(`${limit} a minute: no 60 seconds hold more, and none is refused over a second before its time`, () => {
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
