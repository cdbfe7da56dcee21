import { expect } from 'chai';
import type { Dataset } from '../../../../core/contracts/storage.js';
import type { MetroIndex } from '../../../../plugins/metro/import/fhfa.js';
import type { MacroSeries } from '../../../../plugins/metro/import/fred.js';
import { merge } from '../../../../plugins/metro/import/merge.js';
import { quarterIndex } from '../../../../plugins/metro/periods.js';
import { unscored } from '../unscored.js';

const NOW = '2026-03-01T12:00:00Z';

const area = (cbsa: string, ...values: number[]): MetroIndex => ({
  cbsa,
  name: `Area ${cbsa}`,
  quarters: values.map((_, i) => quarterIndex(2024, 1) + i),
  values,
});

const macro = (id: string, ...values: number[]): MacroSeries => ({
  id,
  cadence: 'annual',
  days: values.map((_, i) => `${2020 + i}-01-01`),
  values,
});

const source = (id: string) => ({
  id,
  title: id,
  cadence: 'annual' as const,
  latest_period: null,
  last_loaded_at: null,
  late_after_seconds: 1,
  stale_after_seconds: 2,
});

const observation = (series_id: string, value: number) => ({ series_id, period_start: '2020-01-01', value });

/** A dataset with runs, three macro series and the collection of another plugin. */
const rows: Record<string, object[]> = {
  markets: [{ cbsa: '10000' }, { cbsa: '20000' }],
  hpi: [{ cbsa: '10000', period_start: '2020-01-01', value: 1 }],
  series: [{ series_id: 'B' }, { series_id: 'D' }, { series_id: 'F' }, { series_id: 'metro_hpi' }],
  observations: [observation('B', 1), observation('D', 2), observation('F', 3)],
  forecast_runs: [{ id: 1 }],
  forecasts: [{ run_id: 1, cbsa: '10000' }],
  backtests: [{ as_of: NOW }],
  permits: [{ id: 7 }],
};

const old = {
  dataset: {
    manifest: {
      format: 1,
      version: 'v',
      created: NOW,
      vintage: '2020-12-31',
      synthetic: false,
      sources: ['B', 'D', 'F', 'metro_hpi', 'permits'].map(source),
    },
    async *read(name: string) {
      for (const row of rows[name] ?? []) yield [row];
    },
  } as Dataset,
  collections: Object.keys(rows),
};

const merged = async (...args: Parameters<typeof merge>) => {
  const { sources, collections, droppedMarkets } = await merge(...args);
  const read: Record<string, object[]> = {};
  for (const [name, rows] of collections) {
    const found: object[] = [];
    for await (const batch of rows) found.push(...batch);
    read[name] = found;
  }
  return { sources: sources.map(({ id }) => id), droppedMarkets, read };
};

describe('plugins/metro/import/merge', () => {
  it('replaces markets, history and everything computed from the old index', async () => {
    const index = [area('10000', 100, 101, 102, 103, 110), area('30000', 100, 101)];
    const { read, sources, droppedMarkets } = await merged(old, { index, macro: [], ignored: [] }, NOW);
    expect(read['markets']).to.deep.equal([
      {
        id: 10000,
        cbsa: '10000',
        name: 'Area 10000',
        yoy_price: 10,
        ...unscored,
      },
      {
        id: 30000,
        cbsa: '30000',
        name: 'Area 30000',
        yoy_price: null,
        ...unscored,
      },
    ]);
    expect(read['hpi']).to.have.length(7);
    expect(read['hpi']?.[4]).to.deep.equal({ cbsa: '10000', period_start: '2025-01-01', value: 110 });
    expect([read['forecast_runs'], read['forecasts'], read['backtests']]).to.deep.equal([[], [], []]);
    expect(droppedMarkets).to.deep.equal(['20000']);
    expect(read).to.not.have.any.keys('observations', 'permits');
    expect(sources).to.deep.equal(['B', 'D', 'F', 'metro_hpi', 'permits']);
  });

  it('replaces individual macro series, and nothing else', async () => {
    const imported = { index: undefined, macro: ['A', 'C', 'D', 'E', 'G'].map((id) => macro(id, 8, 9)), ignored: [] };
    const { read, sources } = await merged(old, imported, NOW);
    const values = (read['observations'] as { series_id: string; value: number }[]).map((o) => o.series_id + o.value);
    expect(values.join(' ')).to.equal('A8 A9 B1 C8 C9 D8 D9 E8 E9 F3 G8 G9');
    const ids = (read['series'] as { series_id: string }[]).map(({ series_id }) => series_id);
    expect(ids.join('')).to.equal('ABCDEFGmetro_hpi');
    expect(sources.join(' ')).to.equal('A B C D E F G metro_hpi permits');
    expect(Object.keys(read).sort()).to.deep.equal(['observations', 'series']);
  });

  describe('the indexes of the nation and the states', () => {
    const quarterly = (id: string, ...values: number[]): MacroSeries => ({
      id,
      cadence: 'quarterly',
      days: values.map((_, i) => `${2024 + Math.floor(i / 4)}-${String(3 * (i % 4) + 1).padStart(2, '0')}-01`),
      values,
    });
    const withTexas = (row: object) => ({
      ...old,
      dataset: {
        ...old.dataset,
        async *read(name: string) {
          yield name === 'markets' ? [row, ...(rows['markets'] ?? [])] : (rows[name] ?? []);
        },
      } as Dataset,
    });
    const texas = { id: 48, cbsa: '00048', name: 'Texas', yoy_price: 1, forecast_12m: 3 };

    it('add a market each, next to the series', async () => {
      const macros = [quarterly('TXSTHPI', 100, 101, 102, 103, 104), quarterly('USSTHPI', 1, 2)];
      const { read } = await merged(old, { index: undefined, macro: macros, ignored: [] }, NOW);
      expect(read['markets']).to.deep.equal([
        {
          id: 0,
          cbsa: '00000',
          name: 'United States',
          yoy_price: null,
          signal: null,
          risk_score: null,
          forecast_12m: null,
        },
        { id: 48, cbsa: '00048', name: 'Texas', yoy_price: 4, signal: null, risk_score: null, forecast_12m: null },
        ...(rows['markets'] ?? []),
      ]);
      const entry = (read['series'] as { series_id: string }[]).find(({ series_id }) => series_id === 'TXSTHPI');
      expect(entry).to.include({ title: 'All-Transactions House Price Index for Texas', geography: 'Texas' });
      expect(entry)
        .to.have.property('notes')
        .that.matches(/^This product uses FHFA data/);
    });

    it('keep their forecasts if only the series is replaced', async () => {
      const imported = { index: undefined, macro: [quarterly('TXSTHPI', 100, 1, 1, 1, 110)], ignored: [] };
      const { read } = await merged(withTexas(texas), imported, NOW);
      expect(read['markets']?.[0]).to.include({ cbsa: '00048', yoy_price: 10, forecast_12m: 3 });
    });

    it('stay if the index of the metros is replaced, and are not reported as dropped', async () => {
      const { read, droppedMarkets } = await merged(
        withTexas(texas),
        { index: [area('10000', 100)], macro: [], ignored: [] },
        NOW,
      );
      expect(read['markets']?.map((row) => (row as { cbsa: string }).cbsa)).to.deep.equal(['00048', '10000']);
      expect(read['markets']?.[0]).to.include({ yoy_price: 1, forecast_12m: null });
      expect(droppedMarkets).to.deep.equal(['20000']);
    });

    it('are no market if the series is not quarterly', async () => {
      const { read } = await merged(old, { index: undefined, macro: [macro('USSTHPI', 1, 2)], ignored: [] }, NOW);
      expect(read).to.not.have.property('markets');
    });
  });

  it('removes the observations of a series without values', async () => {
    const { read } = await merged(old, { index: undefined, macro: [macro('D')], ignored: [] }, NOW);
    expect(read['observations']).to.deep.equal([observation('B', 1), observation('F', 3)]);
    expect(read['series']?.[1]).to.include({ series_id: 'D', observation_start: null, observation_end: null });
  });

  it('writes every collection of Metro Forecast into a new dataset', async () => {
    const { read, sources } = await merged(undefined, { index: undefined, macro: [macro('A', 1)], ignored: [] }, NOW);
    expect(Object.keys(read).sort()).to.deep.equal(
      Object.keys(rows)
        .filter((name) => name !== 'permits')
        .sort(),
    );
    expect(read['markets']).to.deep.equal([]);
    expect(sources).to.deep.equal(['A']);
  });

  it('stores publisher, newest period and expected delay in the series and its source', async () => {
    const { collections, sources } = await merge(
      undefined,
      { index: [area('10000', 1, 2)], macro: [], ignored: [] },
      NOW,
    );
    let entry: object | undefined;
    for await (const batch of collections.get('series') ?? []) entry = batch[0];
    expect(entry).to.include({
      series_id: 'metro_hpi',
      kind: 'metro',
      cadence: 'quarterly',
      seasonal_adjustment: 'NSA',
      observation_start: '2024-01-01',
      observation_end: '2024-04-01',
      last_updated: NOW,
      notes: 'This product uses FHFA data but is neither endorsed nor certified by FHFA',
    });
    expect(sources).to.deep.equal([
      {
        id: 'metro_hpi',
        title: 'FHFA House Price Index, All-Transactions, by Metro Area',
        cadence: 'quarterly',
        latest_period: '2024-04-01',
        last_loaded_at: NOW,
        late_after_seconds: 155 * 86_400,
        stale_after_seconds: 247 * 86_400,
        attribution: 'This product uses FHFA data but is neither endorsed nor certified by FHFA',
      },
    ]);
  });

  it('sets yoy_price to null if the value one year before is missing', async () => {
    const gap: MetroIndex = { cbsa: '10000', name: 'Gap', quarters: [8000, 8001, 8005, 8006], values: [1, 2, 3, 4] };
    const none: MetroIndex = { cbsa: '20000', name: 'None', quarters: [], values: [] };
    const { read } = await merged(undefined, { index: [gap, none], macro: [], ignored: [] }, NOW);
    expect(read['markets']?.map((market) => (market as { yoy_price: unknown }).yoy_price)).to.deep.equal([null, null]);
  });
});
