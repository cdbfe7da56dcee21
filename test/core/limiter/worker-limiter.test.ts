/** The limiter of several workers: batches, exactness and late answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { LimiterUnavailable } from '../../../core/errors.js';
import { MemoryLimiter } from '../../../core/limiter/memory-limiter.js';
import { type Grant, grantAll, WorkerLimiter } from '../../../core/limiter/worker-limiter.js';

describe('WorkerLimiter', () => {
  it('lets exactly the limit of each subject pass over all workers, with few questions', async () => {
    const shared = new MemoryLimiter();
    let questions = 0;
    const workers = [1, 2, 3].map(
      () =>
        new WorkerLimiter(async (asks) => {
          questions++;
          await delay(1);
          return grantAll(shared, asks);
        }, shared.usage.bind(shared)),
    );
    const decisions = await Promise.all(
      Array.from({ length: 900 }, async (_, i) => {
        const subject = `key:${i % 2}`;
        return { subject, ...(await workers[i % 3]!.take(subject, 100)) };
      }),
    );
    for (const subject of ['key:0', 'key:1']) {
      const passed = decisions.filter((decision) => decision.subject === subject && decision.allowed);
      expect(passed).to.have.length(100);
    }
    expect(questions).to.be.at.most(6);
    const refused = decisions.find(({ allowed }) => !allowed)!;
    expect(refused.remaining).to.equal(0);
    expect(refused.resetMs).to.be.within(1, 60_000);
  });

  it('rejects while an answer is late, and decides again when it has come', async () => {
    const shared = new MemoryLimiter();
    const questions: (() => void)[] = [];
    const limiter = new WorkerLimiter(
      (asks) => new Promise<readonly Grant[]>((resolve) => questions.push(() => resolve(grantAll(shared, asks)))),
      shared.usage.bind(shared),
      20,
    );
    const refusals = await Promise.allSettled([limiter.take('key:a', 10), limiter.take('key:b', 10)]);
    for (const refusal of refusals) {
      expect(refusal).to.have.property('status', 'rejected');
      expect((refusal as PromiseRejectedResult).reason).to.be.instanceOf(LimiterUnavailable);
    }
    expect(limiter.health().ok).to.equal(false);
    expect(await limiter.take('key:c', 10).catch((error: unknown) => error)).to.be.instanceOf(LimiterUnavailable);
    questions.shift()!();
    await delay(1);
    expect(limiter.health().ok).to.equal(true);
    const decision = limiter.take('key:a', 10);
    questions.shift()!();
    expect(await decision).to.include({ allowed: true, remaining: 8 });
  });
});
