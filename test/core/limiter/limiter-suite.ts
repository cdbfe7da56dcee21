/** What every limiter must do, whatever keeps its count: schedules of requests against a reference log. */
import { assert } from 'chai';
import fc from 'fast-check';
import type { Decision, Limiter, Quotas } from '../../../core/contracts/limiter.js';

export interface LimiterHarness {
  readonly windowMs: number;
  /** Replicas that share their count. */
  readonly replicas: readonly Limiter[];
  /** Milliseconds by the clock that decides. */
  now(): Promise<number>;
  wait(ms: number): Promise<void>;
  /** How late a slot may come back under this limit. */
  lateMs(limit: number): number;
  /** How many random schedules are affordable. */
  readonly runs: number;
  /** Whether waiting takes time, so that schedules run beside each other; else they have one clock in turn. */
  readonly isRealTime: boolean;
}

/** Admissions that lie between two readings of the clock; they are equal where the clock stands still. */
interface Admitted {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const sum = (admitted: readonly Admitted[]): number => admitted.reduce((total, { count }) => total + count, 0);

/** Requests of one subject, each checked against everything that was admitted before. */
class Reference {
  readonly #harness: LimiterHarness;
  readonly #subject: string;
  #admitted: Admitted[] = [];

  constructor(harness: LimiterHarness, subject: string) {
    this.#harness = harness;
    this.#subject = subject;
  }

  /** Sends requests at once, and answers with how many passed. */
  async burst(size: number, limit: number, replica = 0): Promise<number> {
    const { replicas, windowMs } = this.#harness;
    const limiter = replicas[replica % replicas.length] as Limiter;
    const from = await this.#harness.now();
    const decisions = await Promise.all(Array.from({ length: size }, () => limiter.take(this.#subject, limit)));
    const to = await this.#harness.now();
    const before = sum(this.#admitted.filter((earlier) => to - earlier.from < windowMs));
    const passed = decisions.filter(({ allowed }) => allowed).length;
    assert.isAtMost(passed, Math.max(0, limit - before), 'more passed than the limit in one window');
    this.#admitted.push({ from, to, count: passed });
    const late = windowMs + this.#harness.lateMs(limit);
    const after = sum(this.#admitted.filter((earlier) => from - earlier.to < late));
    if (passed < size) assert.isAtLeast(after, limit, 'one was refused although there was room');
    for (const decision of decisions) this.#check(decision, limit, after);
    return passed;
  }

  #check({ limit, remaining, resetMs, allowed }: Decision, asked: number, after: number): void {
    assert.equal(limit, asked);
    assert.isAtLeast(remaining, Math.max(0, limit - after));
    assert.isAtMost(remaining, allowed ? limit - 1 : 0);
    assert.isAbove(resetMs, 0);
    assert.isAtMost(resetMs, this.#harness.windowMs + this.#harness.lateMs(limit));
  }
}

let subjects = 0;
const subject = (): string => `key:${++subjects}`;

export const defineLimiterSuite = (name: string, make: () => Promise<LimiterHarness>): void => {
  describe(`${name} as a limiter`, () => {
    let harness: LimiterHarness;

    before(async () => {
      harness = await make();
    });

    const forAny = async <Schedule>(
      schedules: fc.Arbitrary<Schedule>,
      runs: number,
      check: (schedule: Schedule) => Promise<void>,
    ): Promise<void> => {
      const checkOne = async (schedule: Schedule): Promise<void> => {
        try {
          await check(schedule);
        } catch (error) {
          throw new Error(`${fc.stringify(schedule)}: ${(error as Error).message}`, { cause: error });
        }
      };
      const sample = fc.sample(schedules, runs);
      if (harness.isRealTime) await Promise.all(sample.map(checkOne));
      else for (const schedule of sample) await checkOne(schedule);
    };

    it('any schedule of bursts over the replicas passes what a log of the window would pass', async () => {
      const step = fc.record({
        permille: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 600 }), fc.constant(1000)),
        size: fc.integer({ min: 1, max: 5 }),
        replica: fc.nat({ max: 2 }),
      });
      const schedule = fc.record({
        steps: fc.array(step, { minLength: 1, maxLength: 8 }),
        limit: fc.integer({ min: 1, max: 6 }),
      });
      await forAny(schedule, harness.runs, async ({ steps, limit }) => {
        const reference = new Reference(harness, subject());
        for (const { permille, size, replica } of steps) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, limit, replica);
        }
      });
    });

    it('any schedule with changing limits keeps to the limit of each request', async () => {
      const step = fc.record({
        permille: fc.integer({ min: 0, max: 400 }),
        size: fc.integer({ min: 1, max: 5 }),
        limit: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1001, max: 1004 })),
      });
      await forAny(fc.array(step, { minLength: 2, maxLength: 8 }), harness.runs, async (steps) => {
        const reference = new Reference({ ...harness, lateMs: () => harness.lateMs(1001) }, subject());
        for (const { permille, size, limit } of steps) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, limit);
        }
      });
    });

    it('any schedule at a limit too high for an exact log passes never too many, and few too late', async () => {
      const step = fc.record({ permille: fc.integer({ min: 0, max: 700 }), size: fc.integer({ min: 300, max: 900 }) });
      await forAny(fc.array(step, { minLength: 4, maxLength: 8 }), Math.min(harness.runs, 6), async (steps) => {
        const reference = new Reference(harness, subject());
        for (const [i, { permille, size }] of steps.entries()) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, 1001, i);
        }
      });
    });

    for (const limit of [1, 1001]) {
      it(`a used up limit of ${limit} makes room when the window is over: not before, and no later than it may`, async () => {
        for (let round = 0; round < 3; round++) {
          const reference = new Reference(harness, subject());
          await reference.burst(limit, limit);
          await harness.wait(harness.windowMs - 15);
          while ((await reference.burst(1, limit)) === 0) await harness.wait(0.25);
        }
      });
    }

    for (const limit of [600, 6000]) {
      it(`${2 * limit} requests at once over all replicas: exactly ${limit} pass, and no more until the window is over`, async () => {
        const name = subject();
        const half = limit / 2;
        const requests = Array.from({ length: 4 * half }, (_, i) => {
          const limiter = harness.replicas[i % harness.replicas.length] as Limiter;
          return limiter.take(name, limit);
        });
        const decisions = await Promise.all(requests);
        assert.equal(decisions.filter(({ allowed }) => allowed).length, limit);
        const later = (await (harness.replicas[0] as Limiter).take(name, limit)) as Decision;
        assert.deepInclude(later, { allowed: false, remaining: 0, limit });
      });
    }

    it('a refused request passes when it is repeated after resetMs', async () => {
      const name = subject();
      const [limiter] = harness.replicas as [Limiter];
      await limiter.take(name, 1);
      for (let i = 0; i < 3; i++) {
        const refused = await limiter.take(name, 1);
        assert.isFalse(refused.allowed);
        await harness.wait(refused.resetMs);
        assert.isTrue((await limiter.take(name, 1)).allowed);
      }
    });

    it('after a limit was lowered, resetMs is when enough has left the window, and not earlier', async () => {
      const name = subject();
      const [limiter] = harness.replicas as [Limiter];
      for (let i = 0; i < 3; i++) {
        await limiter.take(name, 3);
        await harness.wait(harness.windowMs / 4);
      }
      const refused = await limiter.take(name, 1);
      assert.isFalse(refused.allowed);
      assert.isAtLeast(refused.resetMs, harness.windowMs / 2);
      await harness.wait(refused.resetMs);
      assert.isTrue((await limiter.take(name, 1)).allowed);
    });

    it('refused requests are not counted', async () => {
      const reference = new Reference(harness, subject());
      for (let i = 0; i < 8; i++) {
        await reference.burst(4, 2);
        await harness.wait(harness.windowMs / 4);
      }
    });

    it('a raised limit is in force at once, and a lowered one too', async () => {
      const name = subject();
      const limiter = harness.replicas[0] as Limiter;
      const burst = async (size: number, limit: number) => {
        const decisions = await Promise.all(Array.from({ length: size }, () => limiter.take(name, limit)));
        return decisions.filter(({ allowed }) => allowed).length;
      };
      assert.equal(await burst(5, 3), 3);
      assert.equal(await burst(5, 5), 2);
      assert.equal(await burst(5, 2), 0);
      assert.equal(await burst(5, 6), 1);
      assert.equal(await burst(5, 2000), 5);
      assert.equal(await burst(1, 11), 0);
      assert.equal(await burst(2, 12), 1);
    });

    const usedBy = async (name: string): Promise<{ requests: number; refused: number }> => {
      const days = await harness.replicas[0]!.usage!(name);
      const sumOf = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
      return {
        requests: sumOf(days.map(({ requests }) => requests)),
        refused: sumOf(days.map(({ refused }) => refused)),
      };
    };
    /** Replicas tell what they refused by a timer, which a busy machine lets run late. */
    const isCounted = async (name: string, expected: Awaited<ReturnType<typeof usedBy>>): Promise<void> => {
      for (let tries = 0; tries < 20 && (await usedBy(name)).refused < expected.refused; tries++) {
        await harness.wait(harness.windowMs / 15);
      }
      assert.deepEqual(await usedBy(name), expected);
    };

    for (const quotas of [
      { perDay: 50, perMonth: null },
      { perDay: null, perMonth: 50 },
      { perDay: 50, perMonth: 50 },
      { perDay: 70, perMonth: 50 },
    ]) {
      it(`quotas ${JSON.stringify(quotas)}: 50 of 120 requests pass over all replicas, and all of them are counted once`, async () => {
        const name = subject();
        const limit = 100_000;
        for (let sent = 0; sent < 120; sent += 8) {
          await Promise.all(
            Array.from({ length: 8 }, (_, i) =>
              harness.replicas[(sent + i) % harness.replicas.length]!.take(name, limit, quotas),
            ),
          );
          // Slots that were taken ahead come back when their bucket is over.
          await harness.wait(harness.windowMs / 30);
        }
        const last = await harness.replicas[0]!.take(name, limit, quotas);
        assert.isFalse(last.allowed);
        assert.sameDeepMembers(
          last.quotas!.map(({ name: period, quota, remaining }) => [period, quota, remaining]),
          [
            ...(quotas.perDay === null ? [] : [['day', quotas.perDay, quotas.perDay - 50]]),
            ...(quotas.perMonth === null ? [] : [['month', quotas.perMonth, quotas.perMonth - 50]]),
          ],
        );
        await isCounted(name, { requests: 50, refused: 71 });
      });
    }

    it('what the window refuses uses no quota, and what a quota refuses takes no room in the window', async () => {
      const name = subject();
      const [limiter] = harness.replicas as [Limiter];
      const passed = async (quotas: Quotas): Promise<boolean> => (await limiter.take(name, 3, quotas)).allowed;
      const two = { perDay: 2, perMonth: null };
      assert.deepEqual(
        [await passed(two), await passed(two), await passed(two), await passed(two)],
        [true, true, false, false],
      );
      const four = { perDay: 4, perMonth: null };
      assert.deepEqual([await passed(four), await passed(four)], [true, false], 'the limit of 3 a window');
      await harness.wait(harness.windowMs + harness.lateMs(3));
      assert.deepEqual([await passed(four), await passed(four)], [true, false], 'the quota of 4 a day');
      await isCounted(name, { requests: 4, refused: 4 });
    });

    it('without quotas nothing of a caller is counted but its window', async () => {
      const name = subject();
      const decision = await harness.replicas[0]!.take(name, 5);
      assert.notProperty(decision, 'quotas');
      assert.deepEqual(await usedBy(name), { requests: 0, refused: 0 });
    });

    it('subjects do not share their windows', async () => {
      const limiter = harness.replicas[0] as Limiter;
      const names = Array.from({ length: 20 }, subject);
      const decisions = await Promise.all(names.map((name) => limiter.take(name, 1)));
      assert.isTrue(decisions.every(({ allowed }) => allowed));
    });
  });
};
