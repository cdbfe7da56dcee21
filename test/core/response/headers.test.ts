import { expect } from 'chai';
import { digits, threeDecimals } from '../../../core/response/headers.js';

const WHOLE = [0, 7, 9, 999, 1000, 1001, 1099, 9999, 10_000, 1_000_000, 1_234_567, 999_999_999, 2 ** 53];
const FRACTIONS = [0.0004, 0.0006, 0.05, 0.9994, 0.9996, 1, 12.3456, 999.5, 999.9999, 1000.5, 123_456.789];
const UNUSUAL = [-1, -1000, -1000.5, Number.NaN, Infinity, -Infinity];

describe('numbers as text', () => {
  for (const value of [...WHOLE, ...FRACTIONS, ...UNUSUAL]) {
    it(`digits writes ${value} as String does`, () => {
      expect(digits(value)).to.equal(String(value));
    });

    it(`threeDecimals writes ${value} as toFixed does`, () => {
      expect(threeDecimals(value)).to.equal(value.toFixed(3));
    });
  }
});
