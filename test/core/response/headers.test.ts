import { expect } from 'chai';
import { digits, threeDecimals } from '../../../core/response/headers.js';

describe('numbers as text', () => {
  for (const value of [0, 7, 999.5, 1000, 1000.5, -1, -1000, -1000.5, 2 ** 53, Number.NaN, Infinity, -Infinity]) {
    it(`digits writes ${value} as String does`, () => {
      expect(digits(value)).to.equal(String(value));
    });

    it(`threeDecimals writes ${value} as toFixed does`, () => {
      expect(threeDecimals(value)).to.equal(value.toFixed(3));
    });
  }
});
