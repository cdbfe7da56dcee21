import { expect } from 'chai';
import { ATLANTA, documents, HOUSTON } from '../../../support/fixture.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describe('plugin signals', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('GET /signals has the newest completed run, by CBSA code', async () => {
    const { json } = await service.get('/signals');
    expect(json.data).to.have.length(2);
    expect(json.data[0]).to.deep.equal({
      cbsa: ATLANTA,
      name: 'Atlanta, GA',
      signal: 'expand',
      risk_score: 'A',
      forecast_12m: 5.25,
      lower_80: 1.25,
      upper_80: 9.25,
      run_id: 5,
      run_at: '2026-03-01T00:00:00Z',
      model_version: 'test-1.0',
      basis: 'reconstructed',
    });
  });

  it('GET /movers compares the two newest completed runs, largest change first', async () => {
    const { json } = await service.get('/movers');
    expect(json.data).to.deep.equal([
      {
        cbsa: HOUSTON,
        name: 'Houston, TX',
        forecast_12m: 1.5,
        prior_forecast_12m: 3.5,
        delta_pp: -2,
        signal: 'hold',
        prior_signal: 'contract',
        run_at: '2026-03-01T00:00:00Z',
        prior_run_at: '2025-12-01T00:00:00Z',
        basis: 'reconstructed',
        prior_basis: 'reconstructed',
        driver: 'growth_4q',
        driver_pp: -2.1,
      },
      {
        cbsa: ATLANTA,
        name: 'Atlanta, GA',
        forecast_12m: 5.25,
        prior_forecast_12m: 4.25,
        delta_pp: 1,
        signal: 'expand',
        prior_signal: 'hold',
        run_at: '2026-03-01T00:00:00Z',
        prior_run_at: '2025-12-01T00:00:00Z',
        basis: 'reconstructed',
        prior_basis: 'reconstructed',
        driver: null,
        driver_pp: null,
      },
    ]);
  });

  it('GET /movers?limit=1 has one row', async () => {
    const { json } = await service.get('/movers?limit=1');
    expect(json.data.map(({ cbsa }: { cbsa: string }) => cbsa)).to.deep.equal([HOUSTON]);
  });

  it('GET /movers?limit=50 is allowed', async () => {
    expect((await service.get('/movers?limit=50')).status).to.equal(200);
  });

  for (const limit of ['0', '51', '-1', '5.0', '05', '+5', '1e1', 'five', '', '%20', '9007199254740993']) {
    it(`GET /movers?limit=${limit} is a 400 invalid_parameter`, async () => {
      const { status, json } = await service.get(`/movers?limit=${limit}`);
      expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
      expect(json.details[0]).to.include({ in: 'query', name: 'limit' });
    });
  }

  describe('with more markets than the default limit, and ties', () => {
    let wide: TestApp;
    const codes = Array.from({ length: 60 }, (_, index) => String(10_000 + index));
    before(async () => {
      const template = documents['markets']![0]!;
      const forecast = documents['forecasts']!.find(({ run_id, cbsa }) => run_id === 5 && cbsa === ATLANTA)!;
      const prior = documents['forecasts']!.find(({ run_id, cbsa }) => run_id === 4 && cbsa === ATLANTA)!;
      wide = await startTestApp({
        collections: {
          ...documents,
          hpi: [],
          markets: codes.map((cbsa, id) => ({ ...template, id, cbsa })),
          // Even codes rise by one and odd codes fall by one, so all changes have the same size. The last market is
          // new.
          forecasts: [
            ...codes.slice(0, -1).map((cbsa, i) => ({ ...prior, cbsa, point: i % 2 ? 6.1 : 4.1 })),
            ...codes.map((cbsa) => ({ ...forecast, cbsa, point: 5.1 })),
          ],
        },
      });
    });
    after(() => wide.close());

    it('GET /movers has 5 rows, with ties by CBSA code and without floating-point noise', async () => {
      const { data } = (await wide.get('/movers')).json;
      expect(data.map(({ cbsa }: { cbsa: string }) => cbsa)).to.deep.equal(codes.slice(0, 5));
      expect(data.map(({ delta_pp }: { delta_pp: number }) => delta_pp)).to.deep.equal([1, -1, 1, -1, 1]);
    });

    it('GET /movers?limit=50 has 50 rows', async () => {
      expect((await wide.get('/movers?limit=50')).json.data).to.have.length(50);
    });

    it('GET /signals includes the new market', async () => {
      expect((await wide.get('/signals')).json.data).to.have.length(60);
    });
  });
});
