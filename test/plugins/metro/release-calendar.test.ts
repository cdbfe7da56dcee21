import { expect } from 'chai';
import { cadence } from '../../../core/validation/schemas.js';
import { parseQuarter } from '../../../plugins/metro/periods.js';
import { basisOf, freshness, indexReleaseOf, releaseOf } from '../../../plugins/metro/release-calendar.js';

const quarter = (text: string) => parseQuarter(text) as number;

describe('plugins/metro/release-calendar', () => {
  for (const [name, day] of [
    ['2019Q4', '2020-02-25'],
    ['2021Q4', '2022-02-22'],
    ['2024Q3', '2024-11-26'],
    ['2024Q4', '2025-02-25'],
    ['2025Q1', '2025-05-27'],
    ['2025Q4', '2026-02-24'],
  ] as const) {
    it(`FHFA released the index of ${name} on ${day}`, () => {
      expect(indexReleaseOf(quarter(name))).to.equal(day);
    });
  }

  it('a run is published until the day before the release of the next quarter, at every time given', () => {
    const [before, after] = [new Date('2025-02-24T23:59:59Z'), new Date('2025-02-25T00:00:00Z')];
    expect(basisOf(quarter('2024Q3'), before, before)).to.equal('published');
    expect(basisOf(quarter('2024Q3'), before, after)).to.equal('reconstructed');
    expect(basisOf(quarter('2024Q3'), after)).to.equal('reconstructed');
  });

  it('a series is late when its next value is overdue, and stale when another one is', () => {
    const days = (seconds: number) => seconds / 86_400;
    for (const each of cadence.enum) {
      const { late_after_seconds: late, stale_after_seconds: stale } = freshness(each);
      expect(late, each).to.be.greaterThan(0).and.lessThan(stale);
    }
    expect(days(freshness('biweekly').late_after_seconds)).to.equal(24);
    expect(days(freshness('quarterly').stale_after_seconds)).to.equal(247);
    expect(days(freshness('semiannual').late_after_seconds)).to.equal(304);
    expect(days(freshness('five-year').late_after_seconds)).to.equal(2557);
  });

  it('a value is available some days after the end of its period', () => {
    expect(releaseOf('2025-12-01', 'monthly')).to.equal('2026-01-30');
    expect(releaseOf('2025-12-31', 'daily')).to.equal('2026-01-01');
  });
});
