import { expect } from 'chai';
import { digits, threeDecimals } from '../../../core/response/headers.js';

describe('digits()', () => {
  for (const count of [0, 9, 999, 1000, 1001, 1099, 9999, 10_000, 1_000_000, 1_234_567, 999_999_999]) {
    it(`writes ${count}`, () => {
      expect(digits(count)).to.equal(String(count));
    });
  }
});

describe('threeDecimals()', () => {
  for (const value of [0, 0.0004, 0.0006, 0.05, 0.9994, 0.9996, 1, 12.3456, 999.9999, 1000, 123_456.789]) {
    it(`writes ${value}`, () => {
      expect(threeDecimals(value)).to.equal(value.toFixed(3));
    });
  }
});
