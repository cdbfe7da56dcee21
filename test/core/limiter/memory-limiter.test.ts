import { assert } from 'chai';
import fc from 'fast-check';
import { MOST_ADDRESSES } from '../../../core/limiter/caller-map.js';
import { MemoryLimiter } from '../../../core/limiter/memory-limiter.js';
import { SlidingWindow } from '../../../core/limiter/window.js';
import { defineLimiterSuite } from './limiter-suite.js';

const WINDOW_MS = 60_000;

const create = () => {
  let now = 1000.25;
  const limiter = new MemoryLimiter({ clock: { now: () => 0, monotonic: () => now } });
  return {
    limiter,
    now: () => now,
    wait: (ms: number) => {
      now += ms;
    },
  };
};

defineLimiterSuite('MemoryLimiter', async () => {
  const { limiter, now, wait } = create();
  return {
    windowMs: WINDOW_MS,
    replicas: [limiter],
    now: async () => now(),
    wait: async (ms) => wait(ms),
    lateMs: (limit) => (limit > 1000 ? 1 : 0),
    runs: 300,
    isRealTime: false,
  };
});

describe('MemoryLimiter', () => {
  it('take() returns a decision, not a promise', () => {
    assert.deepEqual(create().limiter.take('key:a', 2), {
      allowed: true,
      limit: 2,
      remaining: 1,
      resetMs: WINDOW_MS,
    });
  });

  it('a request leaves the window after exactly 60 seconds', () => {
    const { limiter, wait } = create();
    limiter.take('key:a', 1);
    wait(WINDOW_MS - 0.001);
    assert.isFalse(limiter.take('key:a', 1).allowed);
    wait(0.001);
    assert.isTrue(limiter.take('key:a', 1).allowed);
  });

  it('keeps every key, and the last 10,000 to 20,000 addresses', () => {
    const { limiter } = create();
    for (let i = 0; i < 1000; i++) limiter.take(`key:${i}`, 1);
    limiter.take('ip:idle', 1);
    limiter.take('ip:busy', 1);
    for (let i = 0; i < 4 * MOST_ADDRESSES; i++) {
      limiter.take(`ip:${i}`, 1);
      // The caller sends requests often enough to stay among the 10,000 most recent addresses.
      if (i % (MOST_ADDRESSES - 1) === 0) assert.isFalse(limiter.take('ip:busy', 1).allowed, `after ${i}`);
      if (i === MOST_ADDRESSES - 10) assert.isFalse(limiter.take('ip:idle', 1).allowed);
    }
    assert.isAtMost(limiter.size, 2 * MOST_ADDRESSES + 1000);
    assert.isTrue(limiter.take('ip:idle', 1).allowed);
    for (let i = 0; i < 1000; i++) assert.isFalse(limiter.take(`key:${i}`, 1).allowed);
  });

  it('drops idle callers, and keeps callers with requests in their window', () => {
    const { limiter, wait } = create();
    for (let i = 0; i < 1000; i++) limiter.take(`key:${i}`, 1);
    for (let i = 0; i < 8; i++) {
      limiter.take('key:busy', 4);
      wait(WINDOW_MS / 4);
    }
    assert.equal(limiter.take('key:busy', 4).remaining, 0);
    assert.equal(limiter.size, 1);
  });
});

describe('SlidingWindow', () => {
  const SPAN_MS = 10;
  const SPAN_WINDOW_MS = 100;

  it('with spans: a request leaves at most one span late, and never early', () => {
    const requests = fc.array(fc.record({ waitMs: fc.double({ min: 0, max: 60, noNaN: true }), limit: fc.nat(4) }));
    fc.assert(
      fc.property(requests, (schedule) => {
        const window = new SlidingWindow(SPAN_WINDOW_MS, SPAN_MS);
        let times: readonly number[] = [];
        let now = 0;
        for (const { waitMs, limit } of schedule) {
          now += waitMs;
          const since = (ms: number): number => times.filter((time) => time + ms > now).length;
          const { allowed } = window.take(now, limit);
          if (allowed) assert.isBelow(since(SPAN_WINDOW_MS), limit);
          else assert.isAtLeast(since(SPAN_WINDOW_MS + SPAN_MS), limit);
          if (allowed) times = [...times, now];
          const entries = window.entries(now);
          const counted = entries.reduce((sum, { count }) => sum + count, 0);
          assert.isAtLeast(counted, since(SPAN_WINDOW_MS));
          assert.isAtMost(counted, since(SPAN_WINDOW_MS + SPAN_MS));
          assert.isAtMost(entries.length, SPAN_WINDOW_MS / SPAN_MS + 1);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
