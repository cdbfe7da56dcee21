import { expect } from 'chai';
import Database from 'libsql';
import { selectAhead, selectKey, selectRows, skipsEntries } from '../../adapters/sqlite/query.js';
import type { Query } from '../../core/contracts/storage.js';
import { positionOf } from '../../core/data/positions.js';

const table = {
  table: 'rows_1_0',
  fields: ['id', 'city', 'day', 'price'],
  orders: [['id'], ['city', 'day', 'id'], ['price', 'id']],
};
const BY_CITY = ['city', 'day', 'id'];

describe('a query in SQLite', () => {
  let db: InstanceType<typeof Database>;
  before(() => {
    db = new Database(':memory:');
    db.exec('CREATE TABLE rows_1_0 (json TEXT, c0 TEXT, c1 TEXT, c2 TEXT, c3 REAL)');
    db.exec('CREATE UNIQUE INDEX rows_1_0_0 ON rows_1_0 (c0)');
    db.exec('CREATE INDEX rows_1_0_1 ON rows_1_0 (c1, c2, c0)');
    db.exec('CREATE INDEX rows_1_0_2 ON rows_1_0 (c3, c0)');
  });
  after(() => db.close());

  const planOf = (sql: string): string =>
    (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).raw().all() as [number, number, number, string][])
      .map(([, , , detail]) => detail)
      .filter((detail) => detail.includes('rows_1_0') || detail.includes('TEMP'))
      .join('; ');

  const SEARCHES: readonly (readonly [Query, string])[] = [
    [{ order: ['id'] }, 'SCAN rows_1_0 USING INDEX rows_1_0_0'],
    [{ order: ['id'], after: ['x'], descending: true }, 'SEARCH rows_1_0 USING INDEX rows_1_0_0 (c0<?)'],
    [{ order: BY_CITY, equal: { city: 'Oslo' } }, 'SEARCH rows_1_0 USING INDEX rows_1_0_1 (c1=?)'],
    [
      { order: BY_CITY, equal: { city: 'Oslo' }, after: ['2025-01-01', 'x'] },
      'SEARCH rows_1_0 USING INDEX rows_1_0_1 (c1=? AND (c2,c0)>(?,?))',
    ],
    [
      { order: BY_CITY, equal: { city: 'Oslo' }, range: { field: 'day', from: '2025', to: '2026' } },
      'SEARCH rows_1_0 USING INDEX rows_1_0_1 (c1=? AND c2>? AND c2<?)',
    ],
    [
      { order: ['price', 'id'], range: { field: 'price', from: 1, to: 9 }, descending: true },
      'SEARCH rows_1_0 USING INDEX rows_1_0_2 (c3>? AND c3<?)',
    ],
  ];
  for (const [query, plan] of SEARCHES) {
    it(`searches one index for ${JSON.stringify(query)}`, () => {
      expect(planOf(selectRows(table, query, 10).sql)).to.equal(plan);
    });
  }

  it('finds a key by the unique index', () => {
    expect(planOf(selectKey(table))).to.equal('SEARCH rows_1_0 USING INDEX rows_1_0_0 (c0=?)');
  });

  it('starts at a position or a bound, whichever is later, so that a deep page reads no earlier rows', () => {
    const query = { order: ['price', 'id'], range: { field: 'price', from: 1, to: 9 } };
    const valuesOf = (more: object) => selectRows(table, { ...query, ...more }, 10).values;
    expect(valuesOf({ after: [5, 'x'] })).to.deep.equal([9, 5, 'x', 10]);
    expect(valuesOf({ after: [1, 'x'] })).to.deep.equal([9, 1, 'x', 10]);
    expect(valuesOf({ after: [0, 'x'] })).to.deep.equal([1, 9, 10]);
    expect(valuesOf({ after: [5, 'x'], descending: true })).to.deep.equal([1, 5, 'x', 10]);
    expect(valuesOf({ after: [10, 'x'], descending: true })).to.deep.equal([1, 9, 10]);
    const words = { order: ['id'], range: { field: 'id', from: '\u{10000}' }, after: ['\uffff'] };
    expect(selectRows(table, words, 10).values).to.deep.equal(['\u{10000}', 10]);
  });

  it('reads a range of a later field in windows of the index, which end at a position', () => {
    const query = { order: BY_CITY, range: { field: 'day', from: '2025' }, after: ['Oslo', '2024', 'a'] };
    expect(skipsEntries(query)).to.equal(true);
    expect(skipsEntries({ ...query, equal: { city: 'Oslo' }, after: ['2024', 'a'] })).to.equal(false);
    const ahead = selectAhead(table, query, 2000);
    expect(ahead.values).to.deep.equal(['Oslo', '2024', 'a', 1999]);
    expect(planOf(ahead.sql)).to.equal('SEARCH rows_1_0 USING INDEX rows_1_0_1 ((c1,c2,c0)>(?,?,?))');
    const end = positionOf(query, { id: 'b', city: 'Rome', day: '2020', price: 1 });
    expect(end).to.deep.equal(['Rome', '2020', 'b']);
    const { sql, values } = selectRows(table, query, 10, end);
    expect(values).to.deep.equal(['2025', 'Oslo', '2024', 'a', 'Rome', '2020', 'b', 10]);
    expect(planOf(sql)).to.match(
      /^SEARCH rows_1_0 USING INDEX rows_1_0_1 \(\(c1,c2,c0\)>\(\?,\?,\?\) AND \(c1,c2,c0\)<\(\?,\?,\?\)\)$/,
    );
  });

  it('names the index of the order, although field names can contain commas', () => {
    const fields = {
      table: 'rows_1_0',
      fields: ['k', 'a', 'b,c', 'a,b', 'c'],
      orders: [['k'], ['a,b', 'c'], ['a', 'b,c']],
    };
    const indexes = fields.orders.map((order) => /INDEXED BY (\w+)/.exec(selectRows(fields, { order }, 1).sql)?.[1]);
    expect(indexes).to.deep.equal(['rows_1_0_0', 'rows_1_0_1', 'rows_1_0_2']);
  });
});
