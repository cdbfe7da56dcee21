/** The units of observations: values computed by hand, and responses over HTTP on every adapter. */
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { packageRoot } from '../../../../core/util/package.js';
import { unitsOf } from '../../../../plugins/metro/endpoints/units.js';
import { parseCsv } from '../../../support/csv-parser.js';
import { ATLANTA, HOUSTON } from '../../../support/fixture.js';
import { otherAdapters, publishTo } from '../../../support/other-adapters.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const computed = (levels: readonly (readonly [string, number])[], ...given: Parameters<typeof unitsOf>) => {
  const compute = unitsOf(...given);
  return levels.map(([period, level]) => compute(period, level));
};

describe('unitsOf(units, cadence, prices)', () => {
  const months = [
    ['2024-01-01', 4.1],
    ['2024-02-01', 4.3],
    // 2024-03-01 was not published.
    ['2024-04-01', 0],
    ['2025-01-01', 4.51],
    ['2025-04-01', 4],
  ] as const;

  it('level is the published value', () => {
    expect(computed(months, 'level', 'monthly')).to.deep.equal([4.1, 4.3, 0, 4.51, 4]);
  });

  it('change is the difference from the previous period, and undefined after a gap', () => {
    expect(computed(months, 'change', 'monthly')).to.deep.equal([undefined, 0.2, undefined, undefined, undefined]);
    const quarters = [
      ['2024-10-01', 1],
      ['2025-01-01', 3],
      ['2025-07-01', 9],
    ] as const;
    expect(computed(quarters, 'change', 'quarterly')).to.deep.equal([undefined, 2, undefined]);
  });

  it('change of a daily series is the difference from the previous trading day', () => {
    const days = [
      ['2025-01-03', 4.6],
      ['2025-01-06', 4.62],
      ['2025-01-07', 4.5],
    ] as const;
    expect(computed(days, 'change', 'daily')).to.deep.equal([undefined, 0.02, -0.12]);
  });

  it('log is the natural logarithm of positive values', () => {
    const levels = [
      ['2024-01-01', Math.E],
      ['2025-01-01', 1],
      ['2026-01-01', 0],
      ['2027-01-01', -1],
    ] as const;
    expect(computed(levels, 'log', 'annual')).to.deep.equal([1, 0, undefined, undefined]);
  });

  it('yoy is the change in percent from the same period of the previous year, if that was published and is not 0', () => {
    expect(computed(months, 'yoy', 'monthly')).to.deep.equal([undefined, undefined, undefined, 10, undefined]);
  });

  it('real divides by the price index of the month, or by the mean of the published months of a longer period', () => {
    const prices = new Map([
      ['2025-01-01', 200],
      ['2025-02-01', 220],
      ['2025-03-01', 240],
      ['2025-04-01', 250],
    ]);
    expect(
      computed(
        [
          ['2025-01-01', 50],
          ['2025-06-01', 50],
        ],
        'real',
        'monthly',
        prices,
      ),
    ).to.deep.equal([25, undefined]);
    expect(computed([['2025-02-17', 55]], 'real', 'daily', prices)).to.deep.equal([25]);
    const quarters = [
      ['2025-01-01', 440],
      ['2025-04-01', 500],
      ['2025-07-01', 500],
    ] as const;
    expect(computed(quarters, 'real', 'quarterly', prices)).to.deep.equal([200, 200, undefined]);
    expect(computed([['2025-01-01', 455]], 'real', 'annual', prices)).to.deep.equal([200]);
  });
});

describe('GET /observations of several series, markets and units', function () {
  this.timeout(60_000);
  const sample = join(packageRoot, 'plugins/metro/dataset');
  let small: TestApp;
  let service: TestApp;
  before(async () => {
    small = await startTestApp();
    service = await startTestApp({ config: { adapter: { use: 'json', options: { path: sample } } } });
  });
  after(async () => {
    await small.close();
    await service.close();
  });
  const dataOf = async (from: TestApp, query: string) => {
    const { status, json } = await from.get(`/observations?${query}`);
    expect(status, `${query} ${JSON.stringify(json.error)}`).to.equal(200);
    return json.data as Record<string, string | number>[];
  };

  it('has the rows of each series in the requested order, with the name of the series', async () => {
    const alone = async (id: string) =>
      (await dataOf(small, `series_id=${id}&since=2025-10-01`)).map((row) => ({ series_id: id, ...row }));
    const several = await dataOf(small, 'series_id=metro_hpi,UNRATE,%20EMPTY,UNRATE&since=2025-10-01');
    expect(several).to.deep.equal([...(await alone('metro_hpi')), ...(await alone('UNRATE'))]);
    const csv = parseCsv((await small.get('/observations?series_id=UNRATE,metro_hpi&format=csv')).text);
    expect(csv[0]).to.deep.equal(['series_id', 'period_start', 'value', 'cbsa']);
    expect(csv[1]).to.deep.equal(['UNRATE', '2025-08-01', '4.3', '']);
  });

  it('has no series_id for one series', async () => {
    const { text } = await small.get('/observations?series_id=UNRATE&units=change&format=csv');
    expect(text).to.equal('period_start,value,cbsa\r\n2025-09-01,0.1,\r\n');
  });

  it('has the rows of each market, by code', async () => {
    const both = await dataOf(small, `series_id=metro_hpi&cbsa=${HOUSTON},${ATLANTA}`);
    const all = await dataOf(small, 'series_id=metro_hpi');
    expect(both).to.deep.equal(all.filter(({ cbsa }) => cbsa === ATLANTA || cbsa === HOUSTON));
  });

  it('computes changes from values before `since`, within the same market', async () => {
    const query = 'series_id=metro_hpi&units=change';
    expect(await dataOf(small, query)).to.deep.equal([
      { period_start: '2025-04-01', value: 2.5, cbsa: ATLANTA },
      { period_start: '2025-10-01', value: 6.02, cbsa: HOUSTON },
    ]);
    expect(await dataOf(small, `${query}&since=2025-10-01`)).to.have.length(1);
    expect(await dataOf(small, `${query}&until=2025-09-30`)).to.have.length(1);
    const year = await dataOf(service, `series_id=metro_hpi&cbsa=26420&units=yoy&since=2025-01-01`);
    const levels = await dataOf(service, `series_id=metro_hpi&cbsa=26420`);
    const levelAt = (day: string) => Number(levels.find(({ period_start }) => period_start === day)!['value']);
    for (const { period_start, value } of year) {
      const then = String(period_start).replace(/^\d+/, (number) => String(Number(number) - 1));
      expect(value).to.be.closeTo((levelAt(String(period_start)) / levelAt(then) - 1) * 100, 1e-8);
    }
    expect(year).to.have.length.of.at.least(2);
  });

  it('has the deflator in each row with units=real', async () => {
    const [row] = await dataOf(service, 'series_id=metro_hpi&cbsa=26420&units=real');
    expect(row).to.have.all.keys('period_start', 'value', 'cbsa', 'deflator').and.include({ deflator: 'CPIAUCSL' });
    const prices = await dataOf(service, 'series_id=CPIAUCSL&units=real');
    for (const { value } of prices) expect(value).to.equal(100);
    const { text } = await service.get('/observations?series_id=UNRATE,HOUST&units=real&format=csv');
    expect(parseCsv(text)[0]).to.deep.equal(['series_id', 'period_start', 'value', 'cbsa', 'deflator']);
  });

  for (const [query, status, name, advice] of [
    ['series_id=UNRATE&units=real', 400, 'units', 'does not have CPIAUCSL'],
    ['series_id=UNRATE&units=pct', 400, 'units', 'must be one of level, change, log, yoy, real'],
    ['series_id=UNRATE,', 400, 'series_id', 'must have a series before and after each comma'],
    ['series_id=UNRATE,NOPE', 404, undefined, 'There is no series \\"NOPE\\"'],
    ['series_id=metro_hpi&cbsa=12060,1', 400, 'cbsa', 'must match'],
    ['series_id=metro_hpi&cbsa=12060,', 400, 'cbsa', 'must match'],
    ['series_id=metro_hpi&cbsa=12060,99999', 404, undefined, '99999'],
    ['series_id=UNRATE,EMPTY&cbsa=12060', 400, 'cbsa', 'is allowed with series_id=metro_hpi only'],
    ['series_id=UNRATE&series_id=EMPTY', 400, 'series_id', 'must be given only once'],
  ] as const) {
    it(`GET /observations?${query} is a ${status} with advice`, async () => {
      const response = await small.get(`/observations?${query}`);
      expect([response.status, response.json.details?.[0].name]).to.deep.equal([status, name]);
      expect(response.text).to.include(advice);
    });
  }

  for (const [adapter, section] of Object.entries(otherAdapters)) {
    it(`has the same bytes on ${adapter} as on json`, async () => {
      const other = await startTestApp({ config: { adapter: await section() } });
      try {
        await publishTo(other, (await openDirectory(sample)).dataset);
        for (const units of ['level', 'change', 'log', 'yoy', 'real']) {
          for (const format of ['json', 'csv', 'ndjson']) {
            const target =
              '/observations?series_id=metro_hpi,UNRATE,HOUST&cbsa=26420,12060&since=2023-05-01&until=2025-06-30' +
              `&units=${units}&format=${format}`;
            const { status, text } = await service.get(target);
            expect([status, (await other.get(target)).text], target).to.deep.equal([200, text]);
          }
        }
      } finally {
        await other.close();
      }
    });
  }
});
