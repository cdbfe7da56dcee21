import { expect } from 'chai';
import type { Document, Manifest } from '../../../core/contracts/dataset.js';
import type { Dataset } from '../../../core/contracts/storage.js';
import { forecastDataset } from '../../../metro/forecast/forecast-dataset.js';
import { defaultForecastOptions } from '../../../metro/forecast/model.js';
import { defaultModel } from '../../../metro/forecast/models/index.js';
import { defaultRules } from '../../../metro/forecast/rules.js';
import { quarterStart } from '../../../metro/periods.js';
import { madeUpPanel } from './panels.js';

const panel = madeUpPanel();
const market = { signal: null, risk_score: null, yoy_price: 2, forecast_12m: null };

/** The panel as documents, two at a time, with a run of an earlier time and a collection of somebody else's. */
const rows: Record<string, Document[]> = {
  markets: [
    ...panel.markets.map(({ cbsa, name }, id) => ({ id, cbsa, name, ...market })),
    { id: 9, cbsa: '99999', name: 'X', ...market },
  ],
  hpi: panel.markets.flatMap(({ cbsa }, place) =>
    panel.quarters.flatMap((levels, index) => {
      const value = levels[place] as number;
      return Number.isNaN(value) ? [] : [{ cbsa, period_start: quarterStart(panel.firstQuarter + index), value }];
    }),
  ),
  forecast_runs: [{ id: 1 }],
  notes: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
};

const dataset: Dataset = {
  manifest: { vintage: '2015-03-31' } as Manifest,
  async *read(name) {
    const all = rows[name] as Document[];
    for (let i = 0; i < all.length; i += 2) yield all.slice(i, i + 2);
  },
};

const collect = async (batches: AsyncIterable<readonly object[]> | undefined) => {
  const all: object[] = [];
  for await (const batch of batches ?? []) all.push(...batch);
  return all;
};

describe('forecastDataset(dataset, names, input)', () => {
  const run = () =>
    forecastDataset(dataset, Object.keys(rows), {
      model: defaultModel,
      options: defaultForecastOptions,
      rules: defaultRules,
      span: { last: 8 },
    });

  it('replaces the runs, updates the markets and leaves all other collections as they are', async () => {
    const { made, collections } = await run();
    expect([...collections.keys()].sort()).to.deep.equal([
      'backtests',
      'forecast_runs',
      'forecasts',
      'hpi',
      'markets',
      'notes',
    ]);
    for (const name of ['hpi', 'notes']) {
      expect(await collect(collections.get(name)?.())).to.deep.equal(rows[name]);
    }
    expect(await collect(collections.get('forecast_runs')?.())).to.deep.equal(made.runs);
    expect(await collect(collections.get('forecasts')?.())).to.deep.equal(made.forecasts);
    expect(await collect(collections.get('backtests')?.())).to.deep.equal([made.backtest]);

    const markets = (await collect(collections.get('markets')?.())) as { cbsa: string; forecast_12m: number | null }[];
    const newest = made.forecasts.filter(({ run_id }) => run_id === 20144);
    expect(markets.map(({ forecast_12m }) => forecast_12m)).to.deep.equal([...newest.map(({ point }) => point), null]);
  });

  it('gives the same rows each time a collection is read', async () => {
    const { collections } = await run();
    for (const read of collections.values()) expect(await collect(read())).to.deep.equal(await collect(read()));
  });
});
