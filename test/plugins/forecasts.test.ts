/** The endpoints of the forecasts group, through real HTTP. */
import { expect } from 'chai';
import { ATLANTA, collections, DETROIT, documents, HOUSTON, TUCSON } from '../support/fixture.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

describe('plugin forecasts', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('GET /forecasts has the shape of /markets, and only markets with a forecast', async () => {
    const { json } = await service.get('/forecasts');
    expect(json).to.deep.equal({ data: collections.markets.filter(({ forecast_12m }) => forecast_12m !== null) });
  });

  it('GET /forecasts/26420/history is oldest first, of completed runs only, nulls kept', async () => {
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
    });
  });

  it('GET /markets/12060/forecast-track shows what came true', async () => {
    const { json } = await service.get(`/markets/${ATLANTA}/forecast-track`);
    expect(json.data[0]).to.deep.equal({
      run_at: '2024-12-01T00:00:00Z',
      model_version: 'test-1.0',
      horizon_months: 12,
      target_period: '2025-10-01',
      point: 3.1,
      lower_80: 3.1 - 4,
      upper_80: 7.1,
      run_id: 1,
      signal: 'hold',
      risk_score: 'C',
      realized: 4.5,
      error_pp: 1.4,
      within_80: true,
      realized_as_of: '2025-12-31',
    });
  });

  it('GET /markets/26420/forecast-track tells a miss from an open forecast', async () => {
    const { data } = (await service.get(`/markets/${HOUSTON}/forecast-track`)).json;
    expect(data.map((row: { run_id: number }) => row.run_id)).to.deep.equal([1, 2, 4, 5]);
    expect(data[0]).to.include({ realized: 2, error_pp: -5.5, within_80: false });
    expect(data[3]).to.include({ realized: null, error_pp: null, within_80: null, realized_as_of: null });
  });

  for (const path of [`/forecasts/${DETROIT}/history`, `/markets/${TUCSON}/forecast-track`]) {
    it(`GET ${path} of a market that no run scored is an empty list`, async () => {
      const { status, text } = await service.get(path);
      expect(status).to.equal(200);
      expect(text).to.equal('{"data":[]}');
    });
  }

  it('GET /forecasts/99999/history is a 404 market_not_found', async () => {
    const { status, json } = await service.get('/forecasts/99999/history');
    expect([status, json.code]).to.deep.equal([404, 'market_not_found']);
  });

  it('GET /forecasts/1/history is a 400 invalid_parameter', async () => {
    const { status, json } = await service.get('/forecasts/1/history');
    expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
  });

  it('GET /forecast-runs is newest first, of completed runs only', async () => {
    const { json } = await service.get('/forecast-runs');
    expect(json.data.map(({ id }: { id: number }) => id)).to.deep.equal([5, 4, 2, 1]);
    expect(json.data[3]).to.deep.equal({
      id: 1,
      model_version: 'test-1.0',
      run_at: '2024-12-01T00:00:00Z',
      features: null,
      notes: null,
      horizon_months: 12,
    });
  });

  it('GET /forecast-backtest is one row', async () => {
    const { json } = await service.get('/forecast-backtest');
    expect(json).to.deep.equal({ data: collections.backtests[0] });
  });

  describe('over a dataset whose completed runs span under 12 months', () => {
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

  describe('over a dataset without runs', () => {
    let bare: TestApp;
    before(async () => {
      bare = await startTestApp({ collections: { ...documents, forecast_runs: [], forecasts: [], backtests: [] } });
    });
    after(() => bare.close());

    for (const path of ['/forecast-runs', `/forecasts/${HOUSTON}/history`, '/movers', '/signals']) {
      it(`GET ${path} is an empty list`, async () => {
        const { status, text } = await bare.get(path);
        expect([status, text]).to.deep.equal([200, '{"data":[]}']);
      });
    }

    it('GET /forecast-backtest is null', async () => {
      expect((await bare.get('/forecast-backtest')).text).to.equal('{"data":null}');
    });

    it('GET /status says that the model is unknown', async () => {
      const { json } = await bare.get('/status');
      expect(json.components[2]).to.include({ id: 'model', status: 'unknown', updated_at: null });
    });
  });
});
