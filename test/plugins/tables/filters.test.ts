import { expect } from 'chai';
import fc from 'fast-check';
import { openDirectory } from '../../../core/data/directory.js';
import type { OperatorError } from '../../../core/errors.js';
import { otherAdapters, publishTo } from '../../support/other-adapters.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { filterOf, fulfils, NAMES, queryOf, type Row, rank, readings, start, tables, tricky } from './readings.js';

const question = fc.record({
  filters: fc.uniqueArray(fc.oneof(...Object.keys(readings[0]!).map(filterOf)), {
    maxLength: 3,
    selector: ({ field, operator }) => `${field}[${operator}]`,
  }),
  // The columns `share`, `day` and `checked` are in no declared order, and can be null.
  sort: fc.constantFrom('', 'id', '-id', 'town', '-town', 'level', '-level', 'share', '-share', '-day', 'checked'),
  limit: fc.integer({ min: 1, max: 40 }),
});

describe('filters of tables', function () {
  this.timeout(60_000);
  let service: TestApp;
  before(async () => {
    service = await start();
  });
  after(() => service.close());

  const rowsOf = async (target: string, from = service): Promise<Row[]> => {
    const { status, text, json } = await from.get(target);
    expect(status, `${target} ${text.slice(0, 300)}`).to.equal(200);
    return json.data;
  };
  const pagesOf = async (from: TestApp, path: string, query: string) => {
    const found: Row[] = [];
    for (let target: string | undefined = query; target !== undefined; ) {
      const { status, text, json, headers } = await from.get(path + target);
      expect(status, `${target} ${text.slice(0, 300)}`).to.equal(200);
      found.push(...json.data);
      target = /^<(\?[^>]*)>; rel="next"$/.exec(String(headers['link']))?.[1];
    }
    return found;
  };
  const ids = (rows: readonly Row[]) => rows.map(({ id }) => id);

  const checkGenerated = (from: TestApp, numRuns: number) =>
    fc.assert(
      fc.asyncProperty(question, async ({ filters, sort, limit }) => {
        const query = `?${queryOf(filters)}${sort && `&sort=${sort}`}`;
        const expected = ids(readings.filter((row) => filters.every((filter) => fulfils(row, filter))));
        const whole = ids(await rowsOf(`/readings${query}`, from));
        expect(
          [...whole].sort((a, b) => Number(a) - Number(b)),
          query,
        ).to.deep.equal(expected);
        expect(ids(await pagesOf(from, '/readings', `${query}&limit=${limit}`)), query).to.deep.equal(whole);
        const field = sort.replace('-', '');
        if (field !== '') {
          const values = whole.map((id) => readings[Number(id)]![field]!);
          const known = values.filter((value) => value !== null);
          expect(values.slice(known.length), query).to.deep.equal(values.filter((value) => value === null));
          const sorted = known.map(rank);
          const ascending = sort.startsWith('-') ? sorted.toReversed() : sorted;
          for (const [i, value] of ascending.slice(1).entries()) expect(ascending[i]! <= value, query).to.equal(true);
        }
      }),
      { numRuns },
    );

  it('finds the rows that match every generated query, as a whole and in pages', () => checkGenerated(service, 80));

  for (const [name, section] of Object.entries(otherAdapters)) {
    it(`${name} gives the same answers`, async () => {
      const other = await start(await section());
      try {
        await publishTo(other, (await openDirectory(service.directory)).dataset);
        await checkGenerated(other, 25);
      } finally {
        await other.close();
      }
    });
  }

  it('price=6 is price[eq]=6, and price_from and price_to are limits, unless a column has that name', async () => {
    expect(await rowsOf('/readings?level=6')).to.deep.equal(readings.filter(({ level }) => level === 6));
    expect(await rowsOf('/readings?level_from=3&level_to=4')).to.deep.equal(await rowsOf('/readings?level[in]=3,4'));
    expect(await rowsOf('/tricky?price_from=3')).to.deep.equal(tricky.filter((row) => row['price_from'] === 3));
    expect(await rowsOf('/tricky?price_to=4&sort=price')).to.have.length(2);
    expect(ids(await rowsOf('/tricky?price_from=2&sort=price&price[gte]=1'))).to.deep.equal([10, 2]);
    const { status, json } = await service.get('/readings?level=6&level[eq]=7');
    expect([status, json.error]).to.deep.equal([400, 'The query parameter "level[eq]" must be given only once.']);
  });

  for (const name of NAMES) {
    it(`a column called "${name}" has filters in brackets, and the parameter keeps its meaning`, async () => {
      const expected = ids(tricky.filter((row) => row[name] === 3));
      expect(ids(await rowsOf(`/tricky?${name}[eq]=3&sort=id`))).to.deep.equal(expected);
      expect(ids(await rowsOf(`/tricky?${name}[eq]=3&limit=2&sort=id`))).to.deep.equal(expected.slice(0, 2));
      expect(ids(await pagesOf(service, '/tricky', `?${name}[gte]=2&limit=2&sort=-${name}`))).to.have.length(6);
      const next = await service.get(`/tricky?limit=2&sort=${name}&format=csv`);
      expect(next.text.split('\r\n')[0]).to.equal(Object.keys(tricky[0]!).join());
      expect((await rowsOf('/tricky?format=json&limit=2')).length).to.equal(2);
    });
  }

  for (const name of ['health', 'ready', 'status', 'totals', 'usage']) {
    it(`a table called "${name}" is rejected at startup, with the reason`, async () => {
      const named = {
        ...tables,
        collections: [{ ...(tables.collections as unknown as { name: string }[])[0]!, name }],
      };
      const config = { plugins: ['status', { use: 'tables', options: { collections: [name] } }] };
      const error = await startTestApp({
        collections: {},
        config,
        overrides: { plugins: [{ plugin: named as never }] },
      }).then(
        (started) => started.close(),
        (found: OperatorError) => found,
      );
      expect((error as OperatorError).errors.join('\n')).to.include(
        `a table must not be called "${name}": the service has an endpoint /${name}`,
      );
    });
  }

  for (const [query, message] of [
    ['LEVEL[gte]=3', 'Did you mean "level[gte]"?'],
    ['levels[gte]=3', 'Did you mean "level[gte]"?'],
    ['level[GTE]=3', 'Did you mean "level[gte]"?'],
    ['Levels[GE]=3', 'Did you mean "level[g'],
    ['Levels_from=3', 'Did you mean "level_from"?'],
    ['LEVEL=3', 'Did you mean "level"?'],
    ['sort=-town,id', '"sort" must be exactly one of id, town, level, share, day, checked, note, with or'],
    [
      'sort=days',
      '"sort" must be exactly one of id, town, level, share, day, checked, note, with or without a leading "-"',
    ],
    ['level[ge]=3', 'no query parameter "level[ge]". Did you mean "level[g'],
    ['lvel[gte]=3', 'no query parameter "lvel[gte]"'],
    ['level[gte]=x', '"level[gte]" must be an integer.'],
    ['level=99999999999999999999', '"level" is out of range.'],
    ['level=1,2', '"level" must be an integer; for several values, use level[in].'],
    [`q=${'a'.repeat(201)}`, '"q" must have at most 200 characters.'],
    ['level[in]=1,x', '"level[in]" must be a list of integers, separated by commas.'],
    ['town[in]="Brno', '"town[in]" must be a list of strings, separated by commas.'],
    ['level[null]=yes', '"level[null]" must be true or false.'],
    ['checked[gt]=true', 'no query parameter "checked[gt]"'],
    ['day=2024-02-30', '"day" must be a calendar date, such as 2024-01-31.'],
    ['level[]=3', 'no query parameter "level[]"'],
    [`id=4&level=6&town=Brno&after=${Buffer.from('[""]').toString('base64url')}`, '"after" must be copied'],
  ] as const) {
    it(`?${query} is a 400 with a message`, async () => {
      const { status, json } = await service.get(`/readings?${encodeURI(query)}`);
      expect(status).to.equal(400);
      expect(json.error).to.include(message);
    });
  }

  for (const query of ['level[gte]', 'level[in]', 'level']) {
    it(`?${query} accepts the integers in the range given in the OpenAPI document`, async () => {
      const { components, paths } = (await service.get('/openapi.json')).json;
      const { gte } = components.schemas.IntegerFilter.properties;
      const [, plain] = paths['/readings'].get.parameters.find(
        (parameter: { readonly name: string }) => parameter.name === 'level',
      ).schema.anyOf;
      for (const { minimum, maximum } of [gte, plain]) {
        for (const [value, status] of [
          [minimum, 200],
          [maximum, 200],
          [BigInt(minimum) - 1n, 400],
          [BigInt(maximum) + 1n, 400],
        ] as const) {
          expect((await service.get(`/readings?${query}=${value}`)).status, `${value}`).to.equal(status);
        }
      }
    });
  }

  it('reads at most 50,000 rows to sort or to fill a page, and links to the next page even if a page is empty', async () => {
    const many = Array.from({ length: 120_000 }, (_, id) => ({
      ...tricky[0]!,
      id,
      price_to: id % 60_000 === 59_999 ? 1 : 0,
    }));
    const large = await start(undefined, { tricky: many });
    try {
      const pages: number[] = [];
      for (let target: string | undefined = '?price_to=1&limit=5'; target !== undefined; ) {
        const { json, headers } = await large.get(`/tricky${target}`);
        pages.push(json.data.length);
        target = /^<(\?[^>]*)>; rel="next"$/.exec(String(headers['link']))?.[1];
      }
      expect(pages).to.deep.equal([0, 1, 1]);
      expect(ids(await rowsOf('/tricky?price_to=1', large))).to.deep.equal([59_999, 119_999]);
      expect(ids(await rowsOf('/tricky?price_to=1&id[gt]=60000&limit=5', large))).to.deep.equal([]);
      const { status, json } = await large.get('/tricky?sort=price_to&limit=5');
      expect([status, json.code]).to.deep.equal([400, 'too_many_rows']);
      expect(json.error).to.equal(
        `There are too many rows to sort by price_to. Filter them, or sort by id, ${NAMES.join(', ')}, price, price,price_to.`,
      );
      const indexed = '/tricky?price=0&sort=-price_to&limit=3';
      expect(ids(await rowsOf(indexed, large))).to.deep.equal([119_999, 59_999, 119_998]);
      const few = '/tricky?sort=-price_to&id[lt]=49999&limit=2';
      expect(ids(await rowsOf(few, large))).to.deep.equal([0, 1]);
    } finally {
      await large.close();
    }
  });

  for (const name of ['sqlite', 'mongo']) {
    it(`${name} sorts the rows that a search finds in a table with more than 50,000 rows`, async () => {
      const many = Array.from({ length: 60_000 }, (_, id) => ({
        ...readings[0]!,
        id,
        share: id % 7,
        note: id % 20_000 === 5 ? 'rare' : 'common',
      }));
      const json = await start(undefined, { readings: many });
      const other = await start(await otherAdapters[name]!());
      try {
        await publishTo(other, (await openDirectory(json.directory)).dataset);
        expect(ids(await pagesOf(other, '/readings', '?q=rare&sort=-share&limit=2'))).to.deep.equal([
          20_005, 5, 40_005,
        ]);
        expect((await other.get('/readings?q=common&sort=share')).json.code).to.equal('too_many_rows');
      } finally {
        await Promise.all([json.close(), other.close()]);
      }
    });
  }

  it('equivalent queries share a cache key', async () => {
    const snapshots = async (target: string) => (await service.get(target)).headers['etag'];
    expect(await snapshots('/readings?town[in]=Brno,Aachen')).to.equal(
      await snapshots('/readings?town[in]=%20Aachen%20,+Brno'),
    );
  });
});
