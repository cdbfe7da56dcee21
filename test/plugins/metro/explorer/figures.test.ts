import { expect } from 'chai';
import { pageModules } from '../../../support/page-modules.js';

const figures = await pageModules(
  'plugins/metro/explorer/browser/market-figures',
  'plugins/metro/explorer/browser/recessions',
  'core/pages/shared/format',
);

const rows = (...values: readonly (readonly [string, number])[]) =>
  values.map(([period_start, value]) => ({ period_start, value }));
const quarterly = new Map([
  ['2023-10-01', 80],
  ['2024-01-01', 90],
  ['2024-10-01', 100],
  ['2025-01-01', 99],
]);

describe('the explorer’s figures', () => {
  it('use the mean of the published months of a quarter', () => {
    const months = rows(['2025-07-01', 1], ['2025-08-01', 3], ['2025-10-01', 5], ['2025-12-01', 6]);
    expect([...figures.quarterMeans(months)]).to.deep.equal([
      ['2025-07-01', 2],
      ['2025-10-01', 5.5],
    ]);
  });

  it('leave out quarters with too few months', () => {
    const months = rows(['2025-07-01', 1], ['2025-08-01', 2], ['2025-09-01', 3], ['2025-10-01', 5]);
    expect([...figures.quarterMeans(months, 3)]).to.deep.equal([['2025-07-01', 2]]);
  });

  it('have no minus sign if the number rounds to zero', () => {
    expect([-0.004, -0, 0.004, -0.006].map((value) => figures.percent(value))).to.deep.equal([
      ...['0.00%', '0.00%', '+0.00%', '−0.01%'],
    ]);
  });

  it('name the quarters that have an index but no consumer prices', () => {
    const real = new Map([
      ['2024-01-01', 90],
      ['2025-01-01', 95],
    ]);
    expect(figures.withoutPrices(quarterly, real)).to.deep.equal(['2024-10-01']);
    expect(figures.withoutPrices(quarterly, real, '2025-01-01')).to.deep.equal([]);
    expect(figures.gapsText(['2024-10-01', '2024-10-01'])).to.equal('; without consumer prices for 2024 Q4');
    expect(figures.gapsText([])).to.equal('');
  });

  it('compute the change over four quarters, without a value if the quarter a year earlier is missing', () => {
    const changes = figures.yearlyChange(quarterly);
    expect([...changes.keys()]).to.deep.equal(['2024-10-01', '2025-01-01']);
    expect(changes.get('2024-10-01')).to.be.closeTo(25, 1e-9);
    expect(changes.get('2025-01-01')).to.be.closeTo(10, 1e-9);
    expect([...figures.yearlyDifference(quarterly).values()]).to.deep.equal([20, 9]);
  });

  it('compute the change of a rate from zero, but no percentage of zero', () => {
    const values = new Map([
      ['2023-10-01', 0],
      ['2024-10-01', 0.5],
    ]);
    expect(figures.yearlyChange(values).size).to.equal(0);
    expect(figures.yearlyDifference(values).get('2024-10-01')).to.equal(0.5);
  });

  for (const [cadence, dates, expected] of [
    ['monthly', ['2023-12-01', '2024-01-01', '2025-01-01'], '2024-01-01'],
    ['monthly', ['2023-12-01', '2024-02-01', '2025-01-01'], undefined],
    ['quarterly', ['2023-10-01', '2025-01-01'], undefined],
    ['annual', ['2023-01-01', '2024-01-01'], '2023-01-01'],
    ['five-year', ['2019-01-01', '2024-01-01'], undefined],
    ['irregular', ['2019-01-05', '2024-01-01'], undefined],
    ['weekly', ['2024-01-01', '2024-01-08', '2025-01-06'], '2024-01-08'],
    ['weekly', ['2024-01-01', '2025-01-06'], undefined],
    ['daily', ['2024-01-05', '2024-01-08', '2025-01-07'], '2024-01-05'],
    ['daily', ['2023-02-28', '2023-03-01', '2024-02-29'], '2023-02-28'],
    ['daily', ['2023-12-20', '2025-01-07'], undefined],
    ['monthly', [], undefined],
  ] as const) {
    it(`compare ${dates.at(-1) ?? 'no value'} of a ${cadence} series after ${dates.slice(0, -1).join(', ') || 'nothing'} with ${expected ?? 'nothing'} a year earlier`, () =>
      expect(
        figures.yearEarlier(
          dates.map((period_start) => ({ period_start, value: 1 })),
          cadence,
        )?.period_start,
      ).to.equal(expected));
  }

  it('are 100 at the given quarter', () => {
    const based = figures.rebased(quarterly, '2024-10-01');
    expect(based.get('2024-10-01')).to.equal(100);
    expect(based.get('2025-01-01')).to.be.closeTo(99, 1e-9);
    expect(figures.rebased(quarterly, '2026-01-01').size).to.equal(0);
  });

  it('start together at the first quarter for which all lines have a value', () => {
    const line = (...dates: string[]) => new Map(dates.map((date) => [date, 120]));
    const austin = line('2023-10-01', '2024-01-01', '2024-04-01', '2024-07-01');
    const boise = line('2024-04-01', '2024-07-01');
    const startOf = (...lines: object[]) => figures.commonStart(lines, '2024-01-01');
    expect(startOf(austin)).to.equal('2024-01-01');
    expect(startOf(austin, boise)).to.equal('2024-04-01');
    expect(startOf(austin, line('2023-10-01'), boise), 'a line without values is ignored').to.equal('2024-04-01');
    expect(startOf(line('2024-01-01'), boise)).to.equal(undefined);
    expect(startOf()).to.equal(undefined);
  });

  it('use the median of the areas with a value', () => {
    const areas = [1, 7, 3].map((value) => new Map([['2025-01-01', value]]));
    areas[0]!.set('2025-04-01', 10);
    areas[1]!.set('2025-04-01', 20);
    expect([...figures.medianOf(areas)]).to.deep.equal([
      ['2025-01-01', 3],
      ['2025-04-01', 15],
    ]);
  });

  it('have the recessions in order, each from the first day of a month to the first day of a later month', () => {
    const days: string[] = figures.recessions.spans.flat();
    expect(days).to.deep.equal([...new Set(days)].sort());
    for (const day of days) expect(day).to.match(/^(19|20)\d\d-(0[1-9]|1[0-2])-01$/);
    expect(figures.recessions.spans.at(-1)).to.deep.equal(['2020-02-01', '2020-04-01']);
  });

  it('start the fan at the base of the forecast, and leave the fan out if that quarter is missing', () => {
    const forecast = { target_period: '2025-10-01', horizon_months: 12, point: 8, lower_80: null, upper_80: null };
    const { start, target, point, lower } = figures.fanOf(quarterly, forecast);
    expect([start, target, lower.size]).to.deep.equal(['2024-10-01', '2025-10-01', 0]);
    expect([...point.values()]).to.deep.equal([100, 102, 104, 106, 108]);
    expect(figures.fanOf(quarterly, { ...forecast, target_period: '2027-10-01' })).to.equal(undefined);
    expect(figures.fanOf(quarterly, undefined)).to.equal(undefined);
  });
});
