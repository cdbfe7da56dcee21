import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const NATION = '00000';
const TEXAS = '00048';
const HOUSTON = '26420';

interface Row {
  readonly cbsa: string;
  readonly kind: string;
}

describe('the nation and the states', () => {
  let service: TestApp;
  before(async () => {
    const path = join(packageRoot, 'plugins/metro/dataset');
    service = await startTestApp({ config: { adapter: { use: 'json', options: { path } } } });
  });
  after(() => service.close());

  const get = async (target: string) => (await service.get(target)).json;
  const rowsOf = async (target: string): Promise<Row[]> => (await get(target)).data;

  for (const list of [
    '/markets',
    '/forecasts',
    '/signals',
    '/movers?limit=50',
    '/forecast-track',
    '/forecast-history',
  ]) {
    const ask = (kind: string) => `${list}${list.includes('?') ? '&' : '?'}kind=${kind}`;
    it(`GET ${list} leaves them out, and lists them with \`kind\``, async () => {
      const codes = async (target: string) => [...new Set((await rowsOf(target)).map(({ cbsa }) => cbsa))].sort();
      const metros = await codes(list);
      expect(metros.filter((cbsa) => cbsa < '10000')).to.deep.equal([]);
      expect(metros.length).to.be.at.least(35);
      expect(await codes(ask('nation'))).to.deep.equal([NATION]);
      const states = await codes(ask('state'));
      expect(states).to.have.length(7).and.to.include(TEXAS);
      expect(await codes(ask('state,nation,division,metropolitan'))).to.deep.equal([NATION, ...states, ...metros]);
    });
  }

  it('GET /markets?kind=state&state=TX is Texas, with its kind', async () => {
    const rows = await rowsOf('/markets?kind=state&state=TX');
    expect(rows.map(({ cbsa, kind }) => [cbsa, kind])).to.deep.equal([[TEXAS, 'state']]);
    const metros = await rowsOf('/markets?state=TX');
    expect(metros.map(({ kind }) => kind)).to.deep.equal(Array(4).fill('metropolitan'));
  });

  it('GET /markets/00048 has the change of its series, and a forecast', async () => {
    const { yoy_price, forecast_12m, kind } = await get(`/markets/${TEXAS}`);
    const changes = (await get('/observations?series_id=TXSTHPI&units=yoy')).data;
    expect(yoy_price).to.be.closeTo(changes.at(-1).value, 1e-4);
    expect(forecast_12m).to.be.a('number');
    expect(kind).to.equal('state');
  });

  it('GET /markets/00000/history is the national series, and `since` narrows it', async () => {
    const { data } = await get('/observations?series_id=USSTHPI');
    expect((await get(`/markets/${NATION}/history`)).data).to.deep.equal(data);
    const since = (await get(`/markets/${NATION}/history?since=2026-01-15`)).data;
    expect(since).to.deep.equal(data.slice(-1));
    const [row] = (await get(`/markets/${NATION}/history?fields=standard_error`)).data;
    expect(row).to.have.property('standard_error', null);
  });

  it('GET /forecast-track?cbsa=... takes codes of any kind', async () => {
    const codes = (await rowsOf(`/forecast-track?cbsa=${TEXAS},${HOUSTON}`)).map(({ cbsa }) => cbsa);
    expect(new Set(codes)).to.deep.equal(new Set([TEXAS, HOUSTON]));
    const narrowed = await rowsOf(`/forecast-track?cbsa=${TEXAS},${HOUSTON}&kind=state`);
    expect(new Set(narrowed.map(({ cbsa }) => cbsa))).to.deep.equal(new Set([TEXAS]));
  });

  it('drivers of a state sum to its point, and quantiles surround it', async () => {
    const { data: drivers } = await get(`/markets/${TEXAS}/drivers`);
    const sum = drivers.reduce((total: number, row: { contribution_pp: number }) => total + row.contribution_pp, 0);
    expect(sum).to.be.closeTo(drivers[0].point, 1e-3);
    expect((await get(`/markets/${TEXAS}/quantiles`)).data).to.have.length(5);
  });

  it('the backtest scores only metros, and the breakdown scores other kinds on request', async () => {
    const countOf = async (kind = '') =>
      (await get(`/forecast-backtest/breakdown?by=basis${kind}`)).data.reduce(
        (n: number, group: { n: number }) => n + group.n,
        0,
      );
    expect(await countOf()).to.equal((await get('/forecast-backtest')).data.n);
    expect(await countOf('&kind=nation')).to.equal(16);
    expect(await countOf('&kind=state')).to.equal(7 * 16);
    const { data } = await get('/forecast-backtest/breakdown?by=state&kind=state');
    expect(data.map(({ group }: { group: string }) => group)).to.deep.equal(['CA', 'FL', 'MO', 'NC', 'OH', 'PA', 'TX']);
  });

  it('GET /areas has them only with `kind`, with or without an index', async () => {
    expect((await rowsOf('/areas')).every(({ cbsa }) => cbsa >= '10000')).to.equal(true);
    const wide = await get('/areas?kind=nation,state');
    expect(wide.data).to.have.length(52);
    expect(wide.data.filter((area: { has_index: boolean }) => area.has_index)).to.have.length(8);
    expect(await get(`/areas/${TEXAS}`)).to.include({ name: 'Texas', kind: 'state', parent: null, has_index: true });
  });

  it('metro_hpi does not contain them: the error names their series', async () => {
    const { status, json } = await service.get(`/observations?series_id=metro_hpi&cbsa=${TEXAS}`);
    expect(status).to.equal(404);
    expect(json.error).to.equal('The index of Texas is the series TXSTHPI and not part of metro_hpi.');
    expect((await rowsOf('/observations?series_id=metro_hpi')).every(({ cbsa }) => cbsa >= '10000')).to.equal(true);
  });

  it('a state without an index is a 404 market_not_found', async () => {
    const { status, json } = await service.get('/markets/00002');
    expect([status, json.code]).to.deep.equal([404, 'market_not_found']);
  });

  it('the default kinds share a cache key with a request that names them', async () => {
    const [one, other] = [await service.get('/markets'), await service.get('/markets?kind=metropolitan,division')];
    expect(one.headers['etag']).to.equal(other.headers['etag']);
  });
});
