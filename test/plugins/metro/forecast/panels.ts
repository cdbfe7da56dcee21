import type { Document } from '../../../../core/contracts/dataset.js';
import type { Observation } from '../../../../plugins/metro/collections.js';
import { createPanel, macroSeries, type Panel } from '../../../../plugins/metro/forecast/panel.js';
import { quarterIndex, quarterStart } from '../../../../plugins/metro/periods.js';
import { randomFrom } from '../../../../plugins/metro/sample/random.js';

export const FIRST = quarterIndex(1990, 1);

/**
 * A fictional index from 1990Q1, for six markets in three states. One market starts late, and two markets have gaps.
 */
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

export const cut = (panel: Panel, quarters: number): Panel => {
  const next = quarterStart(panel.firstQuarter + quarters);
  return {
    ...panel,
    quarters: panel.quarters.slice(0, quarters),
    macro: new Map([...panel.macro].map(([id, values]) => [id, values.filter(({ start }) => start < next)])),
  };
};

/** Adds new home sales since 1992 to the fictional panel, and coordinates of all markets except the last. */
export const madeUpMetroPanel = (): Panel => {
  const panel = madeUpPanel();
  const random = randomFrom('sales');
  const sales: Observation[] = [];
  for (let month = 0, level = 700; month < 12 * 23; month++) {
    level *= Math.exp(0.04 * random.normal());
    const day = `${1992 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}-01`;
    // One month is missing, and the last quarter is not published yet.
    if (day !== '2003-05-01' && day < '2014-10-01') sales.push({ series_id: 'HSN1F', period_start: day, value: level });
  }
  const markets = panel.markets.map((market, i) => ({
    ...market,
    centre: i === 5 ? undefined : { latitude: 40 + 0.5 * (i % 3), longitude: -100 + 0.8 * i },
  }));
  return { ...panel, markets, macro: macroSeries([{ series_id: 'HSN1F', cadence: 'monthly' }], sales) };
};

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
