import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Collection } from '../../../../core/contracts/dataset.js';
import { openDirectory } from '../../../../core/data/directory.js';
import { checkDataset } from '../../../../core/data/validate.js';
import { packageRoot } from '../../../../core/util/package.js';
import { areaOfSeries, nationAndStates, seriesOfArea } from '../../../../plugins/metro/areas.js';
import {
  collections as allCollections,
  type Forecast,
  type ForecastRun,
  type Hpi,
  type Market,
  type Observation,
  RISK_GRADES,
  type Series,
  SIGNALS,
} from '../../../../plugins/metro/collections.js';
import { makeSample, writeSample } from '../../../../plugins/metro/sample/sample.js';

const files = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .sort()
      .map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  );

describe('the embedded sample', () => {
  const { manifest, collections } = makeSample();
  const rows = <T>(name: string) => collections[name] as unknown as readonly T[];
  const markets = new Map(rows<Market>('markets').map((market) => [market.cbsa, market]));
  const runs = rows<ForecastRun>('forecast_runs');
  const forecasts = rows<Forecast>('forecasts');

  it('equals the output of the generator, byte for byte', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'metro-sample-'));
    try {
      await writeSample(directory);
      expect(files(directory)).to.deep.equal(files(join(packageRoot, 'plugins/metro/dataset')));
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('is a valid dataset', async () => {
    const { dataset } = await openDirectory(join(packageRoot, 'plugins/metro/dataset'));
    const declared = new Map(allCollections.map((one) => [one.name, one as unknown as Collection]));
    expect((await checkDataset(dataset, declared)).kept).to.deep.equal([]);
  });

  it('is small', () => {
    const bytes = Object.values(files(join(packageRoot, 'plugins/metro/dataset'))).join('').length;
    expect(bytes).to.be.lessThan(2_000_000);
  });

  it('is marked as synthetic in every place', () => {
    expect(manifest.synthetic).to.equal(true);
    for (const { title, source, notes } of rows<Series>('series')) {
      expect([title, source, notes].join(' ')).to.match(/synthetic sample.*Synthetic sample.*Synthetic/);
    }
  });

  it('has 40 metros, 30 years of quarters, 11 macro series and the usual cadences', () => {
    expect([...markets.keys()].filter((cbsa) => !nationAndStates.has(cbsa))).to.have.length(40);
    expect(rows<Hpi>('hpi').filter(({ cbsa }) => cbsa === '26420')).to.have.length(120);
    const series = rows<Series>('series');
    const macro = series.filter(({ kind, series_id }) => kind === 'macro' && !areaOfSeries(series_id));
    expect(macro).to.have.length(11);
    expect(new Set(series.map((each) => each.cadence))).to.have.keys(
      'daily',
      'weekly',
      'monthly',
      'quarterly',
      'annual',
    );
    expect(manifest.sources.map(({ id }) => id)).to.deep.equal(series.map(({ series_id }) => series_id));
  });

  it('has the nation and the states with several metros, each with an index and a forecast', () => {
    const wide = [...markets.values()].filter(({ cbsa }) => nationAndStates.has(cbsa));
    expect(wide.map(({ name }) => name)).to.deep.equal([
      'United States',
      ...['California', 'Florida', 'Missouri', 'North Carolina', 'Ohio', 'Pennsylvania', 'Texas'],
    ]);
    for (const { cbsa, yoy_price, forecast_12m } of wide) {
      expect([typeof yoy_price, typeof forecast_12m]).to.deep.equal(['number', 'number']);
      expect(
        rows<Observation>('observations').filter(({ series_id }) => series_id === seriesOfArea(cbsa)),
      ).to.have.length(120);
    }
  });

  it('has 20 completed runs for 12 months, one for each other horizon, backtests, and runs that no endpoint may show', () => {
    const completed = runs.filter(({ status }) => status === 'completed').map(({ horizon_months }) => horizon_months);
    expect(completed).to.deep.equal([...Array(20).fill(12), 3, 6, 24]);
    expect(rows('backtests')).to.have.length(4);
    const failed = runs.find(({ status }) => status === 'failed');
    expect(forecasts.filter(({ run_id }) => run_id === failed?.id)).to.have.length(5);
    expect(runs.some(({ status }) => status === 'running')).to.equal(true);
  });

  it('has every signal and every grade, and markets without one', () => {
    const shown = (of: (market: Market) => string | null) => [...new Set([...markets.values()].map(of))];
    expect(shown(({ signal }) => signal)).to.have.members([...SIGNALS, null]);
    expect(shown(({ risk_score }) => risk_score)).to.have.members([...RISK_GRADES, null]);
  });

  it('has a market without any figure, one without a forecast and one without a 12-month change', () => {
    const none = { signal: null, risk_score: null, forecast_12m: null };
    expect(markets.get('41980')).to.include({ ...none, yoy_price: null });
    expect(rows<Hpi>('hpi').some(({ cbsa }) => cbsa === '41980')).to.equal(false);
    expect(markets.get('46520')).to.include({ ...none, yoy_price: null });
    expect(markets.get('14260')).to.include(none);
    expect(markets.get('14260')?.yoy_price).to.be.a('number');
    expect(markets.get('41620')?.yoy_price).to.equal(null);
    expect(markets.get('41620')?.forecast_12m).to.be.a('number');
  });

  it('has a market with only past forecasts, and one whose outcome was never published', () => {
    const of = (cbsa: string) => forecasts.filter((row) => row.cbsa === cbsa);
    expect(markets.get('38300')?.forecast_12m).to.equal(null);
    expect(of('38300')).to.have.length(10);
    const due = of('33340').filter(({ target_period }) => target_period <= '2026-04-01');
    expect(due.filter(({ realized }) => realized === null).map(({ target_period }) => target_period)).to.deep.equal([
      '2024-01-01',
      '2024-04-01',
    ]);
  });
});
