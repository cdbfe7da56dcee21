import { expect } from 'chai';
import { ATLANTA, collections, HOUSTON, TUCSON } from '../../../support/fixture.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describe('plugin observations', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('GET /observations?series_id=UNRATE is oldest first, without the missing month', async () => {
    const { json } = await service.get('/observations?series_id=UNRATE');
    expect(json).to.deep.equal({
      data: [
        { period_start: '2025-08-01', value: 4.3 },
        { period_start: '2025-09-01', value: 4.4 },
        { period_start: '2025-11-01', value: 4.5 },
      ],
    });
  });

  it('GET /observations?series_id=UNRATE&since=2025-09-01 includes the bound', async () => {
    const { json } = await service.get('/observations?series_id=UNRATE&since=2025-09-01');
    expect(json.data.map((row: { value: number }) => row.value)).to.deep.equal([4.4, 4.5]);
  });

  it('GET /observations?since=2030-01-01&series_id=UNRATE is an empty list', async () => {
    expect((await service.get('/observations?since=2030-01-01&series_id=UNRATE')).text).to.equal('{"data":[]}');
  });

  it('GET /observations?series_id=EMPTY of a series without values is an empty list', async () => {
    expect((await service.get('/observations?series_id=EMPTY')).text).to.equal('{"data":[]}');
  });

  it('GET /observations?series_id=metro_hpi has every metro, by CBSA code and date', async () => {
    const { json } = await service.get('/observations?series_id=metro_hpi');
    expect(json.data).to.deep.equal(collections.hpi);
  });

  it('GET /observations?series_id=metro_hpi&since=2025-10-01 applies the bound to every metro', async () => {
    const { json } = await service.get('/observations?series_id=metro_hpi&since=2025-10-01');
    expect(json.data.map((row: { value: number }) => row.value)).to.deep.equal([209, 98.76, 306.12]);
  });

  it('GET /observations?series_id=metro_hpi&cbsa=12060&since=2025-04-01 has one market', async () => {
    const { json } = await service.get(`/observations?series_id=metro_hpi&cbsa=${ATLANTA}&since=2025-04-01`);
    expect(json.data.map((row: { value: number }) => row.value)).to.deep.equal([202.5, 209]);
  });

  it('GET /observations?series_id=metro_hpi&cbsa=46060 of a market without rows is an empty list', async () => {
    expect((await service.get(`/observations?series_id=metro_hpi&cbsa=${TUCSON}`)).text).to.equal('{"data":[]}');
  });

  const rejected: readonly (readonly [target: string, status: number, code: string, name?: string])[] = [
    ['/observations', 400, 'missing_parameter', 'series_id'],
    ['/observations?since=2025-01-01', 400, 'missing_parameter', 'series_id'],
    ['/observations?series_id=', 400, 'invalid_parameter', 'series_id'],
    ['/observations?series_id=NOPE', 404, 'series_not_found'],
    ['/observations?series_id=constructor', 404, 'series_not_found'],
    ['/observations?series_id=metro_hpi&cbsa=99999', 404, 'market_not_found'],
    ['/observations?series_id=metro_hpi&cbsa=1', 400, 'invalid_parameter', 'cbsa'],
    [`/observations?series_id=UNRATE&cbsa=${HOUSTON}`, 400, 'invalid_parameter', 'cbsa'],
    ['/observations?series_id=UNRATE&since=2025-02-29', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&since=2025-13-01', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&since=2025-1-1', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&since=yesterday', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&since=', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&since=2025-01-01T00:00:00Z', 400, 'invalid_parameter', 'since'],
    ['/observations?series_id=UNRATE&series_id=UNRATE', 400, 'invalid_parameter', 'series_id'],
    ['/observations?seriesid=UNRATE', 400, 'unknown_parameter', 'seriesid'],
    ['/observations?series_id=UNRATE&__proto__=1', 400, 'unknown_parameter', '__proto__'],
    ['/observations?series_id=UNRATE&constructor=1', 400, 'unknown_parameter', 'constructor'],
    ['/observations?series_id=%zz', 400, 'invalid_parameter', 'series_id'],
    ['/observations?series_id=%ff', 400, 'invalid_parameter', 'series_id'],
  ];
  for (const [target, status, code, name] of rejected) {
    it(`GET ${target} is a ${status} ${code}`, async () => {
      const { status: actual, json } = await service.get(target);
      expect([actual, json.code]).to.deep.equal([status, code]);
      if (name !== undefined) {
        expect(json.details.map((detail: { name: string }) => detail.name)).to.include(name);
        if (!name.startsWith('_')) expect(json.error).to.match(new RegExp(`${name}|percent-encoding`));
      } else expect(json).to.have.all.keys('error', 'code');
    });
  }

  it('GET /observations?seriesid=UNRATE suggests series_id', async () => {
    expect((await service.get('/observations?seriesid=UNRATE')).json.error).to.contain('Did you mean "series_id"?');
  });

  it('GET /observations?since=x&cbsa=y reports all problems', async () => {
    const { json } = await service.get('/observations?since=x&cbsa=y&nope=1');
    expect(json.code).to.equal('unknown_parameter');
    expect(json.details.map((detail: { name: string }) => detail.name)).to.have.members([
      'nope',
      'series_id',
      'since',
      'cbsa',
    ]);
  });

  it('GET /series lists the catalogue by series_id, with nulls and the supported units', async () => {
    const { json } = await service.get('/series');
    const supported_units = ['level', 'change', 'log', 'yoy'];
    expect(json).to.deep.equal({ data: collections.series.map((row) => ({ ...row, supported_units })) });
  });

  describe('with http.unknownParameters "ignore"', () => {
    let lenient: TestApp;
    before(async () => {
      lenient = await startTestApp({ config: { http: { unknownParameters: 'ignore' } } });
    });
    after(() => lenient.close());

    it('GET /observations?series_id=UNRATE&nope=1&__proto__=2 is a 200', async () => {
      const { status, json } = await lenient.get('/observations?series_id=UNRATE&nope=1&__proto__=2');
      expect(status).to.equal(200);
      expect(json.data).to.have.length(3);
    });
  });
});
