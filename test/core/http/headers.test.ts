import { expect } from 'chai';
import { limitHead } from '../../../core/http/headers.js';

describe('limitHead', () => {
  for (const remaining of [0, 9, 999, 1000, 1001, 1099, 9999, 10_000, 1_000_000, 1_234_567, 999_999_999]) {
    it(`says that ${remaining} are left`, () => {
      const head = limitHead({ allowed: true, limit: 1_000_000_000, remaining, resetMs: 59_001 });
      expect(head).to.equal(
        `RateLimit-Policy: "default";q=1000000000;w=60\r\nRateLimit: "default";r=${remaining};t=60\r\n`,
      );
    });
  }
});
