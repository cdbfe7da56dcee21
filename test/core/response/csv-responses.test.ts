import { brotliDecompressSync } from 'node:zlib';
import { expect } from 'chai';
import { dataRoute, definePlugin, type Route } from '../../../core/contracts/plugin.js';
import { parseCsv } from '../../support/csv-parser.js';
import { ATLANTA, HOUSTON } from '../../support/fixture.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const things = (items: object, more: object): Route =>
  dataRoute({
    path: '/things',
    operationId: 'listThings',
    summary: 'Things',
    response: {
      description: 'Things.',
      schema: { type: 'object', properties: { data: { type: 'array', items } } },
      example: { data: [] },
    },
    handler: async () => ({ data: [] }),
    ...more,
  });

describe('lists as CSV', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  const csv = { Accept: 'text/csv' };
  const typeOf = async (target: string, accept?: string) => {
    const { status, headers } = await service.get(target, accept === undefined ? {} : { headers: { Accept: accept } });
    return status === 200 ? headers['content-type'] : status;
  };
  const CSV = 'text/csv; charset=utf-8; header=present';
  const JSON_TYPE = 'application/json; charset=utf-8';

  const cases: readonly (readonly [target: string, accept: string | undefined, expected: string | number])[] = [
    ['/markets', undefined, JSON_TYPE],
    ['/markets', '*/*', JSON_TYPE],
    ['/markets', 'text/csv', CSV],
    ['/markets', 'text/*', CSV],
    ['/markets', 'TEXT/CSV; charset=UTF-8', CSV],
    ['/markets', 'text/csv;q=0.5, application/json', JSON_TYPE],
    ['/markets', 'text/csv, */*;q=0.1', CSV],
    ['/markets', 'text/csv; header=absent', 406],
    ['/markets', 'text/csv;q=0', 406],
    ['/markets?format=csv', undefined, CSV],
    ['/markets?format=csv', 'application/json', CSV],
    ['/markets?format=csv', 'image/png', CSV],
    ['/markets?format=json', 'text/csv', JSON_TYPE],
    ['/markets?format=xml', undefined, 400],
    ['/markets?format=csv&format=json', undefined, 400],
    ['/markets/12060', 'text/csv', 406],
    ['/markets/12060?format=csv', undefined, 400],
    ['/forecast-backtest', 'text/csv', 406],
    ['/status', 'text/csv', 406],
    ['/openapi.json?format=json', undefined, 400],
  ];
  for (const [target, accept, expected] of cases) {
    it(`GET ${target} with Accept: ${accept ?? '(none)'} is ${expected}`, async () => {
      expect(await typeOf(target, accept)).to.equal(expected);
    });
  }

  it('GET /markets?format=csv has the columns of the schema, the same rows as the JSON, and empty cells for null', async () => {
    const { text } = await service.get('/markets?format=csv');
    expect(text.split('\r\n').slice(0, 3)).to.deep.equal([
      'id,cbsa,name,signal,risk_score,yoy_price,forecast_12m,' +
        'lower_80,upper_80,decline_probability,target_period,run_id,basis,kind',
      '1,12060,"Atlanta, GA",expand,A,4.5,5.25,1.25,9.25,,2026-10-01,5,reconstructed,metropolitan',
      '2,19820,"Detroit, MI",,,-1.25,,,,,,,,metropolitan',
    ]);
  });

  it('GET /observations?series_id=EMPTY&format=csv of a series without values has the header only', async () => {
    expect((await service.get('/observations?series_id=EMPTY&format=csv')).text).to.equal(
      'period_start,value,cbsa\r\n',
    );
  });

  it('accepts all parameters of the list', async () => {
    const { text } = await service.get('/movers?limit=1&format=csv');
    expect(parseCsv(text)).to.have.length(2);
    const { json } = await service.get('/movers?limit=0&format=csv');
    expect(json.details.map(({ name }: { name: string }) => name)).to.deep.equal(['limit']);
  });

  it('has errors in JSON', async () => {
    const { status, json, headers } = await service.get('/markets/99999/history', { headers: csv });
    expect([status, json.code, headers['content-type']]).to.deep.equal([404, 'market_not_found', JSON_TYPE]);
  });

  it('has a different ETag, and Vary names Accept', async () => {
    const json = await service.get('/markets');
    const first = await service.get('/markets', { headers: csv });
    expect(first.headers.etag).to.be.a('string').and.not.equal(json.headers.etag);
    expect(first.headers.vary).to.contain('Accept');
    expect(first.headers['snapshot-version']).to.equal('fixture-1');
    expect(first.headers['last-modified']).to.equal(json.headers['last-modified']);
    const conditional = (etag: string | undefined) =>
      service.get('/markets', { headers: { ...csv, 'If-None-Match': etag! } });
    expect((await conditional(first.headers.etag)).status).to.equal(304);
    expect((await conditional(json.headers.etag)).status).to.equal(200);
    expect((await service.get('/markets?format=csv')).headers.etag).to.equal(first.headers.etag);
  });

  it('HEAD /markets?format=csv has the headers of GET and no body', async () => {
    const get = await service.get('/markets?format=csv');
    const head = await service.get('/markets?format=csv', { method: 'HEAD' });
    expect(head.bytes).to.have.length(0);
    for (const name of ['content-type', 'content-length', 'etag']) {
      expect(head.headers[name]).to.equal(get.headers[name]);
    }
  });

  it('equals the JSON of every list that the document offers as CSV, including lists of another plugin', async () => {
    const row = {
      type: 'object',
      properties: { 'odd "name"': { type: 'string' }, n: { type: ['number', 'null'] }, deep: { type: 'object' } },
    };
    const data = Array.from({ length: 60 }, (_, i) => ({
      'odd "name"': i % 2 ? `=cmd|'/c calc'!A${i}` : 'plain',
      n: i % 3 ? i / 7 : null,
      deep: { i },
    }));
    const plugin = definePlugin({
      name: 'things',
      version: '1.0.0',
      description: 'Things.',
      routes: () => [things(row, { handler: async () => ({ data }) })],
    });
    for (const csvFormulaGuard of [true, false]) {
      const app = await startTestApp({
        config: { http: { csvFormulaGuard } },
        overrides: { plugins: [{ plugin }] },
      });
      try {
        const { paths } = (await app.get('/openapi.json')).json;
        const offered = Object.keys(paths).filter((path) => paths[path].get.responses[200].content['text/csv']);
        expect(offered).to.have.members([
          '/things',
          '/markets',
          '/areas',
          '/forecast-track',
          '/forecast-history',
          '/forecast-backtest/breakdown',
          '/markets/{cbsa}/history',
          '/markets/{cbsa}/forecast-track',
          '/markets/{cbsa}/drivers',
          '/markets/{cbsa}/quantiles',
          '/movers',
          '/forecasts',
          '/forecasts/{cbsa}/history',
          '/forecast-runs',
          '/observations',
          '/series',
          '/signals',
        ]);
        for (const path of offered) {
          const target = path.replace('{cbsa}', path.includes('/history') ? ATLANTA : HOUSTON);
          const queries: Record<string, string> = {
            '/observations': '?series_id=metro_hpi',
            '/forecast-backtest/breakdown': '?by=year',
          };
          const url = target + (queries[path] ?? '');
          const rows = (await app.get(url)).json.data as Record<string, unknown>[];
          const [header, ...records] = parseCsv((await app.get(url, { headers: csv })).text);
          expect(rows, url).to.not.be.empty;
          const guarded = (value: string) => (csvFormulaGuard && value.startsWith('=') ? `'${value}` : value);
          const cell = (value: unknown) =>
            value === null || value === undefined
              ? ''
              : typeof value === 'string'
                ? guarded(value)
                : JSON.stringify(value);
          expect(records, url).to.deep.equal(rows.map((each) => header!.map((name) => cell(each[name]))));
        }
        const packed = await app.get('/things', { headers: { ...csv, 'Accept-Encoding': 'br' } });
        expect(packed.headers['content-encoding']).to.equal('br');
        expect(brotliDecompressSync(packed.bytes).toString()).to.equal((await app.get('/things?format=csv')).text);
      } finally {
        await app.close();
      }
    }
  });

  it('a list that declares a parameter named format is rejected at startup', async () => {
    const parameters = { query: { format: { description: 'Mine.', schema: { type: 'string' } } } };
    const plugin = definePlugin({
      name: 'things',
      version: '1.0.0',
      description: 'Things.',
      routes: () => [things({ type: 'object', properties: { a: {} } }, { parameters })],
    });
    const error = await startTestApp({ overrides: { plugins: [{ plugin }] } }).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).to.contain('route /things: parameter "format" is added by the framework');
  });
});
