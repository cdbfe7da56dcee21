import { expect } from 'chai';
import fc from 'fast-check';
import { createLeastSquares } from '../../../../../plugins/metro/forecast/models/least-squares.js';

const coefficients = (rows: readonly (readonly number[])[], outcomes: readonly number[]) => {
  const squares = createLeastSquares((rows[0] as number[]).length);
  rows.forEach((row, i) => {
    squares.add(Float64Array.from(row), outcomes[i] as number);
  });
  return squares.solve();
};

describe('createLeastSquares(width)', () => {
  it('fits the least-squares line through points that are not on a line', () => {
    // Calculated by hand: the slope is 1.5, and the intercept is 2/3.
    const b = coefficients(
      [
        [1, 0],
        [1, 1],
        [1, 2],
      ],
      [1, 1.5, 4],
    ) as Float64Array;
    expect(b[0]).to.be.closeTo(2 / 3, 1e-12);
    expect(b[1]).to.be.closeTo(1.5, 1e-12);
  });

  it('has no coefficients without observations', () => {
    expect(createLeastSquares(2).solve()).to.equal(undefined);
  });

  it('gives 0 to a regressor that is collinear with earlier ones, and fits equally well with the rest', () => {
    const b = coefficients(
      [
        [1, 1, 2],
        [1, 2, 4],
        [1, 3, 6],
      ],
      [3, 5, 7],
    ) as Float64Array;
    expect(b[0]).to.be.closeTo(1, 1e-9);
    expect(b[1]).to.be.closeTo(2, 1e-9);
    expect(b[2]).to.equal(0);
  });

  it('recovers any coefficients from noiseless outcomes', () => {
    const number = fc.double({ min: -10, max: 10, noNaN: true });
    const design = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [1, i, (i * 5) % 7, (i * 3) % 8]);
    fc.assert(
      fc.property(fc.tuple(number, number, number, number), (truth) => {
        const outcomes = design.map((row) => row.reduce((sum, x, i) => sum + x * (truth[i] as number), 0));
        const b = coefficients(design, outcomes) as Float64Array;
        truth.forEach((value, i) => {
          expect(b[i]).to.be.closeTo(value, 1e-8);
        });
      }),
    );
  });
});
