import { expect } from 'chai';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { type ForecastDataset, forecastDataset } from '../../../../plugins/metro/forecast/forecast-dataset.js';
import { defaultForecastOptions } from '../../../../plugins/metro/forecast/model.js';
import { pooledMomentum } from '../../../../plugins/metro/forecast/models/pooled-momentum.js';
import { memoryDataset } from '../../../support/memory-dataset.js';
import { rowsOfPanel } from './panels.js';

const manifest = { vintage: '2015-03-31' } as Manifest;
const input = {
  model: pooledMomentum,
  options: defaultForecastOptions,
  rules: defaultRules,
  span: { last: 8 },
  created: new Date('2015-04-02T00:00:00Z'),
  horizons: [12],
} as const;

describe('forecastDataset(dataset, input)', () => {
  it('replaces runs, forecasts and backtest, and gives each market the figures of the newest run', async () => {
    const rows = rowsOfPanel();
    const counts: number[] = [];
    const { made, replaced } = await forecastDataset(memoryDataset(manifest, rows), input, (count) =>
      counts.push(count),
    );
    expect(replaced).to.have.all.keys('markets', 'forecast_runs', 'forecasts', 'backtests');
    expect(replaced['forecast_runs']).to.equal(made.runs);
    expect(replaced['forecasts']).to.equal(made.forecasts);
    expect(replaced['backtests']).to.deep.equal(made.backtests);
    const newest = made.forecasts.filter(({ run_id }) => run_id === 20144).map(({ point }) => point);
    expect((replaced['markets'] as Document[]).map((market) => market['forecast_12m'])).to.deep.equal([
      ...newest,
      null,
    ]);
    expect(counts.at(-1)).to.equal(rows['hpi']?.length);
  });

  it('adds runs to a dataset without runs, replaces them with recompute, and keeps runs of an earlier vintage', async () => {
    const rows = rowsOfPanel();
    const of = (forecasts: ForecastDataset) => ({ ...rows, ...forecasts.replaced }) as Record<string, Document[]>;
    const ids = ({ made }: ForecastDataset) => made.runs.map(({ id }) => id);

    const first = await forecastDataset(memoryDataset(manifest, rows), { ...input, span: { last: 4 } });
    const more = await forecastDataset(memoryDataset(manifest, of(first)), input);
    expect(more.made.added).to.deep.equal([20131, 20132, 20133, 20134]);
    expect(more.replacedRuns).to.deep.equal([]);
    const again = await forecastDataset(memoryDataset(manifest, of(more)), input);
    expect(again.made.added).to.deep.equal([]);
    expect(again.replaced).to.deep.equal(more.replaced);

    const recomputing = { ...input, recompute: true, span: { last: 2 } };
    const replaced = await forecastDataset(memoryDataset(manifest, of(more)), recomputing);
    expect(replaced.replacedRuns).to.deep.equal(ids(more));
    expect(ids(replaced)).to.deep.equal([20143, 20144]);

    const later = { ...manifest, vintage: '2015-06-30' };
    const kept = await forecastDataset(memoryDataset(later, of(more)), recomputing);
    expect(kept.replacedRuns).to.deep.equal(ids(more).slice(0, -1));
    expect(kept.made.runs.at(-1)).to.deep.equal(more.made.runs.at(-1));
    expect(kept.made.added).to.deep.equal([20143]);
  });

  it('replaces runs without a basis', async () => {
    const made = await forecastDataset(memoryDataset(manifest, rowsOfPanel()), input);
    const old = made.made.runs.map(({ basis: _, vintage: __, published_at: ___, rules: ____, ...run }) => run);
    const rows = { ...rowsOfPanel(), ...made.replaced, forecast_runs: old } as unknown as Record<string, Document[]>;
    const again = await forecastDataset(memoryDataset(manifest, rows), input);
    expect(again.replacedRuns).to.deep.equal(old.map(({ id }) => id));
    expect(again.replaced).to.deep.equal(made.replaced);
  });

  it('has no backtest row if there is no backtest', async () => {
    const few = { ...input, span: { last: 2 } };
    expect((await forecastDataset(memoryDataset(manifest, rowsOfPanel()), few)).replaced['backtests']).to.deep.equal(
      [],
    );
  });

  it('rejects a dataset without an index', async () => {
    const failure = await forecastDataset(memoryDataset(manifest, {}), input).catch((error: Error) => error);
    expect(failure).to.have.property(
      'message',
      'There is nothing to forecast from: the dataset has no house price index.',
    );
  });
});
