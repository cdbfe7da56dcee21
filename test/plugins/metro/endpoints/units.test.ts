import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { packageRoot } from '../../../../core/util/package.js';
import { unitsOf, unsupported } from '../../../../plugins/metro/endpoints/units.js';
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
    // The month that starts on 2024-03-01 is missing.
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

  it('change and yoy of a weekly series allow for a holiday, and compare with the week 52 weeks before', () => {
    const weeks = Array.from({ length: 60 }, (_, i) => {
      const day = new Date(Date.UTC(2023, 0, 5 + 7 * i));
      // In this week, the observation is dated a day earlier.
      if (i === 46) day.setUTCDate(day.getUTCDate() - 1);
      return [day.toISOString().slice(0, 10), 100 + i] as const;
    });
    expect(computed(weeks, 'change', 'weekly')).to.deep.equal([undefined, ...Array(59).fill(1)]);
    const yoy = computed(weeks, 'yoy', 'weekly');
    expect(yoy.slice(0, 52)).to.deep.equal(Array(52).fill(undefined));
    expect(yoy.slice(52)).to.deep.equal([
      52, 51.48514851, 50.98039216, 50.48543689, 50, 49.52380952, 49.05660377, 48.59813084,
    ]);
    const gap = weeks.filter((_, i) => i !== 3);
    expect(computed(gap, 'change', 'weekly')[3]).to.equal(undefined);
    expect(computed(gap, 'yoy', 'weekly')[54]).to.equal(undefined);
  });

  it('change and yoy support cadences of two weeks, half a year and five years', () => {
    const two = Array.from({ length: 27 }, (_, i) => {
      return [new Date(Date.UTC(2020, 0, 1 + 14 * i)).toISOString().slice(0, 10), 100 + i] as const;
    });
    expect(computed(two, 'change', 'biweekly').slice(0, 3)).to.deep.equal([undefined, 1, 1]);
    expect(computed(two, 'yoy', 'biweekly').at(-1)).to.equal(26);
    const halves = [
      ['2020-01-01', 100],
      ['2020-07-01', 110],
      ['2021-01-01', 120],
      ['2021-07-01', 132],
    ] as const;
    expect(computed(halves, 'change', 'semiannual')).to.deep.equal([undefined, 10, 10, 12]);
    expect(computed(halves, 'yoy', 'semiannual')).to.deep.equal([undefined, undefined, 20, 20]);
    const fives = [
      ['2012-01-01', 100],
      ['2017-01-01', 104],
    ] as const;
    expect(computed(fives, 'change', 'five-year')).to.deep.equal([undefined, 4]);
  });

  it('yoy of a daily series compares with the last trading day up to the same date, if it is in that week', () => {
    const days = [
      ['2022-12-20', 1],
      ['2023-01-06', 4],
      ['2023-02-28', 2],
      ['2024-01-03', 9],
      ['2024-01-08', 5],
      ['2024-02-29', 3],
    ] as const;
    // 2023-01-08 is a Sunday. The week before 2023-01-03 has no observation.
    expect(computed(days, 'yoy', 'daily')).to.deep.equal([undefined, undefined, undefined, undefined, 25, 50]);
  });

  it('change of an irregular series compares with the previous value, and yoy with the value in effect a year before', () => {
    const rates = [
      ['2022-03-17', 0.5],
      ['2022-12-15', 4.5],
      ['2023-12-14', 5.5],
      ['2024-02-01', 6],
    ] as const;
    expect(computed(rates, 'change', 'irregular')).to.deep.equal([undefined, 4, 1, 0.5]);
    expect(computed(rates, 'yoy', 'irregular')).to.deep.equal([undefined, undefined, 1000, 33.33333333]);
  });

  it('real expresses values in prices of the base month, and leaves out periods with a missing month', () => {
    const months = new Map([
      ['2025-01-01', 200],
      ['2025-02-01', 220],
      ['2025-03-01', 240],
      ['2025-04-01', 250],
      ['2025-05-01', 250],
    ]);
    const prices = { months, base: '2025-05-01' };
    const monthly = [
      ['2025-01-01', 50],
      ['2025-06-01', 50],
    ] as const;
    expect(computed(monthly, 'real', 'monthly', prices)).to.deep.equal([62.5, undefined]);
    expect(computed([['2025-02-17', 55]], 'real', 'daily', prices)).to.deep.equal([62.5]);
    const quarters = [
      ['2025-01-01', 440],
      ['2025-04-01', 500],
    ] as const;
    expect(computed(quarters, 'real', 'quarterly', prices)).to.deep.equal([500, undefined]);
    expect(computed([['2025-01-01', 455]], 'real', 'annual', prices)).to.deep.equal([undefined]);
  });
});

describe('unsupported(units, series)', () => {
  const of = (title: string, units: string) =>
    ({ series_id: 'X', kind: 'macro', title, units, cadence: 'monthly' }) as const;

  it('allows real terms for amounts of money and price indexes', () => {
    for (const [title, units] of [
      ['Gross Domestic Product', 'Billions of Dollars'],
      ['Average Hourly Earnings', 'Dollars per Hour'],
      ['Median Sales Price of Houses Sold', 'Dollars'],
      ['Commercial Real Estate Loans', 'Millions of U.S. Dollars'],
      ['All-Transactions House Price Index for Texas', 'Index 1980:Q1=100'],
      ['S&P 500', 'Index'],
      ['Employment Cost Index', 'Index Dec 2005=100'],
    ] as const)
      expect(unsupported('real', of(title, units)), title).to.equal(undefined);
  });

  it('rejects real terms for rates, counts, quantities and values that are already adjusted', () => {
    for (const [title, units] of [
      ['Unemployment Rate', 'Percent'],
      ['Housing Starts', 'Thousands of Units'],
      ['Real Gross Domestic Product', 'Billions of Chained 2017 Dollars'],
      ['Real Median Household Income', '2023 C-CPI-U Dollars'],
      ['Real M2 Money Stock', 'Billions of 1982-84 Dollars'],
      ['Weekly Earnings', '1982-84 CPI Adjusted Dollars'],
      ['Industrial Production: Total Index', 'Index 2017=100'],
      ['Consumer Sentiment', 'Index 1966:Q1=100'],
      ['U.S. Dollars to Euro Spot Exchange Rate', 'U.S. Dollars to One Euro'],
      ['EXOTIC1', 'not stated'],
    ] as const)
      expect(unsupported('real', of(title, units)), title).to.include(`X is in "${units}"`);
  });

  it('rejects year-over-year changes of a series with one value every five years', () => {
    const census = { ...of('Economic Census', 'Number'), cadence: 'five-year' } as const;
    expect(unsupported('yoy', census)).to.include('one value every five years');
    expect(unsupported('change', census)).to.equal(undefined);
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

  it('has the deflator and the base month in each row with units=real', async () => {
    const [row] = await dataOf(service, 'series_id=metro_hpi&cbsa=26420&units=real');
    expect(row).to.have.all.keys('period_start', 'value', 'cbsa', 'deflator', 'base_period');
    const prices = await dataOf(service, 'series_id=CPIAUCSL');
    const newest = prices.at(-1)!;
    expect(row).to.include({ deflator: 'CPIAUCSL', base_period: newest['period_start'] });
    for (const { value } of await dataOf(service, 'series_id=CPIAUCSL&units=real'))
      expect(value).to.be.closeTo(Number(newest['value']), 1e-6);
    const { text } = await service.get('/observations?series_id=CPIAUCSL,metro_hpi&units=real&format=csv');
    expect(parseCsv(text)[0]).to.deep.equal(['series_id', 'period_start', 'value', 'cbsa', 'deflator', 'base_period']);
  });

  it('lists the units that each series supports in /series', async () => {
    const supported = async (from: TestApp) => {
      const { json } = await from.get('/series');
      return new Map(json.data.map((row: Record<string, unknown>) => [row['series_id'], row['supported_units']]));
    };
    const all = ['level', 'change', 'log', 'yoy', 'real'];
    expect((await supported(service)).get('metro_hpi')).to.deep.equal(all);
    expect((await supported(service)).get('UNRATE')).to.deep.equal(all.slice(0, 4));
    expect((await supported(small)).get('metro_hpi')).to.deep.equal(all.slice(0, 4));
  });

  for (const id of ['UNRATE', 'HOUST', 'metro_hpi,DGS10']) {
    it(`GET /observations?series_id=${id}&units=real is a 400 that explains which series have real terms`, async () => {
      const { status, json } = await service.get(`/observations?series_id=${id}&units=real`);
      expect([status, json.code, json.details[0].name]).to.deep.equal([400, 'invalid_parameter', 'units']);
      expect(json.error).to.match(/real applies only to amounts of money and price indexes, but \w+ is in "/);
    });
  }

  for (const [query, status, name, advice] of [
    ['series_id=metro_hpi&units=real', 400, 'units', 'does not have CPIAUCSL'],
    ['series_id=UNRATE&units=real', 400, 'units', 'UNRATE is in'],
    ['series_id=UNRATE&units=pct', 400, 'units', 'must be one of level, change, log, yoy, real'],
    ['series_id=UNRATE,', 400, 'series_id', 'must not be empty'],
    ['series_id=UNRATE,NOPE', 404, undefined, 'There is no series \\"NOPE\\"'],
    ['series_id=metro_hpi&cbsa=12060,1', 400, 'cbsa', 'must be 5 digits'],
    ['series_id=metro_hpi&cbsa=12060,', 400, 'cbsa', 'must be 5 digits'],
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
            const others = units === 'real' ? 'CPIAUCSL' : 'UNRATE,HOUST';
            const target =
              `/observations?series_id=metro_hpi,${others}&cbsa=26420,12060&since=2023-05-01&until=2025-06-30` +
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
