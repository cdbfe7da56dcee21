import { expect } from 'chai';
import fc from 'fast-check';
import { openDirectory } from '../../../core/data/directory.js';
import { otherAdapters, publishTo } from '../../support/other-adapters.js';
import type { TestApp } from '../../support/test-app.js';
import { filterOf, fulfils, queryOf, type Row, readings, start } from './readings.js';

const COLUMNS = Object.keys(readings[0]!);
const FORMATS = ['json', 'csv', 'ndjson', 'parquet'];

const SEARCHES: Readonly<Record<string, (text: string) => boolean>> = {
  avila: (text) => text.includes('Ávila'),
  ÁVILA: (text) => text.includes('Ávila'),
  'old brno': (text) => text.includes('Brno, Old Town'),
  'br*': (text) => text.includes('Brno'),
  '"quoted"': (text) => text.includes('quoted'),
  'brno n7': (text) => text.includes('Brno') && text.includes('n7'),
  nowhere: () => false,
};

const question = fc.record({
  filters: fc.uniqueArray(fc.oneof(...COLUMNS.map(filterOf)), {
    maxLength: 2,
    selector: ({ field, operator }) => `${field}[${operator}]`,
  }),
  q: fc.option(fc.constantFrom(...Object.keys(SEARCHES)), { nil: undefined, freq: 2 }),
  by: fc.uniqueArray(fc.constantFrom(...COLUMNS), { maxLength: 2 }),
  of: fc.constantFrom(undefined, 'level', 'share'),
  format: fc.constantFrom(...FORMATS),
});
type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

const matching = ({ filters, q }: Pick<Question, 'filters' | 'q'>): readonly Row[] =>
  readings.filter(
    (row) =>
      filters.every((filter) => fulfils(row, filter)) &&
      (q === undefined || SEARCHES[q]!(`${row['town']} ${row['note']}`)),
  );

/** All numbers are multiples of 1/4, so their sums are exact. */
const expected = (question: Pick<Question, 'filters' | 'q' | 'by' | 'of'>) => {
  const { by, of } = question;
  const groups = new Map<string, Row[]>(by.length === 0 ? [['[]', []]] : []);
  for (const row of matching(question)) {
    const values = JSON.stringify(by.map((name) => row[name]));
    groups.set(values, [...(groups.get(values) ?? []), row]);
  }
  return [...groups].map(([values, rows]) => {
    const numbers = of === undefined ? [] : rows.flatMap((row) => (row[of] === null ? [] : [Number(row[of])]));
    const sum = numbers.reduce((total, one) => total + one, 0);
    const measures = {
      sum: numbers.length > 0 ? sum : null,
      mean: numbers.length > 0 ? Number((sum / numbers.length).toPrecision(15)) : null,
      min: numbers.length > 0 ? Math.min(...numbers) : null,
      max: numbers.length > 0 ? Math.max(...numbers) : null,
    };
    const named = Object.fromEntries(by.map((name, i) => [name, JSON.parse(values)[i]]));
    return { ...named, count: rows.length, ...(of !== undefined && measures) };
  });
};

const targetOf = ({ filters, q, by, of, format }: Question): string => {
  const others = Object.entries({ q, by: by.join() || undefined, of, format }).filter(
    ([, value]) => value !== undefined,
  );
  return `?${new URLSearchParams(others as [string, string][])}&${queryOf(filters)}`;
};

describe('questions to tables', function () {
  this.timeout(60_000);
  let service: TestApp;
  before(async () => {
    service = await start();
  });
  after(() => service.close());

  const get = async (target: string, from = service) => {
    const response = await from.get(target);
    expect(response.status, `${target} ${response.text.slice(0, 300)}`).to.equal(200);
    return response;
  };
  const rowsOf = async (target: string): Promise<Row[]> => (await get(target)).json.data;
  const counted = async (query: string, from = service) =>
    Number((await get(`/readings${query}&count=true&limit=1`, from)).headers['total-count']);

  it('gives the totals of every generated question', () =>
    fc.assert(
      fc.asyncProperty(question, async (asked) => {
        const rows = await rowsOf(`/totals/readings${targetOf({ ...asked, format: 'json' })}`);
        expect(rows).to.have.deep.members(expected(asked));
        expect(await counted(targetOf({ ...asked, by: [], of: undefined, format: 'json' }))).to.equal(
          matching(asked).length,
        );
      }),
      { numRuns: 100 },
    ));

  for (const [name, section] of Object.entries(otherAdapters)) {
    it(`${name} gives the same bytes`, async () => {
      const other = await start(await section());
      try {
        await publishTo(other, (await openDirectory(service.directory)).dataset);
        await fc.assert(
          fc.asyncProperty(question, async (asked) => {
            const target = targetOf(asked);
            const [one, two] = await Promise.all(
              [service, other].map((from) => get(`/totals/readings${target}`, from)),
            );
            expect(two!.text, target).to.equal(one!.text);
            const list = targetOf({ ...asked, by: [], of: undefined, format: 'csv' });
            const lists = await Promise.all(
              [service, other].map((from) => get(`/readings${list}&limit=20&count=true`, from)),
            );
            expect(lists[1]!.text, list).to.equal(lists[0]!.text);
            expect(lists[1]!.headers['total-count'], list).to.equal(lists[0]!.headers['total-count']);
            expect(lists[1]!.headers['link'], list).to.equal(lists[0]!.headers['link']);
          }),
          { numRuns: 40 },
        );
      } finally {
        await other.close();
      }
    });
  }

  it('lists the values of a column with their counts, most frequent first, one page at a time', async () => {
    const all = await rowsOf('/totals/readings?by=level&sort=-count');
    expect(all.map(({ count }) => count)).to.deep.equal(
      [...all.map(({ count }) => Number(count))].sort((a, b) => b - a),
    );
    const pages: Row[] = [];
    for (let query: string | undefined = '?by=level&sort=-count&limit=4'; query; ) {
      const { json, headers } = await get(`/totals/readings${query}`);
      pages.push(...json.data);
      query = /^<(\?[^>]*)>/.exec(String(headers['link']))?.[1];
    }
    expect(pages).to.deep.equal(all);
  });

  it('sends only the measures in `fields`, the columns of `by` and the count', async () => {
    const all = await rowsOf('/totals/readings?by=town&of=level');
    const fewer = await rowsOf('/totals/readings?fields=sum&by=town&of=level');
    expect(fewer).to.deep.equal(all.map(({ town, count, sum }) => ({ town, count, sum })));
    const { status, json } = await service.get('/totals/readings?by=town&fields=count,sum');
    expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
    expect(json.error).to.contain('add "of"');
  });

  it('sorts by the columns unless asked otherwise, with null last', async () => {
    const rows = await rowsOf('/totals/readings?by=checked,level');
    expect(rows[0]).to.deep.equal({ checked: false, level: 0, count: 9 });
    expect(rows.at(-1)!['checked']).to.equal(null);
    expect(await rowsOf('/totals/readings?by=checked&limit=1')).to.deep.equal([{ checked: false, count: 100 }]);
  });
  it('pages through totals by a column of booleans', async () => {
    const { headers } = await get('/totals/readings?by=checked&limit=1');
    const next = /^<(\?[^>]*)>/.exec(String(headers['link']))![1]!;
    expect(await rowsOf(`/totals/readings${next}`)).to.deep.equal([{ checked: true, count: 100 }]);
  });
  it('names a measure differently if a column has its name', async () => {
    expect(await rowsOf('/totals/tricky?by=count&limit=1')).to.deep.equal([{ count: 0, count_: 3 }]);
    expect(await rowsOf('/totals/tricky?by=constructor&limit=1')).to.deep.equal([{ constructor: 0, count_: 3 }]);
  });
  it('sends Total-Count only on request, even for HEAD and 304', async () => {
    expect((await get('/readings?limit=1')).headers).not.to.have.property('total-count');
    const { headers } = await get('/readings?limit=1&count=true');
    expect(headers['total-count']).to.equal('300');
    const head = await service.get('/readings?count=true', { method: 'HEAD' });
    expect([head.text, head.headers['total-count']]).to.deep.equal(['', '300']);
    const again = await service.get('/readings?limit=1&count=true', {
      headers: { 'if-none-match': String(headers['etag']) },
    });
    expect([again.status, again.headers['total-count']]).to.deep.equal([304, '300']);
  });

  it('refuses totals that would read more than 50,000 rows, with the reason', async () => {
    const many = Array.from({ length: 60_000 }, (_, id) => ({ ...readings[0]!, id, level: id % 10 }));
    const other = await start(undefined, { readings: many });
    try {
      const { status, json } = await other.get('/totals/readings?by=note');
      expect([status, json.code]).to.deep.equal([400, 'too_many_rows']);
      const { json: filtered } = await get('/totals/readings?by=note&level=3', other);
      expect(filtered.data).to.deep.equal([{ note: null, count: 6000 }]);
      const { json: between } = await get('/totals/readings?by=note&level[gt]=2&level[lt]=8', other);
      expect(between.data).to.deep.equal([{ note: null, count: 30_000 }]);
      expect((await other.get('/totals/readings?q=brno')).json.code).to.equal('too_many_rows');
      expect((await get('/totals/readings?by=level&limit=2', other)).json.data).to.deep.equal([
        { level: 0, count: 6000 },
        { level: 1, count: 6000 },
      ]);
    } finally {
      await other.close();
    }
  });

  for (const [target, message] of [
    ['/totals/readings?by=towns', 'The query parameter "by" does not allow "towns"; did you mean "town"?'],
    ['/totals/readings?by=town,level,day', '"by" must have at most 2 values.'],
    ['/totals/readings?of=town', '"of" must be one of id, level, share'],
    ['/totals/readings?by=town&sort=-mean', '"sort" is not in the response: add "of", or sort by count.'],
    ['/totals/readings?by=', '"by" must not be empty'],
    ['/totals/readings?q=...', 'The query parameter "q" must contain a word.'],
    ['/readings?q=%20', 'The query parameter "q" must contain a word.'],
    ['/readings?count=yes', 'The query parameter "count" must be true or false.'],
    ['/totals/readings?by=town&after=x', '"after" must be copied from the "next" link'],
  ] as const) {
    it(`${target} is a 400 with a message`, async () => {
      const { status, json } = await service.get(target);
      expect([status, json.error]).to.satisfy(() => status === 400 && json.error.includes(message), json.error);
    });
  }
});
