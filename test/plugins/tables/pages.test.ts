/** Tests the pages of tables: the tables of an OpenAPI document, API calls, search, and values over time. */
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { pageModules } from '../../support/page-modules.js';
import { startTableService, weather } from '../../support/table-service.js';

const { tablesOf, parametersOf, timesOf, figuresOf, withGaps, chartChoices, periodText } = await pageModules(
  'tables/browser/tables',
  'tables/browser/row-figures',
);

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: string; readonly whole: boolean }[];
}

describe('plugin table-pages', () => {
  let service: Awaited<ReturnType<typeof startTableService>>;
  let books: Table;
  let stations: Table;
  const rowsOf = async (target: string) =>
    (await request(`${service.url}${target}`, { headers: { Authorization: `Bearer ${service.key}` } })).json.data;
  before(async function () {
    this.timeout(60_000);
    service = await startTableService();
    [books, stations] = tablesOf((await request(`${service.url}/openapi.json`)).json);
  });
  after(() => service?.close());

  it('reads the tables of a service from its OpenAPI document', () => {
    expect(books).to.deep.include({
      name: 'books',
      key: ['isbn'],
      filters: ['isbn', 'title', 'author', 'published', 'pages'],
      sorts: ['isbn', 'published'],
      searches: true,
      measures: { count: 'count', sum: 'sum', mean: 'mean', min: 'min', max: 'max' },
    });
    const kinds = [...books.columns, ...stations.columns].map(({ name, kind, whole }) => `${name},${kind},${whole}`);
    expect(kinds).to.deep.equal([
      ...['isbn,text,false', 'title,text,false', 'author,text,false', 'published,number,true', 'pages,number,true'],
      ...['station,text,false', 'day,date,false', 'degrees,number,true'],
    ]);
    expect(stations).to.deep.include({ name: 'weather', key: ['station', 'day'], sorts: ['station'] });
  });

  it('labels a column with its heading in the file, or else with its name', () => {
    const label = (schema: object) => {
      const row = { properties: { grosse_cm: { type: 'number', ...schema } } };
      const json = { schema: { properties: { data: { items: row } } } };
      const responses = { 200: { content: { 'application/json': json } } };
      const parameters = [{ name: 'sort', schema: { enum: ['row'] } }];
      const [table] = tablesOf({ paths: { '/a': { get: { tags: ['tables'], parameters, responses } } } });
      return table!.columns[0]!.label;
    };
    expect(label({ title: 'Größe (cm)' })).to.equal('Größe (cm)');
    expect(label({})).to.equal('Grosse cm');
  });

  it('sends the choices as parameters of the API', async () => {
    const sent = (table: Table, choices: string) => parametersOf(table, new URLSearchParams(choices)).toString();
    const later = `${encodeURIComponent('published[gte]')}=1840&sort=-published`;
    expect(sent(books, `q=emma&${later}`)).to.equal(later.replace('&sort', '&q=emma*&sort'));
    expect(sent(books, 'sort=title&published[lte]=&edition[gte]=3')).to.equal('');
    expect(await rowsOf(`/books?${sent(books, later)}`)).to.have.length(2);
    expect(await rowsOf(`/weather?${sent(stations, 'station[eq]=Oslo&day[lte]=2020-01-05')}`)).to.have.length(4);
  });

  it('sends a search whose last word may be unfinished', async () => {
    const titles = async (query: string) => {
      const sent = parametersOf(books, new URLSearchParams({ q: query }));
      return (await rowsOf(`/books?${sent}`)).map(({ title }: { title: string }) => title);
    };
    expect(await titles('BRONTE ja')).to.deep.equal(['Jane Eyre']);
    expect(await titles('jane 9780141439')).to.deep.equal(['Pride and Prejudice', 'Emma']);
    expect(await titles(' . ')).to.have.length(4);
    expect(await titles('emma eyre')).to.deep.equal([]);
  });

  it('draws tables with years or dates, as lines if the time is part of the key', async () => {
    const rows = await rowsOf('/books');
    expect(timesOf(books.columns, rows).map(({ name }: { name: string }) => name)).to.deep.equal(['published']);
    expect(chartChoices(books, rows).first).to.deep.equal({
      time: 'published',
      value: 'pages',
      by: null,
      form: 'bars',
    });
    expect(chartChoices(stations, weather).first).to.deep.equal({
      ...{ time: 'day', value: 'degrees', by: 'station', form: 'line' },
    });
    expect(timesOf(books.columns, [{ published: 12 }])).to.deep.equal([]);
    expect(timesOf(books.columns, [{ published: null }])).to.deep.equal([]);
  });

  it('uses means for rows with the same date, keeps gaps, and groups bars into longer periods', async () => {
    const line = { time: 'day', value: 'degrees', by: 'station', form: 'line' };
    const { dates, lines } = figuresOf(weather, line);
    expect(dates.slice(0, 2)).to.deep.equal(['2020-01-01', '2020-01-02']);
    expect(lines.map(({ label, values }: Record<string, unknown[]>) => [label, ...values!.slice(2, 5)])).to.deep.equal([
      ['Bergen', 2, 3, 4],
      ['Oslo', -8, null, -6],
      ['Tromsø', -18, -17, -16],
    ]);
    const oslo = weather.filter(({ station }) => station === 'Oslo');
    expect(figuresOf(oslo, { ...line, by: null }).lines[0].values.slice(2, 5)).to.deep.equal([-8, null, -6]);
    expect(figuresOf(weather, { ...line, by: null }).lines[0].values[0]).to.equal(-10);
    // 2,000 days span 66 months, or six years.
    const bars = figuresOf(weather, { ...line, by: null, form: 'bars', value: null });
    expect([bars.period, bars.dates.length, bars.lines[0].values[0]]).to.deep.equal(['year', 6, 3 * 366 - 1]);
    const years = figuresOf(await rowsOf('/books'), { time: 'published', value: 'pages', by: null, form: 'bars' });
    expect(years.lines[0].values).to.deep.equal([480, 512, null, 544]);
    expect(years.dates.map((date: string) => periodText(date, years.period))).to.deep.equal([
      ...['1813', '1815', '1847', '1859'],
    ]);
    const many = Array.from({ length: 9 }, (_, index) => ({ day: '2020-01-01', station: `${index}`, degrees: 1 }));
    expect(figuresOf(many, line)).to.have.property('left', 1);
  });

  it('adds missing dates only to regular dates', () => {
    const months = [
      '2024-10-31',
      '2024-11-30',
      '2025-01-31',
      ...['02-28', '03-31', '04-30'].map((day) => `2025-${day}`),
    ];
    const more = Array.from({ length: 12 }, (_, month) => `2026-${String(month + 1).padStart(2, '0')}-01`);
    expect(withGaps(['2020-01-01', '2021-01-01', '2023-01-01'])).to.deep.equal([
      '2020-01-01',
      '2021-01-01',
      '2023-01-01',
    ]);
    const regular = more.filter((date) => date !== '2026-05-01');
    expect(withGaps(regular)).to.deep.equal(more);
    expect(withGaps(months).filter((date: string) => date.startsWith('2025-01'))).to.deep.equal(['2025-01-31']);
    expect(withGaps([])).to.deep.equal([]);
    expect(withGaps(['2020-02-29'])).to.deep.equal(['2020-02-29']);
  });
});
