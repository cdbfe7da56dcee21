/** The script by itself: the same as its model in TypeScript, on any calls in any order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { decide } from '../../../core/limiter/decide-script.js';
import { packageRoot } from '../../../core/package-root.js';
import { type Bucket, bucketsOf, fieldOf } from '../../support/limiter-window.js';
import { redisForTests, uniqueName } from '../../support/services.js';
import { ModelRedis } from './decide-model.js';

const WINDOW_MS = 60_000;
const START = 1_800_000_000_000_000;

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
  subject: fc.constantFrom('key:a', 'key:b', 'ip:c'),
  limit: fc.constantFrom(0, 1, 3, 60, 61, 64, 100_000_000),
  asked: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(1000)),
  told: fc.option(told, { nil: undefined, freq: 3 }),
  unused: fc.option(unused, { nil: undefined, freq: 3 }),
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
  ),
});

/** Buckets with one end are in no order, and those of one replica are as good as one. */
const byEnd = (buckets: readonly Bucket[]): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { end, replica, count } of buckets) {
    const bucket = `${end} ${replica}`;
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return [...counts].sort();
};

describe('decide.lua', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await redisForTests()).url);
  });

  after(() => redis.disconnect());

  /** What the script keeps, which is what the model keeps, but for fields that nobody needs: those the model drops too. */
  const compare = async (key: string, model: ModelRedis, now: number): Promise<void> => {
    const isOld = (at: number) => at + model.window + model.bucket <= now;
    const fields = await redis.hgetallBuffer(key);
    for (const [subject, buckets] of model.windows) {
      const field = fields[subject];
      if (field) {
        assert.deepEqual(field, fieldOf(bucketsOf(field)), 'its head says the newest end and the sum');
        assert.deepEqual(byEnd(bucketsOf(field)), byEnd(buckets));
      } else {
        assert.isTrue(isOld(buckets.at(-1)?.end ?? 0), `${subject} was dropped too early`);
        model.windows.delete(subject);
      }
    }
    for (const [replica, { at, number }] of model.calls) {
      const field = fields[`replica:${replica}`];
      if (field) {
        assert.equal(Number(field.readBigUInt64BE(6) & 0xffffffffffffffn), number);
      } else {
        assert.isTrue(isOld(at), `replica ${replica} was forgotten too early`);
        model.calls.delete(replica);
      }
    }
  };

  it('any calls of three replicas, late, twice and after losses, on a clock that jumps, are decided as the model decides them', async () => {
    const source = readFileSync(join(packageRoot, 'core/limiter/decide.lua'), 'utf8');
    assert.include(source, "redis.call('TIME')");
    const clock = uniqueName('clock');
    const script = source.replace("redis.call('TIME')", `redis.call('LRANGE', '${clock}', 0, 1)`);
    const digest = (await redis.script('LOAD', script)) as string;
    const client = {
      evalsha: (_: string, keys: number, ...args: string[]) => redis.evalsha(digest, keys, ...args),
    } as unknown as Redis;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const key = uniqueName('shard');
        const model = new ModelRedis({ windowMs: WINDOW_MS });
        let now = START;
        for (const { replica, number, previous, asks, micros } of steps) {
          now += micros;
          await redis
            .multi()
            .del(clock)
            .rpush(clock, Math.floor(now / 1e6), now % 1e6)
            .exec();
          const last = model.calls.get(replica)?.number ?? 0;
          const call = {
            number: Math.max(1, last + number),
            previous: Math.max(0, last + previous),
            asks: asks.map(({ told, unused, ...asked }) => ({
              ...asked,
              ...(told && { told }),
              ...(unused && !told && { unused }),
            })),
          };
          const reply = await decide({ redis: client, key, replica, windowMs: WINDOW_MS }, call);
          assert.deepEqual(reply, model.decide(now, replica, call));
          await compare(key, model, now);
        }
        await redis.del(key, clock);
      }),
      { numRuns: 200 },
    );
  });
});
