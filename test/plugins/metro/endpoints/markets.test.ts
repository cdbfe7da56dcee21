import { expect } from 'chai';
import { ATLANTA, collections, documents, HOUSTON, TUCSON } from '../../../support/fixture.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const rows = collections.markets.map((market) => ({ ...market, kind: 'metropolitan' }));

describe('plugin markets', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('GET /markets lists every market by CBSA code, nulls included', async () => {
    const { status, json } = await service.get('/markets');
    expect(status).to.equal(200);
    expect(json).to.deep.equal({ data: rows });
  });

  it('GET /markets/26420 is a single object', async () => {
    const { status, json, headers } = await service.get(`/markets/${HOUSTON}`);
    expect(status).to.equal(200);
    expect(headers['content-type']).to.equal('application/json; charset=utf-8');
    expect(json).to.deep.equal(rows[2]);
  });

  it('GET /markets/46060 keeps nullable keys with null', async () => {
    const { json } = await service.get(`/markets/${TUCSON}`);
    expect(json).to.include({ signal: null, risk_score: null, yoy_price: null, forecast_12m: null });
  });

  for (const path of ['', '/history', '/forecast-track']) {
    it(`GET /markets/99999${path} is a 404 market_not_found`, async () => {
      const { status, json } = await service.get(`/markets/99999${path}`);
      expect(status).to.equal(404);
      expect(json).to.have.all.keys('error', 'code');
      expect(json.code).to.equal('market_not_found');
      expect(json.error).to.contain('99999');
    });

    for (const code of ['2642', '264200', 'abcde', '2642a', '%20', '٢٦٤٢٠', '-2642', '26420.0']) {
      it(`GET /markets/${code}${path} is a 400 invalid_parameter`, async () => {
        const { status, json } = await service.get(`/markets/${encodeURI(code).replace('%25', '%')}${path}`);
        expect(status).to.equal(400);
        expect(json.code).to.equal('invalid_parameter');
        expect(json.details).to.deep.equal([{ in: 'path', name: 'cbsa', issue: json.details[0].issue }]);
      });
    }
  }

  it('GET /markets/12060/history is oldest first and skips the unpublished quarter', async () => {
    const { json } = await service.get(`/markets/${ATLANTA}/history`);
    expect(json).to.deep.equal({
      data: [
        { period_start: '2025-01-01', value: 200 },
        { period_start: '2025-04-01', value: 202.5 },
        { period_start: '2025-10-01', value: 209 },
      ],
    });
  });

  it('GET /markets/46060/history of a market without an index is an empty list', async () => {
    const { status, text } = await service.get(`/markets/${TUCSON}/history`);
    expect(status).to.equal(200);
    expect(text).to.equal('{"data":[]}');
  });

  it('GET /markets/12060/history?since=...&until=... includes both bounds', async () => {
    const values = async (query: string) =>
      (await service.get(`/markets/${ATLANTA}/history?${query}`)).json.data.map((row: { value: number }) => row.value);
    expect(await values('since=2025-04-01')).to.deep.equal([202.5, 209]);
    expect(await values('until=2025-04-01')).to.deep.equal([200, 202.5]);
    expect(await values('since=2025-02-01&until=2025-09-30')).to.deep.equal([202.5]);
    const { status, json } = await service.get(`/markets/${ATLANTA}/history?since=2025-02-01&until=2025-01-31`);
    expect([status, json.error]).to.deep.equal([
      400,
      'The query parameter "until" must not be before since=2025-02-01.',
    ]);
  });

  it('GET /markets/35620 of a divided metro is a 404 that lists its divisions', async () => {
    for (const path of ['/markets/35620', '/markets/35620/history', '/forecasts/35620/history']) {
      const { status, json } = await service.get(path);
      expect([status, json.code]).to.deep.equal([404, 'market_not_found']);
      expect(json.error).to.equal(
        'New York-Newark-Jersey City, NY-NJ (35620) is not a market, but its divisions are: 29484, 35004, 35084, 35614.',
      );
    }
  });

  it('GET /areas lists metropolitan areas and divisions by code, with and without an index', async () => {
    const { data } = (await service.get('/areas')).json;
    const codes = data.map(({ cbsa }: { cbsa: string }) => cbsa);
    expect(codes).to.have.length(430);
    expect(codes).to.deep.equal([...new Set(codes)].sort());
    const indexed = data.filter(({ has_index }: { has_index: boolean }) => has_index);
    expect(indexed.map(({ cbsa }: { cbsa: string }) => cbsa)).to.deep.equal([ATLANTA, '19820', '26420', TUCSON]);
  });

  it('GET /areas/35620 has its divisions, and each division has its parent', async () => {
    const { json } = await service.get('/areas/35620');
    expect(json).to.deep.include({ kind: 'metropolitan', states: ['NY', 'NJ'], parent: null, has_index: false });
    for (const code of json.divisions) {
      const division = (await service.get(`/areas/${code}`)).json;
      expect(division).to.deep.include({
        kind: 'division',
        parent: '35620',
        divisions: [],
        latitude: json.latitude,
        longitude: json.longitude,
      });
    }
    const missing = await service.get('/areas/99999');
    expect([missing.status, missing.json.code]).to.deep.equal([404, 'area_not_found']);
  });

  it('GET /markets/{cbsa}/history?fields= has the standard errors, or null', async () => {
    const [, ...others] = collections.hpi;
    const hpi = [{ ...collections.hpi[0]!, standard_error: 2.62 }, ...others].map((row) => ({ ...row }));
    const other = await startTestApp({ collections: { ...documents, hpi } });
    try {
      const history = `/markets/${ATLANTA}/history`;
      const { text } = await other.get(history);
      expect(text).to.equal((await service.get(history)).text);
      const { json } = await other.get(`${history}?fields=standard_error,value&until=2025-04-01`);
      expect(json.data).to.deep.equal([
        { period_start: '2025-01-01', value: 200, standard_error: 2.62 },
        { period_start: '2025-04-01', value: 202.5, standard_error: null },
      ]);
      const csv = await other.get(`${history}?fields=standard_error&until=2025-04-01&format=csv`);
      expect(csv.text).to.equal('period_start,value,standard_error\r\n2025-01-01,200,2.62\r\n2025-04-01,202.5,\r\n');
      expect((await other.get(`${history}?format=csv`)).text.split('\r\n')[0]).to.equal('period_start,value');
      const wrong = await other.get(`${history}?fields=error`);
      expect([wrong.status, wrong.json.details[0].name]).to.deep.equal([400, 'fields']);
    } finally {
      await other.close();
    }
  });

  for (const [target, advice] of [
    ['/markets?page=5', 'It has: kind, state, signal, risk_score, sort, fields, limit, after, format, as_of.'],
    ['/markets/12060?limit=5', 'It has: as_of.'],
  ] as const) {
    it(`GET ${target} is a 400 unknown_parameter`, async () => {
      const { status, json } = await service.get(target);
      expect([status, json.code]).to.deep.equal([400, 'unknown_parameter']);
      expect(json.error).to.contain(advice);
    });
  }
});
