import type { Collection, Document, Query, Scalar } from 'metro-forecast-api/adapter';
import { sameSequence } from './expect.js';
import { all, BY_GRADE, BY_NAME, BY_RANK, BY_SIZE, findChecks, PAGE, shapesOfQueries } from './find-checks.js';
import { items, numbers, pairs, readings, spots, words } from './fixture.js';
import type { Instance } from './instance.js';
import { answerOf, ordersOf } from './reference.js';
import { absentNumbers, absentWords } from './tricky-values.js';

export const describeFindPages = (instance: () => Instance): void => {
  const { found, isSequence, isNothing } = findChecks(instance);

  describe('find(collection, { after })', () => {
    const placeOf = (document: Document, fields: readonly string[]) => fields.map((field) => document[field] as Scalar);
    /** For each matching document, queries the documents after it, in both sort directions. */
    const behindEach = async (collection: Collection, query: Query): Promise<void> => {
      const free = query.order.slice(Object.keys(query.equal ?? {}).length);
      for (const document of answerOf(all(collection), query)) {
        for (const descending of [false, true]) {
          await isSequence(collection, { ...query, descending, after: placeOf(document, free) });
        }
      }
    };

    it('continues after any document, in both directions', async () => {
      for (const collection of [items, readings]) await behindEach(collection, { order: collection.key });
    });

    it('compares later fields of an order when earlier ones are equal', async () => {
      for (const order of [BY_RANK, BY_GRADE]) await behindEach(items, { order });
      await behindEach(readings, { order: readings.orders![0]! });
    });

    it('continues after any string and number', async () => {
      for (const collection of [words, numbers]) await behindEach(collection, { order: collection.key });
      for (const order of [BY_NAME, BY_SIZE]) await behindEach(spots, { order });
      for (const descending of [false, true]) {
        await isSequence(numbers, { order: numbers.key, descending, after: [-0] });
      }
    });

    it('compares the fields of a position one by one, not joined', async () => {
      for (const order of ordersOf(pairs)) await behindEach(pairs, { order });
    });

    it('continues after a position that no document has', async () => {
      for (const descending of [false, true]) {
        for (const word of absentWords) await isSequence(words, { order: words.key, descending, after: [word] });
        for (const value of absentNumbers)
          await isSequence(numbers, { order: numbers.key, descending, after: [value] });
        for (const id of ['', 'i', 'i05x', 'z']) {
          await isSequence(items, { order: items.key, descending, after: [id] });
          for (const rank of [-5, 0, 2, 3, 50]) {
            await isSequence(items, { order: BY_RANK, descending, after: [rank, 'b', id].slice(0, BY_RANK.length) });
          }
        }
      }
    });

    it('contains values only for the fields of the order that equal does not fix', async () => {
      for (const grade of 'abc') await behindEach(items, { order: BY_GRADE, equal: { grade } });
      await behindEach(readings, { order: readings.key, equal: { station: 'west' } });
      await behindEach(readings, { order: readings.key, equal: { station: 'west', day: '2024-01-31' } });
    });

    it('combines with a range on any field, on either side of its bounds', async () => {
      const days = { field: 'day', from: '2024-01-31', to: '2024-02-01' };
      for (const station of ['north', 'west']) {
        for (const day of ['2024-01-30', '2024-01-31', '2024-02-01', '2024-02-02']) {
          for (const range of [days, { field: 'hour', from: 2, to: 9 }, { field: 'day', from: day, to: day }]) {
            for (const descending of [false, true]) {
              const query = { order: readings.key, range, descending };
              await isSequence(readings, { ...query, after: [station, day, 9] });
              await isSequence(readings, { ...query, equal: { station }, after: [day, 9] });
            }
          }
        }
      }
    });

    it('counts the limit from the position', async () => {
      for (const [collection, query] of shapesOfQueries()) {
        const answer = answerOf(all(collection), query);
        const free = query.order.slice(Object.keys(query.equal ?? {}).length);
        const after = placeOf(answer[Math.floor(answer.length / 2)]!, free);
        for (const limit of [0, 1, 2, answer.length]) await isSequence(collection, { ...query, after, limit });
      }
    });

    it('returns pages that together form the whole list', async () => {
      for (const [collection, query] of shapesOfQueries()) {
        const free = query.order.slice(Object.keys(query.equal ?? {}).length);
        const whole = answerOf(all(collection), query);
        for (let start = 0; start <= whole.length; start += PAGE) {
          const last = whole[start - 1];
          const paged = { ...query, limit: PAGE, ...(last && { after: placeOf(last, free) }) };
          sameSequence(collection, await found(collection, paged), whole.slice(start, start + PAGE), paged);
        }
      }
    });
  });

  describe('find(collection, query)', () => {
    it('combines equality, range, order and direction', async () => {
      const days = [{}, { from: '2024-01-31' }, { to: '2024-02-01' }, { from: '2024-01-31', to: '2024-02-01' }];
      for (const { from, to } of days) {
        const range = { field: 'day', ...(from && { from }), ...(to && { to }) };
        for (const [order, station] of [[readings.key], [readings.key, 'south'], [readings.orders![0]!]] as const) {
          const query = { order, ...(station && { equal: { station } }), ...((from ?? to) && { range }) };
          await isSequence(readings, query);
          await isSequence(readings, { ...query, descending: true });
        }
      }
      for (const [collection, query] of shapesOfQueries()) await isSequence(collection, query);
    });
  });

  describe('find(collection, { limit })', () => {
    it('returns nothing at 0', async () => {
      for (const [collection, query] of shapesOfQueries()) await isNothing(collection, { ...query, limit: 0 });
    });

    it('returns the first documents of the order', async () => {
      for (const limit of [1, 5, 23]) await isSequence(items, { order: items.key, limit });
    });

    it('returns all documents if there are fewer', async () => {
      for (const limit of [24, 25, 1_000_000, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
        await isSequence(items, { order: items.key, limit });
      }
    });

    it('counts from the end when descending', async () => {
      for (const limit of [1, 5, 23, 24, 25]) await isSequence(items, { order: BY_RANK, descending: true, limit });
    });

    it('counts only documents that match equality and range', async () => {
      const range = { field: 'day', from: '2024-01-31' };
      for (const limit of [1, 7, 14, 15, 16]) {
        await isSequence(readings, { order: readings.key, equal: { station: 'west' }, range, limit });
      }
    });

    it('combines with every other part of a query', async () => {
      for (const [collection, query] of shapesOfQueries()) {
        const { length } = answerOf(all(collection), query);
        for (const limit of new Set([1, 2, length - 1, length, length + 1])) {
          await isSequence(collection, { ...query, limit });
        }
      }
    });
  });
};
