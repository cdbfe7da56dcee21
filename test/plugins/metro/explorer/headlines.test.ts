import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { request } from '../../../support/http-client.js';
import { pageModules } from '../../../support/page-modules.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const { commonCause } = await pageModules('plugins/metro/explorer/browser/inputs');
const { findingOf } = await pageModules('plugins/metro/explorer/browser/markets/texts');

// biome-ignore lint/suspicious/noExplicitAny: rows of any endpoint
type Row = Readonly<Record<string, any>>;

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
const signed = (value: number) => `${value < 0 ? '−' : '\\+'}${Math.abs(value).toFixed(1)}%`;
const move = (value: number, [fall, rise]: readonly [string, string]) =>
  `${value < 0 ? fall : rise} ${Math.abs(value).toFixed(1)}%`;
const quarter = (day: string) => `${day.slice(0, 4)} Q${Math.ceil(Number(day.slice(5, 7)) / 3)}`;

describe('the headlines of the sample dataset', () => {
  let app: TestApp;
  const listOf = async (target: string): Promise<readonly Row[]> => (await app.get(target)).json.data;
  before(async () => {
    const path = join(packageRoot, 'plugins/metro/dataset');
    app = await startTestApp({
      config: {
        adapter: { use: 'json', options: { path } },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'explore', 'status'],
        auth: { tiers: { public: {}, enterprise: {} }, anonymous: 'public' },
      },
    });
  });
  after(() => app?.close());

  it('of the front page match the index, the forecasts and the backtest', async () => {
    const { text } = await request(`${app.origin}/`, { headers: { Accept: 'text/html' } });
    const history = await listOf('/observations?series_id=USSTHPI');
    const { period_start: last, value: now } = history.at(-1)!;
    const yearBefore = `${Number(last.slice(0, 4)) - 1}${last.slice(4)}`;
    const then = history.find(({ period_start }) => period_start === yearBefore)!['value'];
    const [nation] = await listOf('/markets?kind=nation');
    const points = (await listOf('/forecasts')).map(({ forecast_12m }) => forecast_12m);
    expect(text).to.contain(
      `House prices ${move((100 * (now - then)) / then, ['fell', 'rose'])} in the year to ${quarter(last)} in the ` +
        `United States; the model expects ${move(nation!['forecast_12m'], ['a fall of', 'a rise of'])} by ` +
        `${quarter(nation!['target_period'])}.`,
    );
    const [least, most] = [Math.min(...points), Math.max(...points)];
    expect(text).to.match(
      new RegExp(`the forecasts range from [^(]+ \\(${signed(least)}\\) to [^(]+ \\(${signed(most)}\\)`),
    );
    const rising = points.filter((point) => point > 0).length;
    expect(text).to.contain(
      `${rising === points.length ? `all ${rising}` : `${rising} of ${points.length}`} metros by`,
    );
    const due = (await listOf('/forecast-track')).filter(({ realized }) => realized !== null);
    const backtest = (await app.get('/forecast-backtest')).json.data;
    expect(due.length).to.equal(backtest.n);
    const off = mean(due.map(({ point, realized }) => Math.abs(realized - point)));
    expect(text).to.contain(`Past forecasts were off by ${off.toFixed(1)} percentage points on average`);
  });

  it('of the movers match the forecasts of both runs', async () => {
    const [newest, prior] = await listOf('/forecast-runs');
    const track = await listOf('/forecast-track');
    const pointsOf = (run: Row) => track.filter(({ run_id }) => run_id === run['id']).map(({ point }) => point);
    const cause = commonCause(newest, prior);
    expect(cause.change).to.be.closeTo(mean(pointsOf(newest!)) - mean(pointsOf(prior!)), 0.001);
    const parts = newest!['inputs'].map(({ name, mean_contribution_pp }: Row, i: number) => {
      expect(prior!['inputs'][i].name).to.equal(name);
      return { part: mean_contribution_pp - prior!['inputs'][i].mean_contribution_pp };
    });
    const sign = Math.sign(cause.change);
    const largest = Math.max(...parts.map(({ part }: { part: number }) => sign * part));
    expect(sign * cause.part).to.be.closeTo(largest, 1e-9);
  });

  it('of the list of markets match the forecasts', async () => {
    const markets = await listOf('/markets');
    const rows = markets.map(({ name, forecast_12m, yoy_price, risk_score, signal }) => ({
      ...{ name, forecast: forecast_12m, last: yoy_price, grade: risk_score, signal },
    }));
    const target = markets.find(({ forecast_12m }) => forecast_12m !== null)!['target_period'];
    const chosen = { q: '', state: '', signal: '', grade: '' };
    const shown = { run: { target }, isNewest: true, until: '2025-10-01', chosen };
    const rising = rows.filter(({ forecast }) => forecast > 0).length;
    const known = rows.filter(({ forecast }) => forecast !== null).length;
    const among = rising === known ? `all ${known}` : rising === 0 ? `none of the ${known}` : `${rising} of ${known}`;
    expect(findingOf(rows, { ...shown, measure: 'forecast' })).to.equal(
      `House prices are expected to rise in ${among} metros by ${quarter(target)}`,
    );
  });
});
