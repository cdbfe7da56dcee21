/** `decide.lua` and its TypeScript model get the same random calls. */
import { assert } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { decide } from '../../../core/limiter/calls.js';
import { dayOf, KEPT_DAYS } from '../../../core/limiter/quotas.js';
import { DecideScript, decideScript, hashesOf } from '../../../core/limiter/script.js';
import { readUsage, unpackDays } from '../../../core/limiter/usage.js';
import { type Bucket, bucketsOf, fieldOf } from '../../support/limiter-window.js';
import { redisForTests, uniqueName } from '../../support/services.js';
import { ModelRedis } from './decide-model.js';

const WINDOW_MS = 60_000;
/** One hour before the end of a month, so that calls count usage in two months. */
const START = Date.UTC(2027, 1, 28, 23) * 1000;
const DAY = 86_400_000_000;

const resync = fc.array(
  fc.record({
    ageMs: fc.integer({ min: -1, max: 70_000_000 }).map((us) => us / 1000),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  { maxLength: 4 },
);
const returned = fc.array(
  fc.record({
    bucketEnd: fc.integer({ min: 0, max: 70 }).map((seconds) => START + seconds * 1_000_000),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);
const ask = fc.record({
  caller: fc.constantFrom('key:a', 'key:ü€', 'ip:c'),
  limit: fc.constantFrom(0, 1, 3, 60, 61, 64, 100_000_000),
  permits: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(1000)),
  resync: fc.option(resync, { nil: undefined, freq: 3 }),
  returned: fc.option(returned, { nil: undefined, freq: 3 }),
  usage: fc.option(
    fc.record({
      counterId: fc.constantFrom(7, 0xffffffff),
      quotas: fc.record({ perDay: fc.constantFrom(null, 1, 5, 1e12), perMonth: fc.constantFrom(null, 4, 2000, 1e12) }),
      days: fc.uniqueArray(
        fc.record({
          day: fc.integer({ min: -2, max: 1 }).map((days) => Math.floor(START / DAY) + days),
          requests: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: undefined }),
          refused: fc.nat({ max: 9 }),
        }),
        { selector: ({ day }) => day, maxLength: 2 },
      ),
    }),
    { nil: undefined, freq: 3 },
  ),
});
const step = fc.record({
  replica: fc.constantFrom(1, 2, 0xffffffff),
  number: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: -1, max: 3 })),
  previous: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 2 })),
  asks: fc.uniqueArray(ask, { selector: ({ caller }) => caller, maxLength: 3 }),
  micros: fc.oneof(
    fc.integer({ min: 0, max: 2_000_000 }),
    fc.constantFrom(0, 1_000_000, 59_000_000, 60_000_000, 61_000_000, 62_000_000),
    fc.integer({ min: 0, max: 70_000_000 }),
    fc.integer({ min: -5_000_000_000, max: 5_000_000_000 }),
    fc.constantFrom(3_600_000_000, DAY, 30 * DAY),
  ),
});

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

const ordinary = { replica: 1, number: 1, previous: 0 } as const;
const asking = { caller: 'key:a', limit: 60, resync: undefined, returned: undefined, usage: undefined } as const;
/**
 * Bucket numbers repeat after 256 buckets. The replica returns permits of an expired bucket while its window contains a
 * newer bucket with the same number.
 */
const oldPermits: readonly Step[] = [
  { ...ordinary, micros: 256_000_000, asks: [{ ...asking, permits: 3 }] },
  { ...ordinary, micros: 0, asks: [{ ...asking, permits: 0, returned: [{ bucketEnd: START, count: 2 }] }] },
];

/**
 * Returns the permits of each replica in each bucket, in a fixed order. Redis and the model can store the buckets in
 * different orders, or split a bucket differently.
 */
const byEnd = (buckets: readonly Bucket[]): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { end, replica, count } of buckets) {
    const bucket = `${end} ${replica}`;
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return [...counts].sort();
};

const daysOf = (counters: ModelRedis['usage'] extends Map<string, infer Counters> ? Counters : never) => {
  const days = new Map<number, { day: number; requests: number; refused: number }>();
  for (const [name, { requests, refused }] of counters) {
    const day = Number(name.split(' ')[0]);
    const before = days.get(day) ?? { day, requests: 0, refused: 0 };
    days.set(day, { day, requests: before.requests + requests, refused: before.refused + refused });
  }
  return [...days.values()].filter(({ requests, refused }) => requests + refused > 0);
};

describe('decide.lua', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await redisForTests()).url);
  });

  after(() => redis.disconnect());

  /**
   * Asserts that Redis and the model have the same data. If Redis has deleted fields that are no longer in use, the
   * test deletes them from the model too.
   */
  const compare = async (key: string, model: ModelRedis, now: number, idle: ReadonlyMap<string, number>) => {
    const isOld = (at: number) => at + model.window + model.bucket <= now;
    const [keys, young, old] = await Promise.all(hashesOf(key).map((hash) => redis.hgetallBuffer(hash)));
    const fields = { ...old, ...young, ...keys };
    for (const [caller, counters] of model.usage) {
      const packed = fields[`usage:${caller}`];
      const days = packed ? unpackDays(packed).filter(({ requests, refused }) => requests + refused > 0) : [];
      const oldest = Math.floor((now - (KEPT_DAYS - 1) * DAY) / DAY);
      const of = (list: typeof days) => list.filter(({ day }) => day > oldest).sort((a, b) => a.day - b.day);
      assert.deepEqual(of(days), of(daysOf(counters)), `usage of ${caller}`);
    }
    assert.notInclude(Object.keys(keys ?? {}).join(), 'ip:');
    for (const [caller, buckets] of model.windows) {
      const field = fields[caller];
      if (field) {
        assert.deepEqual(field, fieldOf(bucketsOf(field)), 'the tail has the newest end and the sum');
        assert.deepEqual(byEnd(bucketsOf(field)), byEnd(buckets));
      } else {
        // Idle time starts at the last request of an address, even if the clock was set back.
        const isIdle = caller.startsWith('ip:') && (idle.get(caller) ?? 0) >= model.window + model.bucket;
        assert.isTrue(isIdle || isOld(buckets.at(-1)?.end ?? 0), `${caller} was deleted too early`);
        model.windows.delete(caller);
      }
    }
    for (const [replica, { at, number }] of model.calls) {
      const field = fields[`replica:${replica}`];
      if (field) {
        assert.equal(Number(field.readBigUInt64BE(6) & 0xffffffffffffffn), number);
      } else {
        assert.isTrue(at + 2 * model.window <= now, `replica ${replica} was deleted too early`);
        model.calls.delete(replica);
      }
    }
  };

  for (const caller of ['key:stored', 'ip:192.0.2.1']) {
    it(`readUsage reads what quotas.lua stored for ${caller}`, async () => {
      const script = decideScript({ windowMs: WINDOW_MS, mostAddresses: 1000, countsUsage: true });
      const key = uniqueName('partition');
      const now = Date.now();
      const today = dayOf(now);
      const days = [
        { day: today - 1, requests: 2 ** 40 + 1, refused: 2 },
        { day: today, requests: 3, refused: 2 ** 40 + 4 },
      ];
      const usage = { counterId: 2 ** 32 - 1, quotas: { perDay: null, perMonth: null }, days };
      const ask = { caller, limit: 10, permits: 1, resync: [], usage };
      await decide({ redis, key, replica: 1, script }, { number: 1, previous: 0, asks: [ask] });
      const stored = await readUsage(redis, key, caller, now);
      await redis.del(...hashesOf(key));
      assert.deepEqual(
        stored.map(({ requests, refused }) => ({ requests, refused })),
        [
          { requests: 2 ** 40 + 1, refused: 2 },
          { requests: 3 + 1, refused: 2 ** 40 + 4 },
        ],
      );
    });
  }

  for (const countsUsage of [true, false]) {
    it(`agrees with the model on late, repeated and lost calls of three replicas while the clock jumps, ${countsUsage ? 'with' : 'without'} usage`, async () => {
      const options = { windowMs: WINDOW_MS, mostAddresses: 1000, countsUsage };
      const { source } = decideScript(options);
      assert.include(source, "redis.call('TIME')");
      const clock = uniqueName('clock');
      const script = new DecideScript(
        source.replace("redis.call('TIME')", `redis.call('LRANGE', '${clock}', 0, 1)`),
        WINDOW_MS,
      );
      const run = async (steps: readonly Step[]): Promise<void> => {
        const key = uniqueName('partition');
        const model = new ModelRedis({ windowMs: WINDOW_MS });
        let now = START;
        /** Time since the last request of each caller, on a clock that is never set back. */
        const idle = new Map<string, number>();
        for (const { replica, number, previous, asks, micros } of steps) {
          now += micros;
          for (const [caller, time] of idle) idle.set(caller, time + Math.max(0, micros));
          await redis
            .multi()
            .del(clock)
            .rpush(clock, Math.floor(now / 1e6), now % 1e6)
            .exec();
          const last = model.calls.get(replica)?.number ?? 0;
          const call = {
            number: Math.max(1, last + number),
            previous: Math.max(0, last + previous),
            asks: asks.map(({ returned, usage, ...ask }) => ({
              ...ask,
              returned: ask.resync ? undefined : returned,
              usage: countsUsage ? usage : undefined,
            })),
          };
          const reply = await decide({ redis, key, replica, script }, call);
          assert.deepEqual(reply, model.decide(now, replica, call));
          if (reply.applied) for (const { caller } of asks) idle.set(caller, 0);
          await compare(key, model, now, idle);
        }
        await redis.del(...hashesOf(key), clock);
      };
      await run(oldPermits);
      await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), run), { numRuns: 200 });
    });
  }
});
