import { expect } from 'chai';
import fc from 'fast-check';
import { OperatorError } from '../../../core/errors.js';
import { RISK_GRADES } from '../../../metro/collections.js';
import {
  checkRules,
  declineProbability,
  defaultRules,
  type Outlook,
  riskGradeOf,
  signalOf,
} from '../../../metro/forecast/rules.js';

const outlook = (point: number, lower_80: number | null = null, upper_80: number | null = null): Outlook => ({
  point,
  lower_80,
  upper_80,
});
const percent = fc.double({ min: -60, max: 60, noNaN: true });
const anyOutlook = fc
  .tuple(percent, fc.double({ min: 0, max: 50, noNaN: true }), fc.double({ min: 0, max: 50, noNaN: true }))
  .map(([point, below, above]) => outlook(point, point - below, point + above));

describe('signalOf(outlook, rules)', () => {
  const cases: readonly [Outlook, string][] = [
    [outlook(4, 0.1, 8), 'expand'],
    [outlook(3.9999, 0.1, 8), 'hold'],
    [outlook(4, 0, 8), 'hold'],
    [outlook(9), 'hold'],
    [outlook(0, -4, 4), 'hold'],
    [outlook(-0.0001, -4, 4), 'contract'],
  ];
  for (const [given, signal] of cases) {
    it(`is ${signal} for ${given.point} from ${given.lower_80}`, () => {
      expect(signalOf(given, defaultRules)).to.equal(signal);
    });
  }

  it('takes its thresholds from the rules', () => {
    const rules = { ...defaultRules, expandPoint: 2, expandLower: -5, contractPoint: 1 };
    expect(signalOf(outlook(2, -4.9, 5), rules)).to.equal('expand');
    expect(signalOf(outlook(0.9, -4.9, 5), rules)).to.equal('contract');
  });

  it('never turns from expand to less as the forecast rises as a whole', () => {
    const order = ['contract', 'hold', 'expand'];
    fc.assert(
      fc.property(anyOutlook, fc.double({ min: 0, max: 30, noNaN: true }), (low, by) => {
        const high = outlook(low.point + by, (low.lower_80 as number) + by, (low.upper_80 as number) + by);
        expect(order.indexOf(signalOf(high, defaultRules))).to.be.at.least(order.indexOf(signalOf(low, defaultRules)));
      }),
    );
  });
});

describe('declineProbability(outlook)', () => {
  it('is Phi(-point / sigma), sigma = (upper - lower) / 2.563', () => {
    expect(declineProbability(outlook(1, 1 - 2.563 / 2, 1 + 2.563 / 2))).to.be.closeTo(0.15865525393145707, 1e-14);
  });

  it('is certain without spread, even for no change without spread, and unknown without bounds', () => {
    expect(declineProbability(outlook(2, 2, 2))).to.equal(0);
    expect(declineProbability(outlook(-2, -2, -2))).to.equal(1);
    expect(declineProbability(outlook(0, 0, 0))).to.equal(0.5);
    expect(declineProbability(outlook(2))).to.equal(null);
  });
});

describe('riskGradeOf(outlook, rules)', () => {
  // With sigma = 1, the limits are at points of 1.2816, 0.8416, 0.3853 and 0.
  const withSigma1 = (point: number) => outlook(point, point - 2.563 / 2, point + 2.563 / 2);
  const cases: readonly [number, string][] = [
    [1.29, 'A'],
    [1.27, 'B'],
    [0.85, 'B'],
    [0.83, 'C'],
    [0.39, 'C'],
    [0.38, 'D'],
    [0.001, 'D'],
    [0, 'F'],
    [-5, 'F'],
  ];
  for (const [point, grade] of cases) {
    it(`is ${grade} for ${point} standard deviations`, () => {
      expect(riskGradeOf(withSigma1(point), defaultRules)).to.equal(grade);
    });
  }

  it('is null without bounds', () => {
    expect(riskGradeOf(outlook(3), defaultRules)).to.equal(null);
  });

  it('never improves as the probability of a decline rises', () => {
    fc.assert(
      fc.property(anyOutlook, anyOutlook, (a, b) => {
        const [safe, risky] = [a, b].sort(
          (x, y) => (declineProbability(x) as number) - (declineProbability(y) as number),
        );
        const rank = (of: Outlook) => RISK_GRADES.indexOf(riskGradeOf(of, defaultRules) as 'A');
        expect(rank(safe as Outlook)).to.be.at.most(rank(risky as Outlook));
      }),
    );
  });
});

describe('checkRules(rules)', () => {
  it('lets the default rules pass', () => {
    expect(checkRules(defaultRules)).to.equal(defaultRules);
  });

  it('names every contradiction at once', () => {
    expect(() => checkRules({ expandPoint: 1, expandLower: 0, contractPoint: 2, grades: [0, 0.4, 0.3, 1.5] }))
      .to.throw(OperatorError)
      .with.property('faults')
      .deep.equals([
        'expand from 1% on and contract below 2% overlap: lower the second',
        'grade A: 0 is not a probability above 0',
        'grade C: 0.3 must be above 0.4, the limit of the grade before it',
        'grade D: 1.5 is not a probability above 0',
      ]);
  });
});
