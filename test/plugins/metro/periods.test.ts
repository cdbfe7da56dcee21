import { expect } from 'chai';
import fc from 'fast-check';
import {
  dayNumber,
  inferCadence,
  isDay,
  periodEnd,
  quarterIndex,
  quarterOf,
  quarterStart,
} from '../../../plugins/metro/periods.js';

describe('metro/periods', () => {
  it('isDay accepts only valid calendar days, including leap days', () => {
    for (const day of ['2024-02-29', '2000-02-29', '1975-01-01', '2025-12-31']) expect(isDay(day), day).to.equal(true);
    for (const day of [
      '2023-02-29',
      '1900-02-29',
      '2025-06-31',
      '2025-13-01',
      '2025-00-10',
      '2025-1-1',
      '2025-01-01T00:00:00Z',
      '',
    ])
      expect(isDay(day), day).to.equal(false);
  });

  it('quarterOf is the inverse of quarterStart on every day of a quarter', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1900, max: 2099 }), fc.integer({ min: 1, max: 4 }), (year, quarter) => {
        const index = quarterIndex(year, quarter);
        const start = quarterStart(index);
        expect(start).to.match(/^\d{4}-(01|04|07|10)-01$/);
        expect(quarterOf(start)).to.equal(index);
        expect(quarterOf(periodEnd(start, 'quarterly'))).to.equal(index);
        expect(dayNumber(quarterStart(index + 1)) - dayNumber(periodEnd(start, 'quarterly'))).to.equal(1);
      }),
    );
  });

  it('periodEnd is the last day of the period', () => {
    expect(periodEnd('2025-12-31', 'daily')).to.equal('2025-12-31');
    expect(periodEnd('2025-12-29', 'weekly')).to.equal('2026-01-04');
    expect(periodEnd('2024-02-01', 'monthly')).to.equal('2024-02-29');
    expect(periodEnd('2025-12-01', 'monthly')).to.equal('2025-12-31');
    expect(periodEnd('2025-10-01', 'quarterly')).to.equal('2025-12-31');
    expect(periodEnd('2024-01-01', 'annual')).to.equal('2024-12-31');
    expect(periodEnd('2025-12-29', 'biweekly')).to.equal('2026-01-11');
    expect(periodEnd('2024-07-01', 'semiannual')).to.equal('2024-12-31');
    expect(periodEnd('2022-01-01', 'five-year')).to.equal('2026-12-31');
    expect(periodEnd('2024-03-20', 'irregular')).to.equal('2024-03-20');
  });

  it('inferCadence finds the cadences of FRED, with gaps and holidays, and calls other days irregular', () => {
    expect(inferCadence(['2025-01-02', '2025-01-03', '2025-01-06', '2025-01-07'])).to.equal('daily');
    expect(inferCadence(['2020-01-01', '2020-01-15', '2020-01-29', '2020-02-12'])).to.equal('biweekly');
    expect(inferCadence(['2020-01-01', '2020-07-01', '2021-01-01', '2022-01-01'])).to.equal('semiannual');
    expect(inferCadence(['2007-01-01', '2012-01-01', '2017-01-01'])).to.equal('five-year');
    // Mortgage rates are published on Thursdays. In the week of Thanksgiving, they are published on Wednesday.
    expect(inferCadence(['2023-11-09', '2023-11-16', '2023-11-22', '2023-11-30'])).to.equal('weekly');
    for (const days of [
      ['2025-01-01'],
      ['2020-01-01', '2020-03-01', '2020-05-01'],
      ['2020-01-01', '2020-02-01', '2020-04-01', '2020-07-01', '2020-10-01', '2021-01-01'],
      ['2022-03-17', '2022-05-05', '2022-06-16', '2022-07-28'],
      ['2020-01-31', '2020-02-29', '2020-03-31'],
    ])
      expect(inferCadence(days), days.join()).to.equal('irregular');
    expect(inferCadence(['2025-01-03', '2025-01-10', '2025-01-17'])).to.equal('weekly');
    expect(inferCadence(['2025-01-01', '2025-02-01', '2025-03-01', '2025-08-01'])).to.equal('monthly');
    expect(inferCadence(['2025-01-01', '2025-04-01', '2025-07-01'])).to.equal('quarterly');
    expect(inferCadence(['2022-01-01', '2023-01-01', '2024-01-01'])).to.equal('annual');
  });
});
