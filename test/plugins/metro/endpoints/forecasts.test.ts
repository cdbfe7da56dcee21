import { expect } from 'chai';
import { rounded } from '../../../../plugins/metro/rounding.js';
import { ATLANTA, collections, DETROIT, documents, HOUSTON, manifest, TUCSON } from '../../../support/fixture.js';
import { memoryDataset } from '../../../support/memory-dataset.js';
import { otherAdapters, publishTo } from '../../../support/other-adapters.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describe('plugin forecasts', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('GET /forecasts has the shape of /markets, and only markets with a forecast', async () => {
    const { json } = await service.get('/forecasts');
    const scored = collections.markets.filter(({ forecast_12m }) => forecast_12m !== null);
    expect(json).to.deep.equal({
      data: scored.map((market) => ({
        ...market,
        kind: 'metropolitan',
        horizon_months: 12,
        point: market.forecast_12m,
      })),
    });
  });

  it('GET /forecasts/26420/history has only completed runs, oldest first, with nulls', async () => {
    const { json } = await service.get(`/forecasts/${HOUSTON}/history`);
    expect(json.data.map(({ point }: { point: number }) => point)).to.deep.equal([7.5, 2.5, 3.5, 1.5]);
    expect(json.data[1]).to.deep.equal({
      run_at: '2025-06-01T00:00:00Z',
      model_version: 'test-1.0',
      horizon_months: 12,
      target_period: '2026-10-01',
      point: 2.5,
      lower_80: null,
      upper_80: null,
      basis: 'reconstructed',
      vintage: null,
    });
  });

  it('GET /markets/12060/forecast-track has the realized values', async () => {
    const { json } = await service.get(`/markets/${ATLANTA}/forecast-track`);
    expect(json.data[0]).to.deep.equal({
      run_at: '2024-11-26T14:00:00Z',
      model_version: 'test-1.0',
      horizon_months: 12,
      target_period: '2025-10-01',
      point: 3.1,
      lower_80: 3.1 - 4,
      upper_80: 7.1,
      basis: 'published',
      vintage: '2024-11-26',
      run_id: 1,
      signal: 'hold',
      risk_score: 'C',
      realized: 4.5,
      error_pp: 1.4,
      within_80: true,
      realized_as_of: '2025-12-31',
      decline_probability: 0.2,
      benchmark: 1.5,
      ar1_nation: 2,
      shrunk_mean: 3,
    });
  });

  it('GET /markets/26420/forecast-track has `within_80` false for a miss and null for an open forecast', async () => {
    const { data } = (await service.get(`/markets/${HOUSTON}/forecast-track`)).json;
    expect(data.map((row: { run_id: number }) => row.run_id)).to.deep.equal([1, 2, 4, 5]);
    expect(data[0]).to.include({ realized: -2, error_pp: -9.5, within_80: false });
    expect(data[3]).to.include({ realized: null, error_pp: null, within_80: null, realized_as_of: null });
  });

  for (const path of [`/forecasts/${DETROIT}/history`, `/markets/${TUCSON}/forecast-track`]) {
    it(`GET ${path} of a market without scored runs is an empty list`, async () => {
      const { status, text } = await service.get(path);
      expect(status).to.equal(200);
      expect(text).to.equal('{"data":[]}');
    });
  }

  it('GET /forecasts/99999/history is a 404 market_not_found', async () => {
    const { status, json } = await service.get('/forecasts/99999/history');
    expect([status, json.code]).to.deep.equal([404, 'market_not_found']);
  });

  for (const list of ['forecast-track', 'forecast-history']) {
    it(`GET /${list}?cbsa= has the rows of these areas in the order of their codes, and is a 404 for an unknown code`, async () => {
      const { data } = (await service.get(`/${list}`)).json;
      expect((await service.get(`/${list}?cbsa=${HOUSTON},${ATLANTA}`)).json.data).to.deep.equal(data);
      const ofHouston = data.filter(({ cbsa }: { cbsa: string }) => cbsa === HOUSTON);
      expect((await service.get(`/${list}?cbsa=${HOUSTON}`)).json.data).to.deep.equal(ofHouston);
      const since = await service.get(`/${list}?cbsa=${HOUSTON}&since=2026-01-01`);
      expect(since.json.data).to.have.length(ofHouston.length - 1);
      expect((await service.get(`/${list}?cbsa=${TUCSON}`)).json.data).to.deep.equal([]);
      const unknown = await service.get(`/${list}?cbsa=${HOUSTON},99999`);
      expect([unknown.status, unknown.json.code]).to.deep.equal([404, 'market_not_found']);
      expect((await service.get(`/${list}?cbsa=1`)).status).to.equal(400);
    });
  }

  it('returns the forecasts of a redrawn area in the list and in the track of the area', async () => {
    const without = (name: string) => documents[name]!.filter(({ cbsa }) => cbsa !== HOUSTON);
    const redrawn = { ...documents, markets: without('markets'), hpi: without('hpi') };
    const other = await startTestApp({ config: { adapter: await otherAdapters['memory']!() } });
    try {
      await publishTo(other, memoryDataset(manifest, redrawn));
      const { data } = (await other.get('/forecast-track')).json;
      const codes = new Set(data.map(({ cbsa }: { cbsa: string }) => cbsa));
      expect([...codes]).to.deep.equal([ATLANTA, HOUSTON]);
      for (const code of codes) {
        const { json } = await other.get(`/markets/${code}/forecast-track`);
        const rows = json.data.map((row: object) => ({ cbsa: code, ...row }));
        expect(rows).to.deep.equal(data.filter(({ cbsa }: { cbsa: string }) => cbsa === code));
        expect((await other.get(`/forecasts/${code}/history`)).json.data).to.have.length(rows.length);
      }
      expect((await other.get(`/markets/${HOUSTON}`)).status).to.equal(404);
    } finally {
      await other.close();
    }
  });

  it('GET /forecasts/1/history is a 400 invalid_parameter', async () => {
    const { status, json } = await service.get('/forecasts/1/history');
    expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
  });

  it('GET /forecast-runs has only completed runs, newest first', async () => {
    const { json } = await service.get('/forecast-runs');
    expect(json.data.map(({ id }: { id: number }) => id)).to.deep.equal([5, 4, 2, 1]);
    expect(json.data[3]).to.deep.equal({
      id: 1,
      model_version: 'test-1.0',
      run_at: '2024-11-26T14:00:00Z',
      features: null,
      notes: null,
      horizon_months: 12,
      basis: 'published',
      vintage: '2024-11-26',
      data_through: '2024-07-01',
      computed_at: '2024-11-26T14:00:00Z',
      published_at: '2024-11-26T14:00:00Z',
      rules: { expand_point: 4, expand_lower: 0, contract_point: -1, margin: 1, grades: [0.1, 0.2, 0.35, 0.5] },
      coefficients: [{ name: 'growth_4q', value: 0.5 }],
      signal_change_share: null,
      inputs: [],
    });
    const unknown = {
      basis: 'reconstructed',
      vintage: null,
      computed_at: null,
      published_at: null,
      rules: null,
      coefficients: [],
    };
    expect(json.data[2]).to.deep.include(unknown);
  });

  for (const path of [`/forecasts/${HOUSTON}/history`, `/markets/${HOUSTON}/forecast-track`]) {
    it(`GET ${path}?since=...&until=... has the targets between two dates, inclusive`, async () => {
      const points = async (query: string) =>
        (await service.get(`${path}?${query}`)).json.data.map(({ point }: { point: number }) => point);
      expect(await points('until=2025-10-01')).to.deep.equal([7.5]);
      expect(await points('since=2025-10-02')).to.deep.equal([2.5, 3.5, 1.5]);
      expect(await points('since=2025-10-01&until=2026-09-30')).to.deep.equal([7.5]);
      const { status, json } = await service.get(`${path}?since=2025-10-02&until=2025-10-01`);
      expect([status, json.code, json.details[0].name]).to.deep.equal([400, 'invalid_parameter', 'until']);
    });
  }

  for (const [all, one] of [
    ['/forecast-history', (cbsa: string) => `/forecasts/${cbsa}/history`],
    ['/forecast-track', (cbsa: string) => `/markets/${cbsa}/forecast-track`],
  ] as const) {
    it(`GET ${all} has the rows of every market with its code, even between two dates`, async () => {
      for (const query of ['', '?since=2026-01-01', '?until=2025-10-01']) {
        const expected: object[] = [];
        for (const cbsa of [ATLANTA, DETROIT, HOUSTON, TUCSON]) {
          const { data } = (await service.get(one(cbsa) + query)).json;
          expected.push(...data.map((row: object) => ({ cbsa, ...row })));
        }
        expect(expected).to.have.length.above(1);
        expect((await service.get(all + query)).json, query).to.deep.equal({ data: expected });
      }
      expect((await service.get(`${all}?since=2026-01-02&until=2026-01-01`)).json.code).to.equal('invalid_parameter');
    });
  }

  it('GET /forecast-backtest/breakdown?by=grade has the scores computed by hand', async () => {
    const { json } = await service.get('/forecast-backtest/breakdown?by=grade');
    expect(json.data).to.deep.equal([
      {
        group: 'B',
        n: 1,
        mean_point: 7.5,
        mean_realized: -2,
        mae_pp: 9.5,
        benchmark_mae_pp: 1,
        ar1_nation_mae_pp: 3,
        shrunk_mean_mae_pp: 4,
        bias_pp: -9.5,
        benchmark_bias_pp: -1,
        coverage_80: 0,
        // The interval has a width of 8, and the outcome is 5.5 outside the interval: 8 + 2 / 0.2 * 5.5.
        interval_score_80: 63,
        direction_hit_rate: 0,
        benchmark_hit_rate: 1,
        always_up_hit_rate: 0,
        declines: 1,
        declines_called: 0,
        decline_calls: 0,
        decline_share: 1,
        predicted_decline_share: 0.1,
        brier_score: 0.81,
        // The logarithmic loss of a probability of 0.1 is -ln(0.1).
        log_loss: rounded(-Math.log(0.1)),
      },
      {
        group: 'C',
        n: 1,
        mean_point: 3.1,
        mean_realized: 4.5,
        mae_pp: 1.4,
        benchmark_mae_pp: 3,
        ar1_nation_mae_pp: 2.5,
        shrunk_mean_mae_pp: 1.5,
        bias_pp: 1.4,
        benchmark_bias_pp: 3,
        coverage_80: 1,
        interval_score_80: 8,
        direction_hit_rate: 1,
        benchmark_hit_rate: 1,
        always_up_hit_rate: 1,
        declines: 0,
        declines_called: 0,
        decline_calls: 0,
        decline_share: 0,
        predicted_decline_share: 0.2,
        brier_score: 0.04,
        log_loss: 0.2231,
      },
    ]);
  });

  const groups = {
    year: ['2025'],
    quarter: ['Q4'],
    signal: ['hold'],
    state: ['GA', 'TX'],
    size: ['2 to 4', '6 to 8'],
    probability: ['10 to 20%', '20 to 30%'],
    basis: ['published'],
  };
  for (const [by, expected] of Object.entries(groups)) {
    it(`GET /forecast-backtest/breakdown?by=${by} has the expected groups`, async () => {
      const { data } = (await service.get(`/forecast-backtest/breakdown?by=${by}`)).json;
      expect(data.map(({ group }: { group: string }) => group)).to.deep.equal(expected);
      expect(data.reduce((sum: number, { n }: { n: number }) => sum + n, 0)).to.equal(2);
    });
  }

  it('GET /forecast-backtest/breakdown?since= and until= exclude other targets', async () => {
    const rows = async (query: string) =>
      (await service.get(`/forecast-backtest/breakdown?by=year&${query}`)).json.data;
    const [{ n }] = await rows('since=2025-01-01&until=2025-12-31');
    expect(n).to.equal(2);
    expect(await rows('until=2024-12-31')).to.deep.equal([]);
    expect(await rows('since=2026-01-01')).to.deep.equal([]);
  });

  it('GET /forecast-backtest/breakdown is a 400 if `by` is missing or unknown', async () => {
    expect((await service.get('/forecast-backtest/breakdown')).json.code).to.equal('missing_parameter');
    expect((await service.get('/forecast-backtest/breakdown?by=planet')).json.code).to.equal('invalid_parameter');
  });

  it('GET /markets/{cbsa}/drivers has the contributions to the newest forecast and their changes', async () => {
    const { json } = await service.get(`/markets/${HOUSTON}/drivers`);
    const run = { run_id: 5, point: 1.5 };
    expect(json.data).to.deep.equal([
      { ...run, input: 'intercept', contribution_pp: 1.1, prior_contribution_pp: 1, change_pp: 0.1 },
      { ...run, input: 'growth_4q', contribution_pp: 0.4, prior_contribution_pp: 2.5, change_pp: -2.1 },
    ]);
    expect((await service.get(`/markets/${DETROIT}/drivers`)).json).to.deep.equal({ data: [] });
    expect((await service.get('/markets/99999/drivers')).json.code).to.equal('market_not_found');
  });

  it('GET /markets/{cbsa}/quantiles has the bounds, the point, and quartiles on the scale of logarithms', async () => {
    const { data } = (await service.get(`/markets/${HOUSTON}/quantiles`)).json;
    expect(data.map(({ probability }: { probability: number }) => probability)).to.deep.equal([
      0.1, 0.25, 0.5, 0.75, 0.9,
    ]);
    const [lower, first, point, third, upper] = data.map(({ value }: { value: number }) => Math.log1p(value / 100));
    expect(data[0]).to.deep.equal({ run_id: 5, probability: 0.1, value: -2.5 });
    expect(data[2].value).to.equal(1.5);
    expect(data[4].value).to.equal(5.5);
    expect((first - point) / (lower - point)).to.be.closeTo(0.6745 / 1.2816, 1e-3);
    expect((third - point) / (upper - point)).to.be.closeTo(0.6745 / 1.2816, 1e-3);
    expect((await service.get(`/markets/${DETROIT}/quantiles`)).json).to.deep.equal({ data: [] });
  });

  it('GET /forecast-backtest is one row', async () => {
    const { json } = await service.get('/forecast-backtest');
    expect(json).to.deep.equal({ data: collections.backtests[0] });
  });

  describe('with completed runs that span less than 12 months', () => {
    let young: TestApp;
    before(async () => {
      young = await startTestApp({
        collections: {
          ...documents,
          forecast_runs: documents['forecast_runs']!.filter(({ id }) => id !== 1),
          forecasts: documents['forecasts']!.filter(({ run_id }) => run_id !== 1),
        },
      });
    });
    after(() => young.close());

    it('GET /forecast-backtest is null', async () => {
      const { status, text } = await young.get('/forecast-backtest');
      expect([status, text]).to.deep.equal([200, '{"data":null}']);
    });
  });

  describe('without runs', () => {
    let bare: TestApp;
    before(async () => {
      bare = await startTestApp({ collections: { ...documents, forecast_runs: [], forecasts: [], backtests: [] } });
    });
    after(() => bare.close());

    for (const path of [
      '/forecast-runs',
      `/forecasts/${HOUSTON}/history`,
      '/movers',
      '/signals',
      '/forecast-backtest/breakdown?by=year',
    ]) {
      it(`GET ${path} is an empty list`, async () => {
        const { status, text } = await bare.get(path);
        expect([status, text]).to.deep.equal([200, '{"data":[]}']);
      });
    }

    it('GET /forecast-backtest is null', async () => {
      expect((await bare.get('/forecast-backtest')).text).to.equal('{"data":null}');
    });

    it('GET /status reports the model as unknown', async () => {
      const { json } = await bare.get('/status');
      expect(json.components[2]).to.include({ id: 'model', status: 'unknown', updated_at: null });
    });
  });
});
