/** Proves that many documents are found by equality, range, order and limit, each alone and all together. */
import assert from 'node:assert/strict';
import type { Collection, Document } from '../core/contracts/dataset.js';
import type { Query, Scalar } from '../core/contracts/storage.js';
import { compareBy } from '../core/storage/compare.js';
import { failsWith, isEmpty, sameList, sameSequence, sameSet } from './expect.js';
import { items, nothing, numbers, orderedWords, readings, rows, words } from './fixture.js';
import { find, type Instance, withSnapshot } from './instance.js';

const BY_RANK = items.orders![0]!;
const BY_GRADE = items.orders![1]!;
const BY_DAY = readings.orders![0]!;

const all = (collection: Collection): readonly Document[] => rows[collection.name]!;
const where = (collection: Collection, condition: (row: Document) => boolean) => all(collection).filter(condition);
const inOrder = (documents: readonly Document[], order: readonly string[]) => documents.toSorted(compareBy(order));

export const describeFind = (instance: () => Instance): void => {
  const found = (collection: Collection, query: Partial<Query> = {}): Promise<Document[]> =>
    withSnapshot(instance(), (snapshot) => find(snapshot, collection, query));

  describe('find(collection)', () => {
    it('answers with every document once', async () => {
      for (const collection of [items, readings, numbers, words]) {
        sameSet(collection, await found(collection), all(collection));
      }
    });

    it('answers with nothing for an empty collection', async () => {
      isEmpty(await found(nothing), 'nothing of an empty collection');
      isEmpty(await found(nothing, { equal: { id: 'x' } }), 'nothing of an empty collection');
    });

    it('rejects with unknown_collection for one that is not declared', async () => {
      for (const name of ['no_such', 'constructor', '__proto__']) {
        await failsWith('unknown_collection', () => found({ ...items, name }));
      }
    });
  });

  describe('find(collection, { equal })', () => {
    it('on the first field of the key', async () => {
      const expected = where(readings, ({ station }) => station === 'south');
      sameSet(readings, await found(readings, { equal: { station: 'south' } }), expected);
    });

    it('on several leading fields of the key', async () => {
      const equal = { station: 'south', day: '2024-01-31' };
      const expected = where(readings, ({ station, day }) => station === equal.station && day === equal.day);
      sameSet(readings, await found(readings, { equal }), expected);
    });

    it('on all fields of the key', async () => {
      const [only, ...others] = await found(readings, { equal: { station: 'south', day: '2024-01-31', hour: 10 } });
      assert.equal(only?.['value'], 112.5);
      isEmpty(others, 'no more than the document of the key');
    });

    it('on leading fields of a declared order', async () => {
      const expected = where(items, ({ grade }) => grade === 'b');
      sameSet(items, await found(items, { order: BY_GRADE, equal: { grade: 'b' } }), expected);
    });

    it('answers with nothing for a value that no document has', async () => {
      for (const station of ['', 'nort', 'northern', 'North', 'n%', '.*']) {
        isEmpty(await found(readings, { equal: { station } }), `nothing where the station is "${station}"`);
      }
    });
  });

  describe('find(collection, { range })', () => {
    const expectHours = async (range: { from?: Scalar; to?: Scalar }, expected: readonly number[]): Promise<void> => {
      const equal = { station: 'west', day: '2024-02-01' };
      const documents = await found(readings, { equal, range: { field: 'hour', ...range } });
      const hours = documents.map(({ hour }) => hour);
      sameList(hours, expected, `the hours in the range ${JSON.stringify(range)}`);
    };

    it('includes both of its bounds, also where they are one', async () => {
      await expectHours({ from: 2, to: 10 }, [2, 9, 10]);
      await expectHours({ from: 9, to: 9 }, [9]);
    });

    it('takes bounds that no document has', async () => {
      await expectHours({ from: 3, to: 11 }, [9, 10]);
      await expectHours({ from: -5, to: 50 }, [1, 2, 9, 10, 12]);
      await expectHours({ from: 3, to: 8 }, []);
    });

    it('takes a lower bound alone', async () => {
      await expectHours({ from: 8 }, [9, 10, 12]);
      await expectHours({ from: 13 }, []);
    });

    it('takes an upper bound alone', async () => {
      await expectHours({ to: 8 }, [1, 2]);
      await expectHours({ to: 0 }, []);
    });

    it('answers with nothing where the lower bound is above the upper', async () => {
      await expectHours({ from: 10, to: 2 }, []);
    });

    it('bounds the first field of an order', async () => {
      const expected = where(items, ({ rank }) => rank === 2 || rank === -1);
      sameSet(items, await found(items, { order: BY_RANK, range: { field: 'rank', from: -5, to: 5 } }), expected);
    });

    it('bounds a later field, with nothing said of those before it', async () => {
      const range = { field: 'day', from: '2024-01-31T', to: '2024-02-01T' };
      const expected = where(readings, ({ day }) => day === '2024-02-01');
      sameSet(readings, await found(readings, { range }), expected);
    });

    it('bounds strings by code point', async () => {
      const range = { field: 'word', from: '\ufffe', to: '\u{1f46a}' };
      const expected = ['\uffff', '𐀀', '👩', '👩‍💻'].map((word) => ({ word }));
      sameSet(words, await found(words, { range }), expected);
    });
  });

  describe('find(collection, { order, descending })', () => {
    it('orders by the fields of the key', async () => {
      for (const collection of [items, readings]) {
        sameSequence(collection, await found(collection), all(collection));
      }
    });

    it('lets later fields of an order decide the ties of earlier ones', async () => {
      for (const order of [BY_RANK, BY_GRADE]) {
        sameSequence(items, await found(items, { order }), inOrder(all(items), order));
      }
    });

    it('descending is the exact reverse, ties included', async () => {
      for (const order of [items.key, BY_RANK, BY_GRADE]) {
        sameSequence(items, await found(items, { order, descending: true }), inOrder(all(items), order).reverse());
      }
    });

    it('orders numbers by value, not by their digits', async () => {
      const expected = all(numbers).toSorted((a, b) => (a['value'] as number) - (b['value'] as number));
      sameSequence(numbers, await found(numbers), expected);
    });

    it('orders strings by code point, not by UTF-16 unit or by language', async () => {
      const expected = orderedWords.map((word) => ({ word }));
      sameSequence(words, await found(words), expected);
    });
  });

  it('find(collection, query) combines equality, range, order and direction', async () => {
    const days = [{}, { from: '2024-01-30T' }, { to: '2024-02-01T' }, { from: '2024-01-30T', to: '2024-02-01T' }];
    for (const { from, to } of days) {
      const inDays = where(readings, ({ day }) => (day as string) >= (from ?? '') && (day as string) <= (to ?? '~'));
      const range = { field: 'day', ...(from && { from }), ...(to && { to }) };
      for (const [order, station] of [[readings.key], [readings.key, 'south'], [BY_DAY]] as const) {
        const expected = inOrder(
          inDays.filter((row) => station === undefined || row['station'] === station),
          order,
        );
        const query = { order, ...(station && { equal: { station } }), ...((from ?? to) && { range }) };
        sameSequence(readings, await found(readings, query), expected, query);
        const reversed = { ...query, descending: true };
        sameSequence(readings, await found(readings, reversed), expected.reverse(), reversed);
      }
    }
  });

  describe('find(collection, { limit })', () => {
    it('answers with nothing at 0', async () => {
      isEmpty(await found(items, { limit: 0 }), 'nothing with a limit of 0');
    });

    it('answers with the first documents of the order', async () => {
      for (const limit of [1, 5, 23]) {
        sameSequence(items, await found(items, { limit }), all(items).slice(0, limit));
      }
    });

    it('answers with all where there are no more', async () => {
      for (const limit of [24, 25, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        sameSequence(items, await found(items, { limit }), all(items));
      }
    });

    it('counts from the end that descending begins at', async () => {
      const last = inOrder(all(items), BY_RANK).reverse().slice(0, 5);
      sameSequence(items, await found(items, { order: BY_RANK, descending: true, limit: 5 }), last);
    });

    it('counts what equality and range leave', async () => {
      const query = { equal: { station: 'west' }, range: { field: 'day', from: '2024-01-30T' }, limit: 7 };
      const expected = where(readings, ({ station, day }) => station === 'west' && (day as string) > '2024-01-30');
      sameSequence(readings, await found(readings, query), expected.slice(0, 7));
    });
  });
};
