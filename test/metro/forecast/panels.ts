/** Panels for tests. */
import type { Document } from '../../../core/contracts/dataset.js';
import { createPanel, type Panel } from '../../../metro/forecast/panel.js';
import { quarterIndex, quarterStart } from '../../../metro/periods.js';
import { randomFrom } from '../../../metro/sample/random.js';

export const FIRST = quarterIndex(1990, 1);

/** Six markets in three states with 100 quarters of made-up index from 1990Q1, one with a late start, two with gaps. */
export const madeUpPanel = (quarters = 100): Panel => {
  const names = ['Ames, IA', 'Ankeny, IA', 'Boise City, ID', 'Casper, WY', 'Cody, WY', 'Dubois, ID-WY'];
  const markets = names.map((name, i) => ({ cbsa: String(10_000 + i), name }));
  const rows = markets.flatMap(({ cbsa }, market) => {
    const random = randomFrom(cbsa);
    let log = 0;
    let momentum = 0;
    return Array.from({ length: quarters }, (_, i) => {
      momentum = 0.8 * momentum + 0.6 * random.normal();
      log += 1 + momentum;
      return { cbsa, period_start: quarterStart(FIRST + i), value: 100 * Math.exp(log / 100) };
    }).filter(
      (_, i) => !(market === 2 && i < 30) && !(market === 3 && i >= 40 && i < 43) && !(market === 4 && i === 90),
    );
  });
  return createPanel(markets, rows);
};

/** The panel as it was known after its first `quarters`. */
export const cut = (panel: Panel, quarters: number): Panel => ({
  ...panel,
  quarters: panel.quarters.slice(0, quarters),
});

/** The made-up panel as documents, with one market more that has no index. */
export const rowsOfPanel = (): Record<string, Document[]> => {
  const { markets, quarters, firstQuarter } = madeUpPanel();
  const figures = { signal: null, risk_score: null, yoy_price: 2, forecast_12m: null };
  const all = [...markets, { cbsa: '99999', name: 'Nowhere' }];
  return {
    markets: all.map(({ cbsa, name }) => ({ id: Number(cbsa), cbsa, name, ...figures })),
    hpi: markets.flatMap(({ cbsa }, market) =>
      quarters.flatMap((levels, index) => {
        const value = levels[market] as number;
        return Number.isNaN(value) ? [] : [{ cbsa, period_start: quarterStart(firstQuarter + index), value }];
      }),
    ),
  };
};
