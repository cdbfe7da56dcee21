import { expect } from 'chai';
import type { Limiter } from '../../../core/contracts/limiter.js';
import { checkedLimiter } from '../../../core/limiter/check-decision.js';
import { keptLogger } from '../../support/kept-logger.js';
import { startTestApp } from '../../support/test-app.js';

const valid = { allowed: true, limit: 60, remaining: 59, resetMs: 1000 };
const day = { name: 'day', quota: 10, remaining: 9, resetMs: 1000, lengthMs: 86_400_000 };

class Broken {
  constructor(readonly decision: unknown) {}
  take(): never {
    return this.decision as never;
  }
  health = () => ({ ok: true, message: null });
  close = async () => undefined;
}

const failureOf = (decision: unknown): string => {
  try {
    checkedLimiter(new Broken(decision) as Limiter).take('ip:127.0.0.1', 60);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('checkedLimiter', () => {
  for (const decision of [valid, { ...valid, quotas: [] }, { ...valid, quotas: [day, { ...day, name: 'month' }] }]) {
    it(`passes ${JSON.stringify(decision)}`, () => {
      expect(failureOf(decision)).to.equal('');
    });
  }

  const wrong: readonly (readonly [unknown, string])[] = [
    [undefined, 'it must be an object'],
    [null, 'it must be an object'],
    [true, 'it must be an object'],
    [{ ...valid, allowed: 1 }, '"allowed" must be true or false'],
    [{ ...valid, limit: -1 }, '"limit" must be a whole number of at least 0'],
    [{ ...valid, limit: 1e21 }, '"limit" must be a whole number of at least 0'],
    [{ ...valid, remaining: 1.5 }, '"remaining" must be a whole number of at least 0'],
    [{ ...valid, remaining: '5' }, '"remaining" must be a whole number of at least 0'],
    [{ ...valid, resetMs: Number.NaN }, '"resetMs" must be a number of milliseconds, at least 0'],
    [{ ...valid, resetMs: Infinity }, '"resetMs" must be a number of milliseconds, at least 0'],
    [{ ...valid, quotas: null }, '"quotas" must be a list, if present'],
    [{ ...valid, quotas: [day, 7] }, 'quotas[1] must be an object'],
    [{ ...valid, quotas: [{ ...day, name: 'year' }] }, '"quotas[0].name" must be "day" or "month"'],
    [
      { ...valid, quotas: [{ ...day, lengthMs: undefined }] },
      '"quotas[0].lengthMs" must be a number of milliseconds, at least 0',
    ],
  ];
  for (const [index, [decision, error]] of wrong.entries()) {
    it(`rejects a wrong decision (${index + 1}): ${error}`, () => {
      expect(failureOf(decision)).to.equal(`take() of the limiter Broken returned an invalid decision: ${error}`);
    });
  }

  it('rejects a wrong decision that the limiter returns as a promise', async () => {
    const limiter = checkedLimiter(new Broken(Promise.resolve({ allowed: true })) as Limiter);
    const failure = await Promise.resolve(limiter.take('ip:127.0.0.1', 60)).catch((error: unknown) => error);
    expect(String(failure)).to.include('take() of the limiter Broken returned an invalid decision');
  });

  it('calls the other methods of the limiter, if it has them', async () => {
    const calls: unknown[] = [];
    class Complete extends Broken {
      async usage(caller: string) {
        calls.push([this.decision, caller]);
        return [];
      }
      async check() {
        calls.push([this.decision, 'check']);
      }
    }
    const limiter = checkedLimiter(new Complete(valid) as Limiter);
    await limiter.usage?.('key:a');
    await limiter.check?.();
    await limiter.close();
    expect(calls).to.deep.equal([
      [valid, 'key:a'],
      [valid, 'check'],
    ]);
    expect(limiter.health().ok).to.equal(true);
    expect(checkedLimiter(new Broken(valid) as Limiter)).to.not.have.any.keys('usage', 'check');
  });
});

describe('a service with a custom limiter from its embedding program', () => {
  for (const { decision, title } of [
    { decision: { allowed: true }, title: 'a decision' },
    { decision: Promise.resolve({ allowed: true }), title: 'a promise of a decision' },
  ]) {
    it(`responds with 500 and no RateLimit header if ${title} lacks members, and logs their names`, async () => {
      const failures: string[] = [];
      const logger = keptLogger();
      logger.error = (details: object) => failures.push(String((details as { err?: unknown }).err));
      const limiter = new Broken(decision) as Limiter;
      const service = await startTestApp({ overrides: { limiter, logger } });
      try {
        const { status, json, headers } = await service.get('/markets');
        expect([status, json.code]).to.deep.equal([500, 'internal_error']);
        expect(headers).to.not.have.any.keys('ratelimit', 'ratelimit-policy');
        expect(failures).to.deep.equal([
          'Error: take() of the limiter Broken returned an invalid decision: ' +
            '"limit" must be a whole number of at least 0; "remaining" must be a whole number of at least 0; ' +
            '"resetMs" must be a number of milliseconds, at least 0',
        ]);
      } finally {
        await service.close();
      }
    });
  }
});
