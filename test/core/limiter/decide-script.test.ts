/** The script by itself: the same as its model in TypeScript, on any calls in any order. */
import { assert } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { decide, decideScript, shardParts, unpackDays } from '../../../core/limiter/decide-script.js';
import { KEPT_DAYS } from '../../../core/limiter/usage.js';
import { RedisScript } from '../../../core/redis/connection.js';
import { type Bucket, bucketsOf, fieldOf } from '../../support/limiter-window.js';
import { redisForTests, uniqueName } from '../../support/services.js';
import { ModelRedis } from './decide-model.js';

const WINDOW_MS = 60_000;
/** An hour before a month ends. */
const START = Date.UTC(2027, 1, 28, 23) * 1000;
const DAY = 86_400_000_000;

const told = fc.array(
  fc.record({
    ageMs: fc.integer({ min: -1, max: 70_000_000 }).map((us) => us / 1000),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  { maxLength: 4 },
);
const unused = fc.array(
  fc.record({
    end: fc.integer({ min: 0, max: 70 }).map((seconds) => START + seconds * 1_000_000),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);
const ask = fc.record({
  subject: fc.constantFrom('key:a', 'key:ü€', 'ip:c'),
  limit: fc.constantFrom(0, 1, 3, 60, 61, 64, 100_000_000),
  asked: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(1000)),
  told: fc.option(told, { nil: undefined, freq: 3 }),
  unused: fc.option(unused, { nil: undefined, freq: 3 }),
  usage: fc.option(
    fc.record({
      stream: fc.constantFrom(7, 0xffffffff),
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
/** Numbers of calls are relative to the last one of the replica that was applied. */
const step = fc.record({
  replica: fc.constantFrom(1, 2, 0xffffffff),
  number: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: -1, max: 3 })),
  previous: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 2 })),
  asks: fc.uniqueArray(ask, { selector: ({ subject }) => subject, maxLength: 3 }),
  micros: fc.oneof(
    fc.integer({ min: 0, max: 2_000_000 }),
    // To the edge of a bucket, as `START` is at one.
    fc.constantFrom(0, 1_000_000, 59_000_000, 60_000_000, 61_000_000, 62_000_000),
    fc.integer({ min: 0, max: 70_000_000 }),
    fc.integer({ min: -5_000_000_000, max: 5_000_000_000 }),
    fc.constantFrom(3_600_000_000, DAY, 30 * DAY),
  ),
});

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

const ordinary = { replica: 1, number: 1, previous: 0 } as const;
const asking = { subject: 'key:a', limit: 60, told: undefined, unused: undefined, usage: undefined } as const;
/** Slots of a bucket that left the window long ago, when the replica has one with the same number. */
const oldSlots: readonly Step[] = [
  { ...ordinary, micros: 256_000_000, asks: [{ ...asking, asked: 3 }] },
  { ...ordinary, micros: 0, asks: [{ ...asking, asked: 0, unused: [{ end: START, count: 2 }] }] },
];

/** Buckets with one end are in no order, and those of one replica are as good as one. */
const byEnd = (buckets: readonly Bucket[]): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { end, replica, count } of buckets) {
    const bucket = `${end} ${replica}`;
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return [...counts].sort();
};

const daysOf = (parts: ModelRedis['usage'] extends Map<string, infer Parts> ? Parts : never) => {
  const days = new Map<number, { day: number; requests: number; refused: number }>();
  for (const [name, { requests, refused }] of parts) {
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

  /** What the script keeps, which is what the model keeps, but for fields that nobody needs: those the model drops too. */
  const compare = async (key: string, model: ModelRedis, now: number, idle: ReadonlyMap<string, number>) => {
    const isOld = (at: number) => at + model.window + model.bucket <= now;
    const [keys, young, old] = await Promise.all(shardParts(key).map((part) => redis.hgetallBuffer(part)));
    const fields = { ...old, ...young, ...keys };
    for (const [subject, parts] of model.usage) {
      const packed = fields[`usage:${subject}`];
      const days = packed ? unpackDays(packed).filter(({ requests, refused }) => requests + refused > 0) : [];
      const oldest = Math.floor((now - (KEPT_DAYS - 1) * DAY) / DAY);
      const of = (list: typeof days) => list.filter(({ day }) => day > oldest).sort((a, b) => a.day - b.day);
      assert.deepEqual(of(days), of(daysOf(parts)), `usage of ${subject}`);
    }
    assert.notInclude(Object.keys(keys ?? {}).join(), 'ip:');
    for (const [subject, buckets] of model.windows) {
      const field = fields[subject];
      if (field) {
        assert.deepEqual(field, fieldOf(bucketsOf(field)), 'its tail says the newest end and the sum');
        assert.deepEqual(byEnd(bucketsOf(field)), byEnd(buckets));
      } else {
        // Addresses are dropped by when they were seen, also where the clock was set back since.
        const isIdle = subject.startsWith('ip:') && (idle.get(subject) ?? 0) >= model.window + model.bucket;
        assert.isTrue(isIdle || isOld(buckets.at(-1)?.end ?? 0), `${subject} was dropped too early`);
        model.windows.delete(subject);
      }
    }
    for (const [replica, { at, number }] of model.calls) {
      const field = fields[`replica:${replica}`];
      if (field) {
        assert.equal(Number(field.readBigUInt64BE(6) & 0xffffffffffffffn), number);
      } else {
        assert.isTrue(at + 2 * model.window <= now, `replica ${replica} was forgotten too early`);
        model.calls.delete(replica);
      }
    }
  };

  for (const countsUsage of [true, false]) {
    it(`any calls of three replicas, late, twice and after losses, on a clock that jumps, are decided as the model decides them, ${countsUsage ? 'with' : 'without'} usage`, async () => {
      const options = { windowMs: WINDOW_MS, mostAddresses: 1000, countsUsage };
      const { source } = decideScript(options);
      assert.include(source, "redis.call('TIME')");
      const clock = uniqueName('clock');
      const script = new RedisScript(source.replace("redis.call('TIME')", `redis.call('LRANGE', '${clock}', 0, 1)`));
      const run = async (steps: readonly Step[]): Promise<void> => {
        const key = uniqueName('shard');
        const model = new ModelRedis({ windowMs: WINDOW_MS });
        let now = START;
        /** For how long nobody has asked for a subject, by a clock that is never set back. */
        const idle = new Map<string, number>();
        for (const { replica, number, previous, asks, micros } of steps) {
          now += micros;
          for (const [subject, time] of idle) idle.set(subject, time + Math.max(0, micros));
          await redis
            .multi()
            .del(clock)
            .rpush(clock, Math.floor(now / 1e6), now % 1e6)
            .exec();
          const last = model.calls.get(replica)?.number ?? 0;
          const call = {
            number: Math.max(1, last + number),
            previous: Math.max(0, last + previous),
            asks: asks.map(({ unused, usage, ...ask }) => ({
              ...ask,
              unused: ask.told ? undefined : unused,
              usage: countsUsage ? usage : undefined,
            })),
          };
          const reply = await decide({ redis, key, replica, windowMs: WINDOW_MS, countsUsage, script }, call);
          assert.deepEqual(reply, model.decide(now, replica, call));
          if (reply.applied) for (const { subject } of asks) idle.set(subject, 0);
          await compare(key, model, now, idle);
        }
        await redis.del(...shardParts(key), clock);
      };
      await run(oldSlots);
      await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), run), { numRuns: 200 });
    });
  }
});
