/** Queries for the tests of `find`, and assertions about their results. */
import type { Collection, Document, Query, Scalar } from 'metro-forecast-api/adapter';
import { isEmpty, sameSequence, sameSet } from './expect.js';
import { find } from './find-rows.js';
import { allRows, columns, items, numbers, pairs, readings, spots, twins, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { answerOf, ordersOf } from './reference.js';

export const BY_RANK = items.orders![0]!;
export const BY_GRADE = items.orders![1]!;
export const BY_NAME = spots.orders![0]!;
export const BY_SIZE = spots.orders![1]!;

/** Collections that are small enough to run hundreds of queries on each of them. */
export const small = [items, readings, twins, numbers, words, pairs, spots, columns];

export const PAGE = 4;

export const all = ({ name }: Collection): readonly Document[] => allRows()[name]!;

/**
 * For each order, yields queries with equality conditions on the first field, on the first two fields, and so on. There
 * is a query for each combination of values in the documents.
 */
export function* equalities(collection: Collection): Generator<Query> {
  for (const order of ordersOf(collection)) {
    for (let count = 1; count <= order.length; count++) {
      const seen = new Set<string>();
      for (const document of all(collection)) {
        const equal = Object.fromEntries(order.slice(0, count).map((field) => [field, document[field] as Scalar]));
        const text = JSON.stringify(equal);
        if (!seen.has(text)) yield { order, equal };
        seen.add(text);
      }
    }
  }
}

export function* shapesOfQueries(): Generator<[Collection, Query]> {
  const station = { station: 'west' };
  const days = { field: 'day', from: '2024-01-31', to: '2024-02-01' };
  const hours = { field: 'hour', from: 2, to: 10 };
  const queries: [Collection, Query][] = [
    [items, { order: items.key }],
    [items, { order: BY_RANK }],
    [items, { order: BY_GRADE, equal: { grade: 'b' } }],
    [items, { order: BY_RANK, range: { field: 'rank', from: 2 } }],
    [items, { order: BY_RANK, range: { field: 'rank', to: 9 } }],
    [items, { order: BY_RANK, range: { field: 'grade', from: 'b' } }],
    [readings, { order: readings.key, equal: station }],
    [readings, { order: readings.key, range: days }],
    [readings, { order: readings.key, range: hours }],
    [readings, { order: readings.key, equal: station, range: days }],
    [readings, { order: readings.key, equal: { ...station, day: '2024-01-31' }, range: hours }],
    [readings, { order: readings.orders![0]!, equal: { day: '2024-01-31' }, range: hours }],
  ];
  for (const [collection, query] of queries) {
    yield [collection, query];
    yield [collection, { ...query, descending: true }];
  }
}

export const findChecks = (instance: () => Instance) => {
  const found = (collection: Collection, query: Partial<Query> = {}): Promise<Document[]> =>
    withSnapshot(instance(), (snapshot) => find(snapshot, collection, query));

  const isSet = async (collection: Collection, query: Query): Promise<void> =>
    sameSet(collection, await found(collection, query), answerOf(all(collection), query), query);

  const isSequence = async (collection: Collection, query: Query): Promise<void> =>
    sameSequence(collection, await found(collection, query), answerOf(all(collection), query), query);

  const isNothing = async (collection: Collection, query: Query): Promise<void> =>
    isEmpty(await found(collection, query), `nothing for ${JSON.stringify(query)}`);

  return { found, isSet, isSequence, isNothing };
};
