import { expect } from 'chai';
import { persistence } from '../../../../../plugins/metro/forecast/models/persistence.js';
import { createPanel } from '../../../../../plugins/metro/forecast/panel.js';
import { walk } from '../../../../../plugins/metro/forecast/walk.js';
import { quarterIndex, quarterStart } from '../../../../../plugins/metro/periods.js';

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
