import { expect } from 'chai';
import fc from 'fast-check';
import { OperatorError } from '../../../../core/errors.js';
import { RISK_GRADES } from '../../../../plugins/metro/collections.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import {
  checkRules,
  declineProbability,
  type Outlook,
  riskGradeOf,
  signalOf,
} from '../../../../plugins/metro/forecast/rules.js';

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
    [outlook(-1, -5, 3), 'hold'],
    [outlook(-1.0001, -5, 3), 'contract'],
  ];
  for (const [given, signal] of cases) {
    it(`is ${signal} for ${given.point} with lower bound ${given.lower_80}`, () => {
      expect(signalOf(given, defaultRules)).to.equal(signal);
    });
  }

  it('takes its thresholds from the rules', () => {
    const rules = { ...defaultRules, expandPoint: 2, expandLower: -5, contractPoint: 1 };
    expect(signalOf(outlook(2, -4.9, 5), rules)).to.equal('expand');
    expect(signalOf(outlook(0.9, -4.9, 5), rules)).to.equal('contract');
  });

  const changes: readonly [Outlook, 'expand' | 'hold' | 'contract', string][] = [
    [outlook(4.9, 0.9, 9), 'hold', 'hold'],
    [outlook(5, 1.1, 9), 'hold', 'expand'],
    [outlook(3, 0.1, 9), 'expand', 'expand'],
    [outlook(4.5, -0.9, 9), 'expand', 'expand'],
    [outlook(4.5, -1, 9), 'expand', 'hold'],
    [outlook(2.9, 0.1, 9), 'expand', 'hold'],
    [outlook(-2, -6, 2), 'hold', 'hold'],
    [outlook(-2.1, -6, 2), 'hold', 'contract'],
    [outlook(-0.1, -6, 5), 'contract', 'contract'],
    [outlook(0, -6, 5), 'contract', 'hold'],
    [outlook(6, 2, 9), 'contract', 'expand'],
    [outlook(-5, -9, -1), 'expand', 'contract'],
  ];
  for (const [given, previous, signal] of changes) {
    it(`is ${signal} after ${previous} for ${given.point} with lower bound ${given.lower_80}, with a margin of 1`, () => {
      expect(signalOf(given, defaultRules, previous)).to.equal(signal);
    });
  }

  it('ignores the previous signal without a margin', () => {
    expect(signalOf(outlook(3.9, 0.1, 9), { ...defaultRules, margin: 0 }, 'expand')).to.equal('hold');
  });

  it('never becomes less optimistic when all bounds of the forecast rise', () => {
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

  it('is 0 or 1 without spread, even without a change, and null without bounds', () => {
    expect(declineProbability(outlook(2, 2, 2))).to.equal(0);
    expect(declineProbability(outlook(-2, -2, -2))).to.equal(1);
    expect(declineProbability(outlook(0, 0, 0))).to.equal(0.5);
    expect(declineProbability(outlook(2))).to.equal(null);
  });
});

describe('riskGradeOf(probability, rules)', () => {
  const cases: readonly [number, string][] = [
    [0, 'A'],
    [0.0999, 'A'],
    [0.1, 'B'],
    [0.1999, 'B'],
    [0.2, 'C'],
    [0.3499, 'C'],
    [0.35, 'D'],
    [0.4999, 'D'],
    [0.5, 'F'],
    [1, 'F'],
  ];
  for (const [probability, grade] of cases) {
    it(`is ${grade} for a probability of ${probability}`, () => {
      expect(riskGradeOf(probability, defaultRules)).to.equal(grade);
    });
  }

  it('is null without a probability', () => {
    expect(riskGradeOf(null, defaultRules)).to.equal(null);
  });

  it('never improves when the probability of a decline rises', () => {
    const probability = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(probability, probability, (a, b) => {
        const rank = (of: number) => RISK_GRADES.indexOf(riskGradeOf(of, defaultRules) as 'A');
        expect(rank(Math.min(a, b))).to.be.at.most(rank(Math.max(a, b)));
      }),
    );
  });
});

describe('checkRules(rules)', () => {
  it('accepts the default rules', () => {
    expect(checkRules(defaultRules)).to.equal(defaultRules);
  });

  it('reports every contradiction together', () => {
    expect(() =>
      checkRules({ expandPoint: 1, expandLower: 0, contractPoint: 2, margin: -1, grades: [0, 0.4, 0.3, 1.5] }),
    )
      .to.throw(OperatorError)
      .with.property('errors')
      .deep.equals([
        'expand from 1% and contract below 2% overlap: lower the second value',
        'margin -1: must not be below 0',
        'grade A: 0 is not a probability above 0',
        'grade C: 0.3 must be above 0.4, the limit of the grade before it',
        'grade D: 1.5 is not a probability above 0',
      ]);
  });
});
