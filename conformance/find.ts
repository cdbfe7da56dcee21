/** Proves that many documents are found by equality, range, order and limit, each alone and all together. */
import assert from 'node:assert/strict';
import type { Collection, Document } from '../core/contracts/dataset.js';
import type { Query, Scalar } from '../core/contracts/storage.js';
import { compareBy } from '../core/storage/compare.js';
import { items, nothing, numbers, orderedWords, readings, rows, words } from './fixture.js';
import { failsWith, find, type Instance, withSnapshot } from './instance.js';

const BY_RANK = items.orders![0]!;
const BY_GRADE = items.orders![1]!;
const BY_DAY = readings.orders![0]!;

const all = (collection: Collection): readonly Document[] => rows[collection.name]!;
const where = (collection: Collection, condition: (row: Document) => boolean) => all(collection).filter(condition);
const inOrder = (documents: readonly Document[], order: readonly string[]) => [...documents].sort(compareBy(order));

export const describeFind = (instance: () => Instance): void => {
  const found = (collection: Collection, query: Partial<Query> = {}): Promise<Document[]> =>
    withSnapshot(instance(), (snapshot) => find(snapshot, collection, query));

  describe('find(collection)', () => {
    it('answers with every document once, in the order of the key', async () => {
      for (const collection of [items, readings, numbers]) assert.deepEqual(await found(collection), all(collection));
    });

    it('answers with nothing for an empty collection', async () => {
      assert.deepEqual(await found(nothing), []);
      assert.deepEqual(await found(nothing, { equal: { id: 'x' } }), []);
    });

    it('rejects with unknown_collection for one that is not declared', async () => {
      for (const name of ['no_such', 'constructor', '__proto__']) {
        await failsWith('unknown_collection', () => found({ ...items, name }));
      }
    });
  });

  describe('find(collection, { equal })', () => {
    it('on the first field of the key', async () => {
      const expected = where(readings, (row) => row['station'] === 'south');
      assert.deepEqual(await found(readings, { equal: { station: 'south' } }), expected);
    });

    it('on several leading fields of the key', async () => {
      const equal = { station: 'south', day: '2024-01-31' };
      const expected = where(readings, (row) => row['station'] === equal.station && row['day'] === equal.day);
      assert.deepEqual(await found(readings, { equal }), expected);
    });

    it('on all fields of the key', async () => {
      const equal = { station: 'south', day: '2024-01-31', hour: 10 };
      assert.deepEqual(
        (await found(readings, { equal })).map(({ value }) => value),
        [112.5],
      );
    });

    it('on leading fields of a declared order', async () => {
      const expected = where(items, (row) => row['grade'] === 'b');
      assert.deepEqual(await found(items, { order: BY_GRADE, equal: { grade: 'b' } }), inOrder(expected, BY_GRADE));
    });

    it('answers with nothing for a value that no document has', async () => {
      for (const station of ['', 'nort', 'northern', 'North', 'n%', '.*']) {
        assert.deepEqual(await found(readings, { equal: { station } }), []);
      }
    });
  });

  describe('find(collection, { range })', () => {
    const hours = async (range: { from?: Scalar; to?: Scalar }) => {
      const equal = { station: 'west', day: '2024-02-01' };
      return (await found(readings, { equal, range: { field: 'hour', ...range } })).map(({ hour }) => hour);
    };

    it('includes both of its bounds, also where they are one', async () => {
      assert.deepEqual(await hours({ from: 2, to: 10 }), [2, 9, 10]);
      assert.deepEqual(await hours({ from: 9, to: 9 }), [9]);
    });

    it('takes bounds that no document has', async () => {
      assert.deepEqual(await hours({ from: 1.5, to: 10.5 }), [2, 9, 10]);
      assert.deepEqual(await hours({ from: -5, to: 50 }), [1, 2, 9, 10, 11]);
      assert.deepEqual(await hours({ from: 3, to: 8 }), []);
    });

    it('takes a lower bound alone', async () => {
      assert.deepEqual(await hours({ from: 8 }), [9, 10, 11]);
      assert.deepEqual(await hours({ from: 12 }), []);
    });

    it('takes an upper bound alone', async () => {
      assert.deepEqual(await hours({ to: 8 }), [1, 2]);
      assert.deepEqual(await hours({ to: 0 }), []);
    });

    it('answers with nothing where the lower bound is above the upper', async () => {
      assert.deepEqual(await hours({ from: 10, to: 2 }), []);
    });

    it('bounds the first field of an order', async () => {
      const range = { field: 'rank', from: 0, to: 9.5 };
      const expected = where(items, ({ rank }) => rank === 2 || rank === 9);
      assert.deepEqual(await found(items, { order: BY_RANK, range }), inOrder(expected, BY_RANK));
    });

    it('bounds a later field, with nothing said of those before it', async () => {
      const range = { field: 'day', from: '2024-01-31T', to: '2024-02-01T' };
      const expected = where(readings, ({ day }) => day === '2024-02-01');
      assert.deepEqual(await found(readings, { range }), expected);
    });

    it('bounds strings by code point', async () => {
      const range = { field: 'word', from: '\ufffe', to: '\u{1f46a}' };
      const between = (await found(words, { range })).map(({ word }) => word);
      assert.deepEqual(between, ['\uffff', '𐀀', '👩', '👩‍💻']);
    });
  });

  describe('find(collection, { order, descending })', () => {
    it('lets later fields of an order decide the ties of earlier ones', async () => {
      for (const order of [BY_RANK, BY_GRADE]) {
        assert.deepEqual(await found(items, { order }), inOrder(all(items), order));
      }
    });

    it('descending is the exact reverse, ties included', async () => {
      for (const order of [items.key, BY_RANK, BY_GRADE]) {
        const expected = inOrder(all(items), order).reverse();
        assert.deepEqual(await found(items, { order, descending: true }), expected);
      }
    });

    it('orders numbers by value, not by their digits', async () => {
      const values = all(numbers).map(({ value }) => value as number);
      assert.deepEqual(
        (await found(numbers)).map(({ value }) => value),
        values.toSorted((a, b) => a - b),
      );
    });

    it('orders strings by code point, not by UTF-16 unit or by language', async () => {
      assert.deepEqual(
        (await found(words)).map(({ word }) => word),
        orderedWords,
      );
    });
  });

  describe('find(collection, { limit })', () => {
    it('answers with nothing at 0', async () => {
      assert.deepEqual(await found(items, { limit: 0 }), []);
    });

    it('answers with the first documents of the order', async () => {
      for (const limit of [1, 5, 23]) assert.deepEqual(await found(items, { limit }), all(items).slice(0, limit));
    });

    it('answers with all where there are no more', async () => {
      for (const limit of [24, 25, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        assert.deepEqual(await found(items, { limit }), all(items));
      }
    });

    it('counts from the end that descending begins at', async () => {
      const last = inOrder(all(items), BY_RANK).reverse().slice(0, 5);
      assert.deepEqual(await found(items, { order: BY_RANK, descending: true, limit: 5 }), last);
    });
  });

  it('find(collection, query) answers every combination of its parts as filter, sort and slice would', async () => {
    const stations = [undefined, 'south', 'east'];
    const ranges = [
      undefined,
      { from: '2024-01-30T' },
      { to: '2024-02-01T' },
      { from: '2024-01-30T', to: '2024-02-01T' },
    ];
    for (const order of [readings.key, BY_DAY]) {
      for (const station of order === readings.key ? stations : [undefined]) {
        for (const range of ranges) {
          for (const descending of [false, true]) {
            for (const limit of [undefined, 7]) {
              const matching = where(
                readings,
                (row) =>
                  (station === undefined || row['station'] === station) &&
                  (row['day'] as string) >= (range?.from ?? '') &&
                  (row['day'] as string) <= (range?.to ?? '~'),
              );
              const sorted = inOrder(matching, order);
              const expected = (descending ? sorted.reverse() : sorted).slice(0, limit);
              const query: Query = {
                order,
                ...(station !== undefined && { equal: { station } }),
                ...(range && { range: { field: 'day', ...range } }),
                ...(descending && { descending }),
                ...(limit !== undefined && { limit }),
              };
              assert.deepEqual(await found(readings, query), expected, JSON.stringify(query));
            }
          }
        }
      }
    }
  });
};
