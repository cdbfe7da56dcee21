import { expect } from 'chai';
import { pooledMomentum } from '../../../../../plugins/metro/forecast/models/pooled-momentum.js';
import type { Panel } from '../../../../../plugins/metro/forecast/panel.js';
import { walk } from '../../../../../plugins/metro/forecast/walk.js';
import { cut, madeUpPanel } from '../panels.js';

const options = { minValues: 20 };
const at = <T>(list: readonly T[] | Float64Array, index: number) => list[index] as T;

const byDefinition = (panel: Panel, origin: number): (number | undefined)[] => {
  const known = panel.quarters.slice(0, origin + 1).map((quarter) => [...quarter]);
  const logs = known.map((quarter) => quarter.map((level) => 100 * Math.log(level)));
  for (const [market] of panel.markets.entries()) {
    const there = known.flatMap((quarter, t) => (Number.isNaN(at(quarter, market)) ? [] : [t]));
    there.slice(1).forEach((end, i) => {
      const start = at(there, i);
      for (let t = start + 1; t < end; t++) {
        const share = (t - start) / (end - start);
        at(logs, t)[market] = at(at(logs, start), market) * (1 - share) + at(at(logs, end), market) * share;
      }
    });
  }
  const mean = (values: number[]) => {
    const kept = values.filter((value) => !Number.isNaN(value));
    return kept.reduce((sum, value) => sum + value, 0) / kept.length;
  };
  const growth = (t: number, lag: number, market: number) => at(at(logs, t), market) - at(at(logs, t - lag), market);
  const x = (t: number, market: number): number[] => {
    const all = panel.markets.map((_, other) => growth(t, 1, other));
    const state = all.filter((_, other) => at(panel.markets, other).state === at(panel.markets, market).state);
    return [1, growth(t, 4, market), mean(state), mean(all)];
  };
  const enough = (market: number) => known.filter((quarter) => !Number.isNaN(at(quarter, market))).length >= 20;

  const system = [0, 1, 2, 3].map(() => [0, 0, 0, 0, 0]);
  for (const [market] of panel.markets.entries()) {
    for (let t = 4; t + 4 <= origin && enough(market); t++) {
      const outcome = 100 * (at(at(known, t + 4), market) / at(at(known, t), market) - 1);
      const row = x(t, market);
      if ([...row, outcome].some(Number.isNaN)) continue;
      for (const [i, line] of system.entries()) {
        for (let j = 0; j < 5; j++) line[j] = at(line, j) + at(row, i) * (j < 4 ? at(row, j) : outcome);
      }
    }
  }
  for (let i = 0; i < 4; i++) {
    for (let k = 0; k < 4; k++) {
      if (k === i) continue;
      const factor = at(at(system, k), i) / at(at(system, i), i);
      for (let j = 0; j < 5; j++) at(system, k)[j] = at(at(system, k), j) - factor * at(at(system, i), j);
    }
  }
  const b = system.map((line, i) => at(line, 4) / at(line, i));
  return panel.markets.map((_, market) => {
    const point = x(origin, market).reduce((sum, value, i) => sum + value * at(b, i), 0);
    return enough(market) && !Number.isNaN(point) ? point : undefined;
  });
};

describe('pooled-momentum', () => {
  const panel = madeUpPanel();
  const origins = [...walk(pooledMomentum, panel, options)];

  for (const origin of [40, 41, 43, 44, 55, 90, 99]) {
    it(`matches the formula in its docstring at quarter ${origin}`, () => {
      const expected = byDefinition(panel, origin);
      const { point } = at(origins, origin);
      for (const [market, value] of expected.entries()) {
        if (value === undefined) expect(point[market], `market ${market}`).to.be.NaN;
        else expect(point[market], `market ${market}`).to.be.closeTo(value, 1e-7);
      }
    });
  }

  it('forecasts a market from its 20th value on, and not at a quarter without a value', () => {
    const forecast = (market: number, origin: number) => !Number.isNaN(at<number>(at(origins, origin).point, market));
    // The third market starts at quarter 30.
    expect(forecast(2, 48)).to.equal(false);
    expect(forecast(2, 49)).to.equal(true);
    // The fourth market has no values in quarters 40 to 42.
    expect([39, 40, 41, 42, 43].map((origin) => forecast(3, origin))).to.deep.equal([true, false, false, false, true]);
  });

  it('makes exactly the same forecasts from data that is cut at the origin', () => {
    for (const quarters of [50, 75, 76, 91, 99]) {
      const known = [...walk(pooledMomentum, cut(panel, quarters), options)];
      expect(known).to.deep.equal(origins.slice(0, quarters));
    }
  });

  it('forecasts a single market, which is then also its state and nation', () => {
    const alone: Panel = {
      ...panel,
      markets: panel.markets.slice(0, 1),
      quarters: panel.quarters.map((quarter) => quarter.slice(0, 1)),
    };
    const { point } = at([...walk(pooledMomentum, alone, options)], 99);
    expect(point[0]).to.be.within(-100, 100);
  });
});
