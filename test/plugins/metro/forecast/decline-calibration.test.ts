import { expect } from 'chai';
import fc from 'fast-check';
import { createDeclineCalibration } from '../../../../plugins/metro/forecast/decline-calibration.js';

const outcome = (predicted: number, declined: boolean) => ({ predicted, declined });

describe('createDeclineCalibration()', () => {
  it('returns predictions unchanged before it has learned', () => {
    expect(createDeclineCalibration().calibrated(0.37)).to.equal(0.37);
  });

  it('pools adjacent violators, and interpolates linearly between pools', () => {
    const calibration = createDeclineCalibration();
    calibration.learn([outcome(0.6, true), outcome(0.1, false), outcome(0.5, false), outcome(0.3, true)]);
    // 0.1 pools with 0; 0.3 and 0.5 violate the order, so they have 1/2 at 0.4; 0.6 has 1.
    expect([0, 0.1, 0.4, 0.6, 1].map((p) => calibration.calibrated(p))).to.deep.equal([0, 0, 0.5, 1, 1]);
    expect(calibration.calibrated(0.25)).to.be.closeTo(0.25, 1e-12);
    expect(calibration.calibrated(0.5)).to.be.closeTo(0.75, 1e-12);
  });

  it('gives equal predictions the same share in any order, and can learn more later', () => {
    const calibration = createDeclineCalibration();
    calibration.learn([outcome(0.5, true), outcome(0.5, false), outcome(0.5, false)]);
    expect(calibration.calibrated(0.5)).to.be.closeTo(1 / 3, 1e-12);
    calibration.learn([outcome(0.5, true)]);
    expect(calibration.calibrated(0.5)).to.equal(0.5);
  });

  it('never decreases with the prediction, and stays from 0 to 1', () => {
    const outcomes = fc.array(
      fc.record({ predicted: fc.double({ min: 0, max: 1, noNaN: true }), declined: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(outcomes, (seen) => {
        const calibration = createDeclineCalibration();
        calibration.learn(seen);
        const grid = Array.from({ length: 101 }, (_, i) => calibration.calibrated(i / 100));
        for (const [i, share] of grid.entries()) {
          expect(share).to.be.within(0, 1);
          expect(share).to.be.at.least((grid[i - 1] ?? 0) - 1e-12);
        }
      }),
    );
  });
});
