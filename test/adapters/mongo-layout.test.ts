import { expect } from 'chai';
import { BSON } from 'mongodb';
import { unstorable } from '../../adapters/mongo/content.js';
import { dataCollection, indexOf, jsonOf, planFind, planGet, versionIdOf } from '../../adapters/mongo/layout.js';
import type { Collection } from '../../core/contracts/dataset.js';
import { ordersOf } from '../../core/data/publishing.js';
import { connectionTo } from './mongo-database.js';

const collection = {
  name: 'prices',
  key: ['cbsa', 'date'],
  orders: [['date'], ['name', 'cbsa']],
} as unknown as Collection;

const arrayOf = (texts: readonly string[]): Uint8Array =>
  BSON.serialize(Object.fromEntries(texts.map((j, i) => [i, { j }])));

describe('the layout in MongoDB', () => {
  it('returns the stored texts in one buffer, of any length', () => {
    const texts = ['{}', '{"name":"Zürich 🏠"}', `{"note":"${'x'.repeat(70_000)}"}`];
    const { json, ends } = jsonOf(arrayOf(texts));
    expect(json.toString()).to.equal(texts.join());
    expect(ends.map((end, i) => json.toString('utf8', i === 0 ? 0 : ends[i - 1]! + 1, end))).to.deep.equal(texts);
    expect(jsonOf(arrayOf([]))).to.deep.equal({ json: Buffer.alloc(0), ends: [] });
  });

  it('stores each collection of a version in a MongoDB collection whose name contains the version id', () => {
    expect(dataCollection(17, 'prices.monthly')).to.equal('data.17.prices.monthly');
    expect(
      ['data.17.prices.monthly', 'data.0.x', 'data.x.17.y', 'my.data.17.x', 'data.17', 'catalog'].map(versionIdOf),
    ).to.deep.equal([17, 0, undefined, undefined, undefined, undefined]);
  });

  it('has an index for the key, then one for each order', () => {
    expect(ordersOf(collection).map((order) => indexOf(order))).to.deep.equal([
      { 'd.cbsa': 1, 'd.date': 1 },
      { 'd.date': 1 },
      { 'd.name': 1, 'd.cbsa': 1 },
    ]);
    expect(ordersOf({ ...collection, orders: undefined } as never)).to.deep.equal([['cbsa', 'date']]);
    expect(indexOf(['date', 'name'], -1)).to.deep.equal({ 'd.date': -1, 'd.name': -1 });
  });

  it('get() queries by key with the index of the key', () => {
    expect(planGet(collection, ['12060', '2026-01'])).to.deep.equal({
      filter: { 'd.cbsa': '12060', 'd.date': '2026-01' },
      options: { projection: { _id: 0, j: 1 }, hint: { 'd.cbsa': 1, 'd.date': 1 }, limit: 1 },
    });
  });

  it('find() sorts in the order of an index', () => {
    const read = { projection: { _id: 0, j: 1 }, limit: 9 };
    const plain = { ...read, hint: { 'd.date': 1 }, sort: { 'd.date': 1 } };
    expect(planFind({ order: ['date'] }, 9)).to.deep.equal({ filter: {}, options: plain });
    expect(planFind({ order: ['date'], descending: true }, 9)).to.deep.equal({
      filter: {},
      options: { ...plain, sort: { 'd.date': -1 } },
    });
    const filterOf = (query: object) => planFind({ order: ['date'], ...query }, 9).filter;
    expect(filterOf({ order: ['name', 'cbsa'], equal: { name: '', cbsa: '1' } })).to.deep.equal({
      'd.name': { $eq: '' },
      'd.cbsa': { $eq: '1' },
    });
    expect(filterOf({ range: { field: 'date', from: 'a', to: 'b' } })).to.deep.equal({
      'd.date': { $gte: 'a', $lte: 'b' },
    });
    expect(filterOf({ range: { field: 'date', from: 0 } })).to.deep.equal({ 'd.date': { $gte: 0 } });
    expect(filterOf({ range: { field: 'date', to: '' } })).to.deep.equal({ 'd.date': { $lte: '' } });
    expect(filterOf({ range: { field: 'date', from: 0 }, after: [0] })).to.deep.equal({
      'd.date': { $gte: 0, $gt: 0 },
    });
    expect(filterOf({ order: ['name', 'cbsa'], descending: true, after: ['a', '1'] })).to.deep.equal({
      $or: [{ 'd.name': { $lt: 'a' } }, { 'd.name': { $eq: 'a' }, 'd.cbsa': { $lt: '1' } }],
    });
  });

  const databaseOf = (uri: string, database?: string): string =>
    connectionTo({ uri, ...(database && { database }) }).db.databaseName;

  it('uses the database from the option `database`, or otherwise from the connection string', () => {
    expect(databaseOf('mongodb://127.0.0.1')).to.equal('dataset');
    expect(databaseOf('mongodb://127.0.0.1/')).to.equal('dataset');
    expect(databaseOf('mongodb://127.0.0.1/?directConnection=true')).to.equal('dataset');
    expect(databaseOf('mongodb://127.0.0.1,127.0.0.2:27018/metros?retryReads=false')).to.equal('metros');
    expect(databaseOf('mongodb://127.0.0.1/us%2Dmetros')).to.equal('us-metros');
    expect(databaseOf('mongodb://127.0.0.1/metros', 'other')).to.equal('other');
  });
});

describe('values that MongoDB cannot return unchanged', () => {
  const errorOf = (row: object): string | undefined => unstorable(row as never, JSON.stringify(row));

  for (const [row, error] of [
    [{ a: '\ud800' }, 'the row.a contains half a surrogate pair, which UTF-8 cannot encode'],
    [{ a: [1, { b: ['x', '\udc00'] }] }, 'the row.a[1].b[1] contains half a surrogate pair, which UTF-8 cannot encode'],
    [{ '\udfff': 1 }, 'the name of "the row.\\udfff" contains half a surrogate pair'],
    [{ a: { 'b\0c': 1 } }, 'the name of "the row.a.b\\u0000c" contains the character U+0000'],
    [{ a: [{ _bsontype: 'Long' }] }, "the row.a[0]._bsontype has a name that is reserved by MongoDB's driver"],
    [{ a: { $ref: 'x', $id: 1 } }, 'the row.a would be read back as a database reference'],
    [{ a: null, b: { $ref: 'x', $id: null } }, 'the row.b would be read back as a database reference'],
  ] as const) {
    it(`${error.slice(0, 60)}…`, () => expect(errorOf(row)).to.equal(error));
  }

  it('all other values can be stored', () => {
    for (const row of [
      { a: '😀 \u0001 \0', b: [null, true, 1.5, -0] },
      { a: '"_bsontype" and "$ref" and \\u' },
      { $ref: 'x' },
      { $id: 'x', a: { $ref: { $id: 1 } } },
      { _id: 1, 'a.b': 1, $set: {}, '': null },
    ]) {
      expect(errorOf(row), JSON.stringify(row)).to.equal(undefined);
    }
  });
});
