import { expect } from 'chai';
import {
  quantile,
  withScaledErrorInterval,
} from '../../../../../plugins/metro/forecast/models/scaled-error-interval.js';

describe('quantile(sorted, probability)', () => {
  it('interpolates between the two nearest values', () => {
    const sorted = Float64Array.from([1, 2, 4, 8, 16]);
    expect(quantile(sorted, 0.8)).to.be.closeTo(8 + 0.2 * 8, 1e-12);
    expect(quantile(sorted, 0.5)).to.equal(4);
    expect(quantile(sorted, 1)).to.equal(16);
    expect(quantile(Float64Array.of(3), 0.8)).to.equal(3);
    expect(quantile(new Float64Array(0), 0.8)).to.be.NaN;
  });
});

describe('withScaledErrorInterval(markets, 4, next)', () => {
  /** Two markets have a constant index and constant errors, in percentage points. */
  const run = (quarters: number, errors: readonly number[], levels = (_quarter: number) => [100, 100]) => {
    const forecaster = withScaledErrorInterval(errors.length, 4, () => Float64Array.from(errors));
    return Array.from({ length: quarters }, (_, quarter) =>
      forecaster.next(Float64Array.from(levels(quarter)), { quarter, macro: new Map() }),
    );
  };

  it('has bounds from 8 quarters after the warm-up of 60 quarters, and none before', () => {
    const bounded = run(80, [1, 3]).map(({ lower }) => !Number.isNaN(lower[0]));
    expect(bounded.indexOf(true)).to.equal(68);
    expect(bounded.slice(68)).to.not.include(false);
  });

  it('matches the formula for errors of 1 and 3 points', () => {
    // At quarter 68, the outcomes of origins 60 to 64 are known. Each market has 5 errors, and the pooled mean is 2.
    // An error ratio needs an expected error at its origin. Only origin 64 has one, from the error of origin 60.
    const { point, lower, upper } = run(69, [1, 3])[68] as ReturnType<typeof run>[number];
    const sigma = (own: number, n: number) => ((n * own + 20 * 2) / (n + 20)) * Math.sqrt(2);
    const [small, large] = [1 / sigma(1, 1), 3 / sigma(3, 1)];
    const q = small + 0.8 * (large - small);
    for (const [market, own] of [1, 3].entries()) {
      expect(point[market]).to.equal(own);
      expect(lower[market]).to.be.closeTo(own - q * sigma(own, 5), 1e-12);
      expect(upper[market]).to.be.closeTo(own + q * sigma(own, 5), 1e-12);
    }
  });

  it('ignores a forecast whose outcome or own quarter was not published', () => {
    // The second market has no values in quarters 63 and 67. Origin 63 therefore lacks both its value and its outcome.
    const gaps = (quarter: number) => [100, quarter === 63 || quarter === 67 ? Number.NaN : 100];
    const { upper, point } = run(69, [1, 3], gaps)[68] as ReturnType<typeof run>[number];
    // The second market has 4 errors of 3 from origins 60, 61, 62 and 64. The first market has 5 errors of 1.
    const pooled = (5 * 1 + 4 * 3) / 9;
    const sigma = ((4 * 3 + 20 * pooled) / 24) * Math.sqrt(pooled);
    const then = (own: number) => ((own + 20 * 2) / 21) * Math.sqrt(2);
    const [small, large] = [1 / then(1), 3 / then(3)];
    expect((upper[1] as number) - (point[1] as number)).to.be.closeTo((small + 0.8 * (large - small)) * sigma, 1e-12);
  });

  it('widens with the errors of the last 8 origins', () => {
    const errors = [1, 1];
    const forecaster = withScaledErrorInterval(2, 4, () => Float64Array.from(errors));
    const widths: number[] = [];
    for (let quarter = 0; quarter < 120; quarter++) {
      if (quarter === 100) errors.fill(5);
      const { lower, upper } = forecaster.next(Float64Array.from([100, 100]), { quarter, macro: new Map() });
      widths.push((upper[0] as number) - (lower[0] as number));
    }
    expect(widths[103]).to.be.closeTo(widths[90] as number, 1e-9);
    expect(widths[112]).to.be.greaterThan(2 * (widths[90] as number));
  });
});
