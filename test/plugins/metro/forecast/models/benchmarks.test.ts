import { expect } from 'chai';
import { ar1Nation, persistence, shrunkMean } from '../../../../../plugins/metro/forecast/models/benchmarks.js';
import { createPanel } from '../../../../../plugins/metro/forecast/panel.js';
import { walk } from '../../../../../plugins/metro/forecast/walk.js';
import { quarterIndex, quarterStart } from '../../../../../plugins/metro/periods.js';
import { madeUpPanel } from '../panels.js';

const panelOf = (values: readonly (number | null)[]) =>
  createPanel(
    [{ cbsa: '10000', name: 'Ames, IA' }],
    values.flatMap((value, i) =>
      value === null ? [] : [{ cbsa: '10000', period_start: quarterStart(quarterIndex(2000, 1) + i), value }],
    ),
  );
const points = (values: readonly (number | null)[], minValues: number) =>
  [...walk(persistence, panelOf(values), { minValues })].map(({ point }) => point[0] as number);

describe('persistence', () => {
  it('forecasts the last 12-month change', () => {
    expect(points([100, 101, 102, 103, 110], 5)[4]).to.be.closeTo(10, 1e-10);
  });

  it('interpolates a gap 12 months ago in logs', () => {
    expect(points([50, 100, null, 400, 410, 420, 300], 6)[6]).to.be.closeTo(100 * (300 / 200 - 1), 1e-10);
  });

  it('makes no forecast for a market with too few values, or without the newest value', () => {
    expect(points([100, 101, 102, 103, 110], 6)[4]).to.be.NaN;
    expect(points([100, 101, 102, 103, 110, null, 120], 3).map(Number.isNaN)).to.deep.equal([
      true,
      true,
      true,
      true,
      false,
      true,
      false,
    ]);
  });
});

const growthAt = (quarters: readonly Float64Array[], t: number): number[] =>
  [...(quarters[t] ?? [])].map((level, market) => 100 * Math.log(level / (quarters[t - 4]?.[market] ?? Number.NaN)));
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const whole = (() => {
  const panel = madeUpPanel();
  const markets = [0, 1, 5];
  return {
    ...panel,
    markets: markets.map((market) => panel.markets[market] as (typeof panel.markets)[number]),
    quarters: panel.quarters.map((levels) => Float64Array.from(markets, (market) => levels[market] as number)),
  };
})();
const toPercent = (growth: number) => 100 * Math.expm1(growth / 100);

describe('shrunk-mean', () => {
  it('is 0.5 of the growth of the market, 0.3 of that of the nation, and 0.2 of the mean of all quarters so far', () => {
    const { point } = [...walk(shrunkMean, whole, { minValues: 20 })][50] as { point: Float64Array };
    const growth = growthAt(whole.quarters, 50);
    const longRun = meanOf(Array.from({ length: 47 }, (_, i) => growthAt(whole.quarters, i + 4)).flat());
    for (const [market, own] of growth.entries()) {
      expect(point[market]).to.be.closeTo(toPercent(0.5 * own + 0.3 * meanOf(growth) + 0.2 * longRun), 1e-9);
    }
  });
});

describe('ar1-nation', () => {
  it('has the least squared error of all coefficients on the outcomes known at the quarter', () => {
    const { point } = [...walk(ar1Nation, whole, { minValues: 20 })][50] as { point: Float64Array };
    const growth = growthAt(whole.quarters, 50);
    const logs = [...point].map((value) => 100 * Math.log1p(value / 100));
    // The forecasts of two markets differ by this coefficient times the difference in their growth.
    const b1 = ((logs[1] as number) - (logs[0] as number)) / ((growth[1] as number) - (growth[0] as number));
    const rows = Array.from({ length: 43 }, (_, i) => i + 4).flatMap((t) => {
      const [then, outcome] = [growthAt(whole.quarters, t), growthAt(whole.quarters, t + 4)];
      return then.map((own, market) => [1, own, meanOf(then), outcome[market] as number] as const);
    });
    // Coordinate descent solves the normal equations. The errors of the fit are orthogonal to each regressor.
    const b = [0, 0, 0] as [number, number, number];
    for (let round = 0; round < 20_000; round++) {
      for (const k of [0, 1, 2] as const) {
        let [numerator, denominator] = [0, 0];
        for (const row of rows) {
          numerator += row[k] * (row[3] - b[0] - b[1] * row[1] - b[2] * row[2] + b[k] * row[k]);
          denominator += row[k] ** 2;
        }
        b[k] = numerator / denominator;
      }
    }
    expect(b1).to.be.closeTo(b[1], 1e-6);
    for (const [market, own] of growth.entries()) {
      expect(logs[market]).to.be.closeTo(b[0] + b[1] * own + b[2] * meanOf(growth), 1e-5);
    }
  });
});
