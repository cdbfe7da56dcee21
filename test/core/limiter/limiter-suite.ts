/**
 * Tests that every limiter must pass. Each test sends requests on a schedule and compares the decisions with a
 * reference window.
 */
import { assert } from 'chai';
import fc from 'fast-check';
import type { Decision, Limiter, Quotas } from '../../../core/contracts/limiter.js';

interface LimiterHarness {
  readonly windowMs: number;
  readonly replicas: readonly Limiter[];
  now(): Promise<number>;
  wait(ms: number): Promise<void>;
  /** Maximum milliseconds from the end of a window until its permits are available again. */
  lateMs(limit: number): number;
  readonly runs: number;
  /** True if `wait` waits in real time. The schedules then run concurrently. */
  readonly isRealTime: boolean;
}

interface Admitted {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const sum = (admitted: readonly Admitted[]): number => admitted.reduce((total, { count }) => total + count, 0);

class Reference {
  readonly #harness: LimiterHarness;
  readonly #caller: string;
  #admitted: Admitted[] = [];

  constructor(harness: LimiterHarness, caller: string) {
    this.#harness = harness;
    this.#caller = caller;
  }

  async burst(size: number, limit: number, replica = 0): Promise<number> {
    const { replicas, windowMs } = this.#harness;
    const limiter = replicas[replica % replicas.length] as Limiter;
    const from = await this.#harness.now();
    const decisions = await Promise.all(Array.from({ length: size }, () => limiter.take(this.#caller, limit)));
    const to = await this.#harness.now();
    const before = sum(this.#admitted.filter((earlier) => to - earlier.from < windowMs));
    const allowed = decisions.filter((decision) => decision.allowed).length;
    assert.isAtMost(allowed, Math.max(0, limit - before), 'more allowed than the limit in one window');
    this.#admitted.push({ from, to, count: allowed });
    const late = windowMs + this.#harness.lateMs(limit);
    const after = sum(this.#admitted.filter((earlier) => from - earlier.to < late));
    if (allowed < size) assert.isAtLeast(after, limit, 'rejected although a permit was free');
    for (const decision of decisions) this.#check(decision, limit, after);
    return allowed;
  }

  #check({ limit, remaining, resetMs, allowed }: Decision, asked: number, after: number): void {
    assert.equal(limit, asked);
    assert.isAtLeast(remaining, Math.max(0, limit - after));
    assert.isAtMost(remaining, allowed ? limit - 1 : 0);
    assert.isAbove(resetMs, 0);
    assert.isAtMost(resetMs, this.#harness.windowMs + this.#harness.lateMs(limit));
  }
}

let callers = 0;
const newCaller = (): string => `key:${++callers}`;

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

    it('bursts over the replicas: allows what a reference window allows', async () => {
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
        const reference = new Reference(harness, newCaller());
        for (const { permille, size, replica } of steps) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, limit, replica);
        }
      });
    });

    it('changing limits: applies the limit of each request', async () => {
      const step = fc.record({
        permille: fc.integer({ min: 0, max: 400 }),
        size: fc.integer({ min: 1, max: 5 }),
        limit: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1001, max: 1004 })),
      });
      await forAny(fc.array(step, { minLength: 2, maxLength: 8 }), harness.runs, async (steps) => {
        const reference = new Reference({ ...harness, lateMs: () => harness.lateMs(1001) }, newCaller());
        for (const { permille, size, limit } of steps) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, limit);
        }
      });
    });

    it('a limit above 1,000: never allows too many, and few too late', async () => {
      const step = fc.record({ permille: fc.integer({ min: 0, max: 700 }), size: fc.integer({ min: 300, max: 900 }) });
      await forAny(fc.array(step, { minLength: 4, maxLength: 8 }), Math.min(harness.runs, 6), async (steps) => {
        const reference = new Reference(harness, newCaller());
        for (const [i, { permille, size }] of steps.entries()) {
          if (permille > 0) await harness.wait((permille / 1000) * harness.windowMs);
          await reference.burst(size, 1001, i);
        }
      });
    });

    for (const limit of [1, 1001]) {
      it(`a used limit of ${limit} is free again at the end of the window, neither earlier nor too late`, async () => {
        for (let round = 0; round < 3; round++) {
          const reference = new Reference(harness, newCaller());
          await reference.burst(limit, limit);
          await harness.wait(harness.windowMs - 15);
          while ((await reference.burst(1, limit)) === 0) await harness.wait(0.25);
        }
      });
    }

    for (const limit of [600, 6000]) {
      it(`${2 * limit} concurrent requests over all replicas: allows exactly ${limit}, and no more in this window`, async () => {
        const name = newCaller();
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

    it('a rejected request is allowed after resetMs', async () => {
      const name = newCaller();
      const [limiter] = harness.replicas as [Limiter];
      await limiter.take(name, 1);
      for (let i = 0; i < 3; i++) {
        const refused = await limiter.take(name, 1);
        assert.isFalse(refused.allowed);
        await harness.wait(refused.resetMs);
        assert.isTrue((await limiter.take(name, 1)).allowed);
      }
    });

    it('after a limit was lowered, resetMs is the time until enough requests have left the window', async () => {
      const name = newCaller();
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

    it('does not count rejected requests', async () => {
      const reference = new Reference(harness, newCaller());
      for (let i = 0; i < 8; i++) {
        await reference.burst(4, 2);
        await harness.wait(harness.windowMs / 4);
      }
    });

    it('a raised or lowered limit applies immediately', async () => {
      const name = newCaller();
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
    /** The limiter reports its rejections on a timer, which can be late on a busy machine. */
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
      it(`quotas ${JSON.stringify(quotas)}: allows 50 of 120 requests over all replicas, and counts each request once`, async () => {
        const name = newCaller();
        const limit = 100_000;
        for (let sent = 0; sent < 120; sent += 8) {
          await Promise.all(
            Array.from({ length: 8 }, (_, i) =>
              harness.replicas[(sent + i) % harness.replicas.length]!.take(name, limit, quotas),
            ),
          );
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

    it('a request that the window rejects uses no quota, and a request that a quota rejects uses no permit', async () => {
      const name = newCaller();
      const [limiter] = harness.replicas as [Limiter];
      const isAllowed = async (quotas: Quotas): Promise<boolean> => (await limiter.take(name, 3, quotas)).allowed;
      const two = { perDay: 2, perMonth: null };
      assert.deepEqual(
        [await isAllowed(two), await isAllowed(two), await isAllowed(two), await isAllowed(two)],
        [true, true, false, false],
      );
      const four = { perDay: 4, perMonth: null };
      assert.deepEqual([await isAllowed(four), await isAllowed(four)], [true, false], 'the limit of 3 a window');
      await harness.wait(harness.windowMs + harness.lateMs(3));
      assert.deepEqual([await isAllowed(four), await isAllowed(four)], [true, false], 'the quota of 4 a day');
      await isCounted(name, { requests: 4, refused: 4 });
    });

    it('counts no usage of a caller without quotas', async () => {
      const name = newCaller();
      const decision = await harness.replicas[0]!.take(name, 5);
      assert.notProperty(decision, 'quotas');
      assert.deepEqual(await usedBy(name), { requests: 0, refused: 0 });
    });

    it('each caller has its own window', async () => {
      const limiter = harness.replicas[0] as Limiter;
      const names = Array.from({ length: 20 }, newCaller);
      const decisions = await Promise.all(names.map((name) => limiter.take(name, 1)));
      assert.isTrue(decisions.every(({ allowed }) => allowed));
    });
  });
};
