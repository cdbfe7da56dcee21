import { expect } from 'chai';
import fc from 'fast-check';
import { answerOf } from '../../../adapters/conformance/reference.js';
import type { Collection, Document } from '../../../core/contracts/dataset.js';
import type { Query, Scalar } from '../../../core/contracts/storage.js';
import { IndexedCollection } from '../../../core/data/indexed-collection.js';
import { jsonRows } from '../../../core/data/packed-documents.js';
import { compareBy } from '../../../core/data/scalars.js';

const collection: Collection = {
  name: 'points',
  key: ['a', 'b', 'c'],
  orders: [
    ['b', 'a', 'c'],
    ['c', 'b', 'a'],
    ['v', 'a', 'b', 'c'],
    ['b', 'v', 'c', 'a'],
  ],
  schema: { type: 'object' },
};
const orders: readonly (readonly string[])[] = [collection.key, ...collection.orders!];

const letters = fc.constantFrom('', 'a', 'b', 'ab', '\uffff', '😀');
const digits = fc.integer({ min: -2, max: 2 });
const anyOf = (field: string): fc.Arbitrary<Scalar> => (field === 'b' || field === 'v' ? digits : letters);
const document = fc.record({ a: letters, b: digits, c: letters, v: digits });
const rows = fc
  .uniqueArray(document, { selector: ({ a, b, c }) => JSON.stringify([a, b, c]), maxLength: 60 })
  .map((list): Document[] => list.sort(compareBy(collection.key)));

const queries = fc.constantFrom(...orders).chain((order) =>
  fc.nat(order.length).chain((fixed) => {
    const free = order.slice(fixed);
    const range =
      free.length === 0
        ? fc.constant(undefined)
        : fc
            .constantFrom(...free)
            .chain((field) =>
              fc.record(
                { field: fc.constant(field), from: anyOf(field), to: anyOf(field) },
                { requiredKeys: ['field'] },
              ),
            );
    return fc.record(
      {
        order: fc.constant(order),
        equal: fc
          .tuple(...order.slice(0, fixed).map(anyOf))
          .map((values) => Object.fromEntries(values.map((value, i) => [order[i]!, value]))),
        range,
        descending: fc.boolean(),
        ...(free.length > 0 && { after: fc.tuple(...free.map(anyOf)) }),
        limit: fc.nat(8),
      },
      { requiredKeys: ['order', 'equal'] },
    );
  }),
);

describe('IndexedCollection', () => {
  it('find(query) returns the same as filter, sort and slice, for random documents and queries', async () => {
    await fc.assert(
      fc.asyncProperty(rows, queries, async (documents, query) => {
        const found = (await IndexedCollection.of(collection, documents)).find(query as Query);
        expect([...found]).to.deep.equal(answerOf(documents, query as Query));
      }),
      { numRuns: 1000 },
    );
  });

  it('batches(query) returns the same rows in batches of at most 100', async () => {
    const documents = Array.from({ length: 2500 }, (_, i) => ({ a: 'x', b: i, c: 'y', v: i % 7 }));
    const indexed = await IndexedCollection.of(collection, documents);
    for (const order of orders) {
      for (const descending of [false, true]) {
        const range = { field: order[1]!, from: order[1] === 'v' ? 3 : order[1] === 'b' ? 100 : 'x' };
        for (const query of [
          { order, descending },
          { order, descending, limit: 1200 },
          { order, descending, range },
        ]) {
          const batches = [...indexed.batches(query)];
          expect(batches.flat()).to.deep.equal(answerOf(documents, query));
          for (const { length } of batches) expect(length).to.be.within(1, 100);
        }
      }
    }
  });

  it('get(key) finds every document by its key, and nothing for other keys', async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.tuple(letters, digits, letters), async (documents, other) => {
        const indexed = await IndexedCollection.of(collection, documents);
        for (const row of documents) {
          expect(indexed.get([row['a'], row['b'], row['c']] as Scalar[])).to.deep.equal(row);
        }
        const found = documents.find(({ a, b, c }) => a === other[0] && b === other[1] && c === other[2]);
        expect(indexed.get(other)).to.deep.equal(found);
      }),
    );
  });

  it('sort(pause) pauses for many documents', async () => {
    const documents = Array.from({ length: 120_000 }, (_, i) => ({ a: 'x', b: i, c: 'y', v: (i * 7919) % 1000 }));
    const indexed = new IndexedCollection(collection);
    indexed.add(jsonRows(documents));
    let pauses = 0;
    await indexed.sort(async () => {
      pauses++;
    });
    expect(pauses).to.be.greaterThan(100);
    for (const order of orders) {
      const query = { order, limit: 5000, descending: true };
      expect(indexed.find(query)).to.deep.equal(answerOf(documents, query));
    }
  });

  it('accepts -0 and 0 in an order, although JSON distinguishes them and comparison does not', async () => {
    const documents = [
      { a: 'a', b: 0, c: '', v: 0 },
      { a: 'b', b: 0, c: '', v: -0 },
    ];
    const indexed = await IndexedCollection.of(collection, documents);
    const found = indexed.find({ order: ['v', 'a', 'b', 'c'], equal: { v: 0 } });
    expect(found.map(({ a }) => a)).to.deep.equal(['a', 'b']);
  });

  it('distinguishes orders whose field names contain commas', async () => {
    const orders = [
      ['a,b', 'c', 'k'],
      ['a', 'b,c', 'k'],
      ['b,k', 'k'],
    ];
    const rows = [
      { k: 1, a: 2, 'b,c': 0, 'a,b': 1, c: 0, 'b,k': 2 },
      { k: 2, a: 1, 'b,c': 0, 'a,b': 2, c: 0, 'b,k': 1 },
    ];
    const indexed = await IndexedCollection.of({ name: 'points', key: ['k'], orders, schema: {} }, rows);
    const found = orders.map((order) => indexed.find({ order }).map(({ k }) => k));
    expect(found).to.deep.equal([
      [1, 2],
      [2, 1],
      [2, 1],
    ]);
  });
});
