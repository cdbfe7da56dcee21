import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { pageModules } from '../../support/page-modules.js';
import { startTableService, weather } from '../../support/table-service.js';

const { tablesOf, timesOf, figuresOf, withGaps, chartChoices, peakText, periodText } = await pageModules(
  'plugins/tables/browser/tables',
  'plugins/tables/browser/time-figures',
);
const { listTarget, valuesIn, selecting, toggled, chosenValues, expandFilters } = await pageModules(
  'plugins/tables/browser/conditions',
);
const { countText, titleOf, filteredTitleOf } = await pageModules('plugins/tables/browser/count-text');
const { cellsOf, inSentence } = await pageModules('plugins/tables/browser/cells');
const { partsOf } = await pageModules('plugins/tables/browser/matches');

interface Table {
  readonly name: string;
  readonly measures: Readonly<Record<string, string>>;
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

  it('can be embedded by any site if callers need no key, and otherwise by no site', async () => {
    const open = await startTableService({ anonymous: true });
    const policyOf = async (address: string) => String((await request(address)).headers['content-security-policy']);
    try {
      expect(await policyOf(`${open.origin}/tables/embed`))
        .to.include("default-src 'none'")
        .and.not.include('frame-');
      expect(await policyOf(`${open.origin}/tables`)).to.include("frame-ancestors 'none'");
      expect(await policyOf(`${service.origin}/tables/embed`)).to.include("frame-ancestors 'none'");
    } finally {
      await open.close();
    }
  });

  for (const [text, search, expected] of [
    ['The Whale and the Sea', 'whale', ['Whale']],
    ['The Whale and the Sea', 'sea wha', ['Whale', 'Sea']],
    ['Whales and a whale', 'whale sea', ['whale']],
    ['Whales and a whale', 'sea whale', ['Whales', 'whale']],
    ['Whales and a whale', 'whale, ', ['whale']],
    ['Charlotte Brontë', 'BRONTE', ['Brontë']],
    ['no 1984', '"1984"', ['1984']],
    ['The Whale', '', []],
    ['The Whale', '…', []],
  ] as const) {
    it(`marks ${expected.join(', ') || 'nothing'} in "${text}" for the search "${search}"`, () => {
      const parts: { text: string; isMatch: boolean }[] = partsOf(text, search);
      expect(parts.map((part) => part.text).join('')).to.equal(text);
      expect(parts.filter(({ isMatch }) => isMatch).map((part) => part.text)).to.deep.equal(expected);
    });
  }

  for (const [address, expected, unknown] of [
    ['price=6', 'price[eq]=6', []],
    ['price_from=6&price_to=9', 'price[gte]=6&price[lte]=9', []],
    ['day_from=2025&sort=-day', 'sort=-day&day_from[eq]=2025', []],
    ['price[gt]=6&q=whale&from=1', 'price[gt]=6&q=whale&from=1', []],
    [
      'nonsense=5&weight[gt]=6&weight_from=1',
      'nonsense=5&weight[gt]=6&weight_from=1',
      ['nonsense', 'weight[gt]', 'weight_from'],
    ],
  ] as const) {
    it(`reads the filters of the address "${address}" like the API`, () => {
      const query = new URLSearchParams(address);
      expect(expandFilters({ filters: ['price', 'day_from', 'from'] }, query)).to.deep.equal(unknown);
      expect(decodeURIComponent(String(query))).to.equal(expected);
    });
  }

  for (const [facts, count, expected] of [
    [{ total: 1200, newest: '2025-12-20' }, 8, '8 of 1,200 rows in Books match'],
    [{ total: 1200 }, 0, '0 of 1,200 rows in Books match'],
    [{}, 1, '1 row in Books matches'],
    [{ total: 1200 }, null, 'Books: matching rows'],
  ] as const) {
    it(`has the title "${expected}" with filters`, () =>
      expect(filteredTitleOf({ name: 'books' }, facts, count)).to.equal(expected));
  }

  for (const [facts, expected] of [
    [{ total: 1200, newest: '2025-12-20' }, 'Books has 1,200 rows up to 20 December 2025'],
    [{ total: 1, largest: 'the most common genre is novel' }, 'Books has 1 row; the most common genre is novel'],
    [{ newest: '1859' }, 'Books has data up to 1859'],
    [{}, 'Books'],
  ] as const) {
    it(`has the title "${expected}" without filters`, () =>
      expect(titleOf({ name: 'books' }, facts)).to.equal(expected));
  }

  it('reads the tables of a service from its OpenAPI document', () => {
    expect(books).to.deep.include({
      name: 'books',
      key: ['isbn'],
      filters: ['isbn', 'title', 'author', 'published', 'pages'],
      sorts: ['isbn', 'published', 'title', 'author', 'pages'],
      searches: true,
      measures: { count: 'count', sum: 'sum', mean: 'mean', min: 'min', max: 'max' },
    });
    const kinds = [...books.columns, ...stations.columns].map(({ name, kind, whole }) => `${name},${kind},${whole}`);
    expect(kinds).to.deep.equal([
      ...['isbn,text,false', 'title,text,false', 'author,text,false', 'published,number,true', 'pages,number,true'],
      ...['station,text,false', 'day,date,false', 'degrees,number,true'],
    ]);
    expect(stations).to.deep.include({
      name: 'weather',
      key: ['station', 'day'],
      sorts: ['station', 'day', 'degrees'],
    });
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

  it('lower-cases labels within sentences, but not acronyms', () => {
    expect(['Pod size', 'GDP per head', 'Ärzte', 'isbn'].map(inSentence)).to.deep.equal([
      ...['pod size', 'GDP per head', 'ärzte', 'isbn'],
    ]);
  });

  const sent = (table: Table, choices: string): string => listTarget(table, new URLSearchParams(choices));

  it('sends filters, search, order and columns as parameters of the API', async () => {
    const later = `${encodeURIComponent('published[gte]')}=1840&sort=-published`;
    expect(sent(books, `q=emma&${later}`)).to.equal(`/books?${later.replace('&sort', '&q=emma*&sort')}`);
    expect(sent(books, 'sort=-publisher&published[lte]=&edition[gte]=3&columns=price')).to.equal('/books');
    expect(await rowsOf(sent(books, later))).to.have.length(2);
    expect(await rowsOf(sent(books, 'pages[null]=true'))).to.have.length(1);
    expect(await rowsOf(sent(books, 'author[not]=Jane Austen'))).to.have.length(2);
    expect(Object.keys((await rowsOf(sent(books, 'columns=pages,title')))[0])).to.deep.equal([
      'isbn',
      'title',
      'pages',
    ]);
    expect(await rowsOf(sent(stations, 'station[eq]=Oslo&day[lte]=2020-01-05'))).to.have.length(4);
  });

  it('sends a search whose last word may be unfinished', async () => {
    const titles = async (query: string) =>
      (await rowsOf(sent(books, new URLSearchParams({ q: query }).toString()))).map(
        ({ title }: { title: string }) => title,
      );
    expect(await titles('BRONTE ja')).to.deep.equal(['Jane Eyre']);
    expect(await titles('jane 9780141439')).to.deep.equal(['Pride and Prejudice', 'Emma']);
    expect(await titles(' . ')).to.have.length(4);
    expect(await titles('emma eyre')).to.deep.equal([]);
  });

  it('includes all times of a day in a range that ends on it', async () => {
    const { conditionText } = await pageModules('plugins/tables/browser/chips');
    const { DAY_END } = await pageModules('plugins/tables/browser/conditions');
    const value = `2024-05-01${DAY_END}`;
    expect(['2024-05-01T00:00:00Z', '2024-05-01T23:59:59.999999Z'].every((time) => time < value)).to.equal(true);
    expect(value < '2024-05-02T00:00:00Z').to.equal(true);
    expect(conditionText({ column: { label: 'Sold' }, operator: 'lte', value })).to.equal('Sold to 2024-05-01');
  });

  it('names the values of a boolean column as the table shows them', async () => {
    const { conditionText } = await pageModules('plugins/tables/browser/chips');
    const sold = { column: { label: 'Sold', kind: 'boolean' }, operator: 'eq', value: 'false' };
    expect(conditionText(sold)).to.equal('Sold is no');
  });

  it('adds values of a column to its filter, and removes them', () => {
    const query = new URLSearchParams();
    const author = { name: 'author', kind: 'text' };
    const toggle = (value: string | null, column = author) => {
      for (const [name, to] of Object.entries<string>(toggled(query, column, value))) {
        if (to === '') query.delete(name);
        else query.set(name, to);
      }
      return query.toString();
    };
    expect(decodeURIComponent(toggle('Jane'))).to.equal('author[eq]=Jane');
    expect(decodeURIComponent(toggle('a "b", c'))).to.equal('author[in]=Jane,"a+""b"",+c"');
    expect(chosenValues(query, 'author')).to.deep.equal(['Jane', 'a "b", c']);
    toggle('Jane');
    toggle('a "b", c');
    expect(query.size).to.equal(0);
    expect(decodeURIComponent(toggle(''))).to.equal('author[in]=""');
    expect(decodeURIComponent(toggle(null))).to.equal('author[null]=true');
    expect(toggle(null)).to.equal('');
    toggle(' Jane ');
    expect(sent(books, query.toString())).to.equal('/books?author%5Bin%5D=%22+Jane+%22');
    expect(chosenValues(query, 'author')).to.deep.equal([' Jane ']);
    expect(toggle(' Jane ')).to.equal('');
    toggle('true', { name: 'sold', kind: 'boolean' });
    expect(decodeURIComponent(toggle('false', { name: 'sold', kind: 'boolean' }))).to.equal('sold[eq]=false');
    expect(valuesIn(' a ,"b, c",')).to.deep.equal(['a', 'b, c']);
  });

  it('replaces the selected values of a column, and "no value", by a typed value', () => {
    const names = ['author[null]', 'author[in]', 'author[eq]'];
    const typed = (...values: readonly string[]) => names.map((name) => selecting('author', values)[name]);
    expect(typed('Jane')).to.deep.equal(['', '', 'Jane']);
    expect(typed()).to.deep.equal(['', '', '']);
  });

  it('shows how many rows match: all of them, a part, or an unknown number', () => {
    const rows = Array.from({ length: 100 });
    const [first, last] = [
      { from: 1, rows, next: 'x' },
      { from: 5901, rows: rows.slice(1), next: null },
    ];
    expect(countText({ count: 5999, page: first }, false)).to.equal('1–100 of 5,999 rows');
    expect(countText({ page: first }, true)).to.equal('1–100 of … matching rows');
    expect(countText({ count: null, page: first }, true)).to.equal('1–100 of more than 100 matching rows');
    expect(countText({ page: last }, false)).to.equal('5,901–5,999 of 5,999 rows');
    expect(countText({ page: { from: 1, rows: rows.slice(99), next: null } }, true)).to.equal('1 matching row');
    expect(countText({ count: null }, true)).to.equal('… matching rows');
    expect(countText({ count: 5999 }, false)).to.equal('5,999 rows');
  });

  it('shows the same number of decimals in a column, and no separators in years and keys', () => {
    const columns = ['id', 'price', 'year'].map((name) => ({ name, kind: 'number', whole: name !== 'price' }));
    const rows = [
      { id: 10_000, price: 1200.5, year: 1999 },
      { id: 10_001, price: 7, year: 2001 },
      { id: 10_002, price: 0.1 + 0.2, year: 2001 },
    ];
    const cell = cellsOf({ columns, key: ['id'] }, rows);
    expect(rows.map((row) => columns.map((column) => cell(row, column)))).to.deep.equal([
      ['10000', '1,200.5', '1999'],
      ['10001', '7.0', '2001'],
      ['10002', '0.3', '2001'],
    ]);
  });

  it('does not pad numbers of very different sizes with decimals', () => {
    const rows = [{ size: 1e20 }, { size: 1.5e-9 }];
    const cell = cellsOf({ columns: [{ name: 'size' }], key: [] }, rows);
    expect(rows.map((row) => cell(row, { name: 'size' }))).to.deep.equal([
      '100,000,000,000,000,000,000',
      '0.0000000015',
    ]);
  });

  it('shows small numbers in rows, totals, charts and their tables', async () => {
    const { listColumns, meanTexts } = await pageModules('plugins/tables/browser/totals-tables');
    const { rounded } = await pageModules('core/pages/shared/format');
    const columns = ['size', 'kind', 'place'].map((name) => ({ name, label: name }));
    const values = [0.0031, 1e-7, 2e-14, 1 / 300];
    const rows = values.map((size) => ({ size, mean: size, min: size, kind: 'a', place: 'b' }));
    const cell = cellsOf({ columns, key: [] }, rows.slice(0, 2));
    expect(rows.slice(0, 2).map((row) => cell(row, columns[0]))).to.deep.equal(['0.0031000', '0.0000001']);
    const table = { key: [], measures: { mean: 'mean', min: 'min' } };
    const shown = (measure: string) => {
      const made = listColumns(table, { groups: [], of: columns[0] }, rows, () => {});
      const column = made.find(({ key }: { key: string }) => key === measure);
      return rows.map((row) => [column.cell(row)].flat()[0]);
    };
    expect(shown('min')).to.deep.equal(['0.0031', '0.0000001', '2E−14', '0.00333333333333333']);
    expect([0.0031, 1 / 300, 0.1].map(meanTexts([0.0031, 0.1]))).to.deep.equal(['0.0031', '0.0033', '0.1000']);
    expect([0.0031, 0, 1500.25].map(meanTexts([0.0031, 1500.25]))).to.deep.equal(['0.0031', '0', '1,500']);
    expect(values.map((value) => rounded(value, 6))).to.deep.equal(['0.0031', '0.0000001', '2E−14', '0.003333333']);
    expect([...values, 0, 0.5, 1234.567].map((value) => rounded(value))).to.deep.equal([
      ...['0.0031', '0.0000001', '2E−14', '0.00333', '0', '0.5', '1,234.57'],
    ]);
  });

  it('shows long numeric keys without separators', () => {
    const rows = [{ id: 123_456_789_012_345_680 }];
    const cell = cellsOf({ columns: [{ name: 'id' }], key: ['id'] }, rows);
    expect(cell(rows[0], { name: 'id' })).to.equal('123456789012345680');
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
    const numbered = ['latitude', 'depth'].map((name) => ({ name, kind: 'number' }));
    const quakes = { columns: [{ name: 'day', kind: 'date' }, ...numbered], key: [] };
    expect(chartChoices(quakes, [{ day: '2025-01-01' }]).first.value).to.equal('depth');
    expect(timesOf(books.columns, [{ published: 12 }])).to.deep.equal([]);
    expect(timesOf(books.columns, [{ published: null }])).to.deep.equal([]);
  });

  it('computes values over time from totals: means of rows with the same date, gaps, and longer periods', async () => {
    const figures = async (query: string, chosen: object) =>
      figuresOf(await rowsOf(`/totals/${query}`), chosen, books.measures);
    const line = { time: 'day', value: 'degrees', by: 'station', form: 'line' };
    const { dates, lines, means, rows } = await figures('weather?by=day,station&of=degrees', line);
    expect([means, rows]).to.deep.equal([false, weather.length]);
    expect(dates.slice(0, 2)).to.deep.equal(['2020-01-01', '2020-01-02']);
    expect(lines.map(({ label, values }: Record<string, unknown[]>) => [label, ...values!.slice(2, 5)])).to.deep.equal([
      ['Bergen', 2, 3, 4],
      ['Oslo', -8, null, -6],
      ['Tromsø', -18, -17, -16],
    ]);
    const all = await figures('weather?by=day&of=degrees', { ...line, by: null });
    expect([all.means, all.lines[0].values[0], all.lines[0].values[3]]).to.deep.equal([true, -10, -7]);
    // 2,000 days span 66 months, more than the maximum of 60 bars. The chart therefore shows six years.
    const bars = await figures('weather?by=day', { ...line, by: null, form: 'bars', value: null });
    expect([bars.period, bars.dates.length, bars.lines[0].values[0]]).to.deep.equal(['year', 6, 3 * 366 - 1]);
    const byYear = { time: 'published', value: 'pages', by: null, form: 'bars' };
    const years = await figures('books?by=published&of=pages&pages[null]=false', byYear);
    expect(years.lines[0].values).to.deep.equal([480, 512, 544]);
    expect(years.dates.map((date: string) => periodText(date, years.period))).to.deep.equal(['1813', '1815', '1859']);
    const many = Array.from({ length: 9 }, (_, index) => ({
      day: '2020-01-01',
      station: `${index}`,
      count: 1,
      sum: 1,
    }));
    expect(figuresOf(many, line, books.measures)).to.have.property('left', 1);
  });

  it('adds missing dates only if dates are regular', () => {
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

describe('peakText(figures, text)', () => {
  const line = (values: readonly (number | null)[], label = '') => ({ label, values });
  for (const [period, dates, lines, expected] of [
    ['year', ['1813-01-01', '1859-01-01'], [line([480, 544])], 'peaked at 544 in 1859'],
    ['decade', ['1810-01-01', '1850-01-01'], [line([496, 544])], 'peaked at 544 in the 1850s'],
    [
      'day',
      ['2020-01-01', '2020-01-02'],
      [line([1, null], 'Oslo'), line([2, 3], 'Bergen')],
      'peaked at 3 on 2020-01-02 (Bergen)',
    ],
    ['year', ['2020-01-01', '2021-01-01'], [line([7, 7])], 'peaked at 7'],
  ] as const) {
    it(`is "${expected}"`, () => expect(peakText({ period, dates, lines }, String)).to.equal(expected));
  }
});
