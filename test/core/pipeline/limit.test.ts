/** Tests the `RateLimit` headers. */
import { expect } from 'chai';
import { limitLines } from '../../../core/pipeline/limit.js';

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
