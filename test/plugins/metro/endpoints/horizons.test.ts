import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

interface Row {
  readonly cbsa: string;
  readonly horizon_months: number;
  readonly forecast_12m: number | null;
  readonly point: number;
  readonly lower_80: number;
  readonly upper_80: number;
  readonly target_period: string;
  readonly run_id: number;
}

describe('horizon_months', () => {
  let service: TestApp;
  before(async () => {
    const path = join(packageRoot, 'plugins/metro/dataset');
    service = await startTestApp({ config: { adapter: { use: 'json', options: { path } } } });
  });
  after(() => service.close());

  const dataOf = async (target: string) => (await service.get(target)).json.data;

  it('is 12 by default: `point` is then `forecast_12m`, and both requests share a cache key', async () => {
    const rows: Row[] = await dataOf('/forecasts');
    expect(
      rows.every(({ horizon_months, point, forecast_12m }) => horizon_months === 12 && point === forecast_12m),
    ).to.equal(true);
    const [one, other] = [await service.get('/forecasts'), await service.get('/forecasts?horizon_months=12')];
    expect(one.headers['etag']).to.equal(other.headers['etag']);
  });

  for (const [horizon, target, run] of [
    [3, '2026-07-01', 2026203],
    [6, '2026-10-01', 2026206],
    [24, '2028-04-01', 2026224],
  ] as const) {
    it(`GET /forecasts?horizon_months=${horizon} has the newest run of the horizon, and forecast_12m`, async () => {
      const rows: Row[] = await dataOf(`/forecasts?horizon_months=${horizon}&sort=-point`);
      expect(rows).to.have.length(36);
      const twelve = new Map<string, Row>((await dataOf('/forecasts')).map((row: Row) => [row.cbsa, row]));
      for (const row of rows) {
        expect(row).to.include({ horizon_months: horizon, target_period: target, run_id: run });
        expect(row.lower_80).to.be.at.most(row.point);
        expect(row.upper_80).to.be.at.least(row.point);
        expect(row.forecast_12m).to.equal(twelve.get(row.cbsa)?.forecast_12m);
      }
      expect(rows.map(({ point }) => point)).to.deep.equal(rows.map(({ point }) => point).sort((a, b) => b - a));
    });

    it(`GET /forecast-backtest?horizon_months=${horizon} scores the quarters of the record`, async () => {
      const backtest = await dataOf(`/forecast-backtest?horizon_months=${horizon}`);
      expect(backtest.horizon_months).to.equal(horizon);
      expect(backtest.n_runs).to.equal(20 - horizon / 3);
    });

    it(`tracks and runs of ${horizon} months are returned only on request`, async () => {
      const own: Row[] = await dataOf(`/markets/26420/forecast-track?horizon_months=${horizon}`);
      expect(own.map(({ run_id }) => run_id)).to.deep.equal([run]);
      expect(await dataOf(`/forecasts/26420/history?horizon_months=${horizon}`)).to.have.length(1);
      const listed: Row[] = await dataOf(`/forecast-track?horizon_months=${horizon}&kind=metropolitan`);
      expect(listed.every(({ run_id }) => run_id === run)).to.equal(true);
      const ids = (await dataOf(`/forecast-runs?horizon_months=${horizon}`)).map(({ id }: { id: number }) => id);
      expect(ids).to.deep.equal([run]);
      const main: Row[] = await dataOf('/forecast-track');
      expect(main.every(({ horizon_months }) => horizon_months === 12)).to.equal(true);
    });
  }

  it('has the nation and the states at 24 months, and not at 3 and 6', async () => {
    const counts = [];
    for (const horizon of [3, 6, 24])
      counts.push((await dataOf(`/forecasts?horizon_months=${horizon}&kind=state,nation`)).length);
    expect(counts).to.deep.equal([0, 0, 8]);
  });

  it('must be one of the served horizons', async () => {
    const { status, json } = await service.get('/forecasts?horizon_months=9');
    expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
  });
});
