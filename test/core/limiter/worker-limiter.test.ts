import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { LimiterUnavailable } from '../../../core/errors.js';
import { MemoryLimiter } from '../../../core/limiter/memory-limiter.js';
import { grantAll, type WorkerGrant, WorkerLimiter } from '../../../core/limiter/worker-limiter.js';

describe('WorkerLimiter', () => {
  it('allows each caller exactly its limit over all workers, with few batches', async () => {
    const shared = new MemoryLimiter();
    let batches = 0;
    const workers = [1, 2, 3].map(
      () =>
        new WorkerLimiter(async (asks) => {
          batches++;
          await delay(1);
          return grantAll(shared, asks);
        }, shared.usage.bind(shared)),
    );
    const decisions = await Promise.all(
      Array.from({ length: 900 }, async (_, i) => {
        const caller = `key:${i % 2}`;
        return { caller, ...(await workers[i % 3]!.take(caller, 100)) };
      }),
    );
    for (const caller of ['key:0', 'key:1']) {
      const allowed = decisions.filter((decision) => decision.caller === caller && decision.allowed);
      expect(allowed).to.have.length(100);
    }
    expect(batches).to.be.at.most(6);
    const rejected = decisions.find(({ allowed }) => !allowed)!;
    expect(rejected.remaining).to.equal(0);
    expect(rejected.resetMs).to.be.within(1, 60_000);
  });

  it('throws LimiterUnavailable while a reply is late, and decides again once it has arrived', async () => {
    const shared = new MemoryLimiter();
    const replies: (() => void)[] = [];
    const limiter = new WorkerLimiter(
      (asks) => new Promise<readonly WorkerGrant[]>((resolve) => replies.push(() => resolve(grantAll(shared, asks)))),
      shared.usage.bind(shared),
      20,
    );
    const results = await Promise.allSettled([limiter.take('key:a', 10), limiter.take('key:b', 10)]);
    for (const result of results) {
      expect(result).to.have.property('status', 'rejected');
      expect((result as PromiseRejectedResult).reason).to.be.instanceOf(LimiterUnavailable);
    }
    expect(limiter.health().ok).to.equal(false);
    expect(await limiter.take('key:c', 10).catch((error: unknown) => error)).to.be.instanceOf(LimiterUnavailable);
    replies.shift()!();
    await delay(1);
    expect(limiter.health().ok).to.equal(true);
    const decision = limiter.take('key:a', 10);
    replies.shift()!();
    expect(await decision).to.include({ allowed: true, remaining: 8 });
  });
});
