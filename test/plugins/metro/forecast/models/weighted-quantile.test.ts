import { expect } from 'chai';
import fc from 'fast-check';
import { weightedQuantile } from '../../../../../plugins/metro/forecast/models/weighted-quantile.js';

const quantile = (pairs: readonly (readonly [number, number])[], share: number) =>
  weightedQuantile(
    Float64Array.from(pairs, ([value]) => value),
    Float64Array.from(pairs, ([, weight]) => weight),
    share,
  );

describe('weightedQuantile(values, weights, share)', () => {
  it('is the smallest value with at least this share of the weight at or below it', () => {
    const pairs = [
      [5, 1],
      [1, 2],
      [3, 1],
    ] as const;
    expect([0.25, 0.5, 0.51, 0.75, 0.76, 1].map((share) => quantile(pairs, share))).to.deep.equal([1, 1, 3, 3, 5, 5]);
    expect(quantile([], 0.8)).to.be.NaN;
  });

  it('equals the result of sorting, even with many equal values', () => {
    // Sums of integer weights are exact in any order.
    const pair = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1, maxLength: 80 }), fc.integer({ min: 1, max: 16 }), (pairs, part) => {
        const wanted = (part / 16) * pairs.reduce((sum, [, weight]) => sum + weight, 0);
        let below = 0;
        const expected = pairs
          .toSorted(([a], [b]) => a - b)
          .find(([, weight]) => {
            below += weight;
            return below >= wanted;
          });
        expect(quantile(pairs, part / 16)).to.equal(expected?.[0]);
      }),
    );
  });
});
