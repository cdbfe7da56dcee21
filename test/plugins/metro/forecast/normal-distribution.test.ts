import { expect } from 'chai';
import fc from 'fast-check';
import { normalCdf } from '../../../../plugins/metro/forecast/normal-distribution.js';

describe('normalCdf(x)', () => {
  // Source: Abramowitz and Stegun, table 26.1, to 15 decimal places.
  const table: readonly [number, number][] = [
    [0, 0.5],
    [0.5, 0.69146246127401],
    [1, 0.84134474606854],
    [2, 0.97724986805182],
    [3, 0.99865010196837],
    [-1.2815515655446, 0.1],
    [-4, 0.00003167124183312],
  ];
  for (const [x, probability] of table) {
    it(`is ${probability} at ${x}`, () => {
      expect(normalCdf(x)).to.be.closeTo(probability, 1e-13);
    });
  }

  it('stays between 0 and 1, increases, and is symmetric', () => {
    const number = fc.double({ noNaN: true, min: -40, max: 40 });
    fc.assert(
      fc.property(number, number, (a, b) => {
        expect(normalCdf(a)).to.be.within(0, 1);
        expect(normalCdf(Math.max(a, b))).to.be.at.least(normalCdf(Math.min(a, b)) - 1e-15);
        expect(normalCdf(a) + normalCdf(-a)).to.be.closeTo(1, 1e-14);
      }),
    );
  });

  it('is 0 or 1 at infinity', () => {
    expect(normalCdf(Number.NEGATIVE_INFINITY)).to.equal(0);
    expect(normalCdf(Number.POSITIVE_INFINITY)).to.equal(1);
  });
});
