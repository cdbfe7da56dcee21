import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import { type Bucket, readWindow } from '../support/limiter-window.js';
import type { Answer, LoadClient } from '../support/load-client.js';
import { isAllowed, mostInWindow, rejectedTooSoon } from '../support/windows.js';
import { assertAllowedOrRejected, type LimitedReplicas, PATHS, startLimitedReplicas } from './limited-replicas.js';

const SECONDS = 190;

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

  get total(): number {
    return [...this.buckets.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** Highest number of permits in any 60 seconds on the clock of Redis. */
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

describe(`bursts at the edges of windows for ${SECONDS} seconds, with the clock of one of three replicas 30 seconds ahead`, () => {
  let replicas: LimitedReplicas;
  let redis: Redis;

  after(async () => {
    redis?.disconnect();
    await replicas?.stop();
  });

  /**
   * Returns the number of requests to send in this second. In the four seconds around a full minute, the requests
   * exceed the limit. In the second after a half minute, they use half the limit.
   */
  const perSecondAt = (second: number, limit: number): number => {
    const phase = second % 60;
    if (phase < 2 || phase >= 58) return limit / 3;
    if (phase >= 30 && phase < 31) return limit / 2;
    return 4;
  };

  const measure = async (limit: number) => {
    const { id, clients, first } = await replicas.newKey(limit);
    const window = new RedisWindow(redis, id);
    const requests: Promise<Answer>[] = [];
    const since = performance.now();
    let due = 0;
    for (let last = since; last - since < SECONDS * 1000; ) {
      await delay(10);
      const now = performance.now();
      due += (perSecondAt((now - since) / 1000, limit) * (now - last)) / 1000;
      last = now;
      while (requests.length < due) {
        const client = clients[requests.length % clients.length] as LoadClient;
        requests.push(client.get(PATHS[requests.length % PATHS.length] as string));
      }
      if (requests.length % 50 === 0) await window.read();
    }
    const answers = [...first, ...(await Promise.all(requests))];
    // Replicas return unused permits within four seconds.
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
    // A bucket lasts one second, so a permit can be available up to one second late.
    const lateMs = 1000;
    it(`${limit} per minute: never allows more in 60 seconds, and rejects for at most one second too long`, () => {
      const { answers, window } = measured.get(limit) as Measured;
      const allowed = answers.filter(isAllowed).length;
      assertAllowedOrRejected(answers);
      console.log(
        `      ${answers.length} requests, ${allowed} allowed; most in 60 s: ${window.mostInWindow} in Redis, at least ${mostInWindow(answers)} seen by clients`,
      );
      assert.equal(window.total, allowed, 'Redis has counted each allowed request');
      assert.isAtMost(window.mostInWindow, limit);
      assert.isAtMost(mostInWindow(answers), limit);
      assert.deepEqual(rejectedTooSoon(answers, limit, lateMs), []);
      assert.equal(mostInWindow(answers), limit);
      assert.isAbove(allowed, limit);
      assert.isAbove(answers.length, allowed);
    });
  }
});
