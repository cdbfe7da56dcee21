import { expect } from 'chai';
import { limitLines } from '../../../core/pipeline/limit.js';
import { keptLogger } from '../../support/kept-logger.js';
import { startTestApp } from '../../support/test-app.js';

describe('limitLines', () => {
  for (const remaining of [0, 9, 999, 1000, 1001, 1099, 9999, 10_000, 1_000_000, 1_234_567, 999_999_999]) {
    it(`says that ${remaining} permits are left`, () => {
      const head = limitLines({ allowed: true, limit: 1_000_000_000, remaining, resetMs: 59_001 });
      expect(head).to.equal(
        `RateLimit-Policy: "default";q=1000000000;w=60\r\nRateLimit: "default";r=${remaining};t=60\r\n`,
      );
    });
  }
});

describe('the log line of a request', () => {
  const limitedBy = async (limits: object): Promise<unknown[]> => {
    const logged: { readonly limitedBy?: string }[] = [];
    const logger = Object.assign(keptLogger(), {
      info: (fields: object | string, message?: string) => {
        if (message === 'request') logged.push(fields as object);
      },
    });
    const auth = { tiers: { small: limits }, keys: { use: 'memory' } };
    const service = await startTestApp({ config: { auth }, overrides: { logger } });
    try {
      const { key } = await service.newKey({ tier: 'small', limit_per_minute: null });
      const headers = { Authorization: `Bearer ${key}` };
      const statuses = [await service.get('/markets', { headers }), await service.get('/markets', { headers })];
      expect(statuses.map(({ status }) => status)).to.deep.equal([200, 429]);
    } finally {
      await service.close();
    }
    return logged.map((line) => line.limitedBy);
  };

  it('names the window if the limit is used up', async () => {
    expect(await limitedBy({ requestsPerMinute: 1 })).to.deep.equal([undefined, 'window']);
  });

  it('names the quota if a quota is used up', async () => {
    expect(await limitedBy({ requestsPerMinute: 100, requestsPerDay: 1 })).to.deep.equal([undefined, 'day']);
  });
});
