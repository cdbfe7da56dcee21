import { type Collection, compareScalars, type Scalar } from 'metro-forecast-api/adapter';
import { failsWith, isEmpty, sameValue } from './expect.js';
import { all, BY_GRADE, BY_NAME, BY_RANK, BY_SIZE, equalities, findChecks, small } from './find-checks.js';
import { columns, items, nothing, numbers, pairs, readings, spots, twins, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { ordersOf, valuesOf } from './reference.js';
import { RESERVED_NAMES } from './rows.js';
import { absentNumbers, absentWords } from './tricky-values.js';

export const describeFindAll = (instance: () => Instance): void => {
  const { found, isSet } = findChecks(instance);

  describe('find(collection)', () => {
    it('returns every document once', async () => {
      for (const collection of small) await isSet(collection, { order: collection.key });
    });

    it('returns nothing for an empty collection', async () => {
      isEmpty(await found(nothing), 'nothing for an empty collection');
      isEmpty(await found(nothing, { equal: { id: 'x' } }), 'nothing for an empty collection');
    });

    it('rejects with unknown_collection for an undeclared collection', async () => {
      for (const name of ['no_such', 'constructor', '__proto__', 'Items']) {
        await failsWith('unknown_collection', () => found({ ...items, name }));
      }
    });

    it('reads its own collection when another one has the same keys', async () => {
      for (const collection of [items, twins, items]) {
        const labels = (await found(collection)).map(({ id, label }) => ({ id, label }));
        const expected = all(collection).map(({ id, label }) => ({ id, label }));
        sameValue(
          labels.sort((a, b) => compareScalars(a.id as string, b.id as string)),
          expected,
          `"${collection.name}"`,
        );
      }
    });

    it('reads collections whose names query languages reserve', async () => {
      for (const name of RESERVED_NAMES) await isSet({ ...nothing, name }, { order: nothing.key });
    });

    it('does not change the query and the key that it receives', async () => {
      const range = { field: 'day', from: '2024-01-31', to: '2024-02-01' };
      const key = ['west', '2024-01-31', 2];
      for (const parts of [
        { range, descending: true, limit: 3 },
        { range: { field: 'hour', from: 2 } },
        { range: { field: 'hour', to: 9 }, after: ['2024-02-01', 2], descending: true },
        { after: ['2024-02-01', 2] },
      ]) {
        const query = { order: [...readings.key], equal: { station: 'west' }, ...parts };
        const before = structuredClone(query);
        await withSnapshot(instance(), async (snapshot) => {
          for await (const _ of snapshot.find('readings', query));
          if (snapshot.findJson) for await (const _ of snapshot.findJson('readings', query));
        });
        sameValue(query, before, 'the query to be unchanged');
      }
      await withSnapshot(instance(), (snapshot) => snapshot.get('readings', key));
      sameValue(key, ['west', '2024-01-31', 2], 'the key to be unchanged');
    });
  });
};

export const describeFind = (instance: () => Instance): void => {
  const { isSet, isSequence, isNothing } = findChecks(instance);

  describe('find(collection, { equal })', () => {
    it('on the first field of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south' } });
    });

    it('on several leading fields of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south', day: '2024-01-31' } });
    });

    it('on several leading fields, named in any order', async () => {
      for (const collection of [items, readings, pairs]) {
        for (const { order, equal } of equalities(collection)) {
          await isSet(collection, { order, equal: Object.fromEntries(Object.entries(equal!).reverse()) });
        }
      }
    });

    it('on all fields of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south', day: '2024-01-31', hour: 10 } });
    });

    it('on leading fields of a declared order', async () => {
      for (const query of equalities(items)) await isSet(items, query);
    });

    it('on every string: no collation, no normal form, no patterns, no conversion', async () => {
      for (const collection of [words, pairs])
        for (const query of equalities(collection)) await isSet(collection, query);
      for (const name of valuesOf(all(spots), 'name')) await isSet(spots, { order: BY_NAME, equal: { name } });
    });

    it('on every number, by value to the last bit', async () => {
      for (const query of equalities(numbers)) await isSet(numbers, query);
      for (const size of valuesOf(all(spots), 'size')) await isSet(spots, { order: BY_SIZE, equal: { size } });
    });

    it('on several fields of an order that are not part of the key', async () => {
      for (const query of equalities(spots)) await isSet(spots, query);
    });

    it('on 0, -0, a negative number and the empty string, which are ordinary values', async () => {
      await isSet(words, { order: words.key, equal: { value: '' } });
      await isSet(spots, { order: BY_NAME, equal: { name: '' } });
      await isSet(spots, { order: BY_NAME, equal: { name: '', size: sizeOf('') } });
      for (const value of [0, -0, -1]) await isSet(numbers, { order: numbers.key, equal: { value } });
      for (const size of [0, -0, -10]) await isSet(spots, { order: BY_SIZE, equal: { size } });
    });

    it('returns nothing for a value that no document has', async () => {
      for (const station of ['', 'nort', 'northern', 'North', 'n%', '.*', 'north ']) {
        await isNothing(readings, { order: readings.key, equal: { station } });
      }
      for (const word of absentWords) await isNothing(words, { order: words.key, equal: { value: word } });
      for (const value of absentNumbers) await isNothing(numbers, { order: numbers.key, equal: { value } });
      await isNothing(items, { order: BY_RANK, equal: { rank: 0 } });
    });
  });

  const sizeOf = (name: string): number => all(spots).find((spot) => spot['name'] === name)!['size'] as number;

  describe('find(collection, { range })', () => {
    const hours = (range: { from?: Scalar; to?: Scalar }): Promise<void> => {
      const equal = { station: 'west', day: '2024-02-01' };
      return isSet(readings, { order: readings.key, equal, range: { field: 'hour', ...range } });
    };
    /** Queries the first field with each value as the lower bound, as the upper bound, and as both. */
    const eachBound = async (collection: Collection, order: readonly string[], values: readonly Scalar[]) => {
      const field = order[0]!;
      for (const value of values) {
        for (const range of [{ from: value, to: value }, { from: value }, { to: value }]) {
          await isSet(collection, { order, range: { field, ...range } });
        }
      }
    };

    it('includes both bounds, even when they are equal', async () => {
      await hours({ from: 2, to: 10 });
      await hours({ from: 9, to: 9 });
      await isSet(items, { order: items.key, range: { field: 'id', from: 'i03', to: 'i07' } });
      await isSet(readings, { order: readings.key, range: { field: 'day', from: '2024-01-31', to: '2024-02-01' } });
    });

    it('accepts bounds that no document has', async () => {
      await hours({ from: 3, to: 11 });
      await hours({ from: -5, to: 50 });
      await hours({ from: 3, to: 8 });
    });

    it('accepts only a lower bound', async () => {
      for (const from of [8, 13, 0, -1, 1, 12]) await hours({ from });
    });

    it('accepts only an upper bound', async () => {
      for (const to of [8, 0, 1, 12]) await hours({ to });
    });

    it('accepts 0, -0, a negative number and the empty string as bounds', async () => {
      await eachBound(numbers, numbers.key, [0, -0, -1, -9.5]);
      await eachBound(spots, BY_SIZE, [0, -0, -10]);
      await eachBound(words, words.key, ['']);
      await eachBound(pairs, pairs.key, ['']);
      await eachBound(spots, BY_NAME, ['']);
    });

    it('accepts a range without bounds, `equal` without fields, and `descending: false`', async () => {
      for (const query of [{ range: { field: 'rank' } }, { equal: {} }, { descending: false }]) {
        await isSequence(items, { order: BY_RANK, ...query });
        await isSequence(items, { order: BY_RANK, ...query, after: [9, 'b', 'i05'], limit: 3 });
      }
    });

    it('returns nothing if the lower bound is above the upper bound', async () => {
      await hours({ from: 10, to: 2 });
      await isNothing(items, { order: items.key, range: { field: 'id', from: 'i07', to: 'i03' } });
    });

    it('bounds the first field of an order', async () => {
      await eachBound(items, BY_RANK, [-1, 2, 9, 10, -5, 5, 11]);
      await isSet(items, { order: BY_RANK, range: { field: 'rank', from: -5, to: 5 } });
    });

    it('bounds the field that follows the fields of equality', async () => {
      for (const grade of 'abc') {
        for (const bound of [-1, 2, 9]) {
          for (const range of [{ from: bound }, { to: bound }, { from: bound, to: 9 }]) {
            await isSet(items, { order: BY_GRADE, equal: { grade }, range: { field: 'rank', ...range } });
          }
        }
      }
    });

    it('bounds a later field without equality on the earlier ones', async () => {
      await isSet(readings, { order: readings.key, range: { field: 'day', from: '2024-01-31T', to: '2024-02-01T' } });
      await isSet(readings, { order: readings.key, range: { field: 'hour', from: 2, to: 9 } });
      await isSet(readings, { order: readings.key, equal: { station: 'west' }, range: { field: 'hour', to: 2 } });
      await isSet(items, { order: BY_RANK, range: { field: 'id', from: 'i10' } });
    });

    it('bounds strings by code point', async () => {
      await eachBound(words, words.key, [...valuesOf(all(words), 'value'), ...absentWords]);
      await eachBound(spots, BY_NAME, valuesOf(all(spots), 'name'));
      await isSet(words, { order: words.key, range: { field: 'value', from: '\ufffe', to: '\u{1f46a}' } });
    });

    it('bounds numbers by value, to the last bit', async () => {
      await eachBound(numbers, numbers.key, [...valuesOf(all(numbers), 'value'), ...absentNumbers]);
      await eachBound(spots, BY_SIZE, valuesOf(all(spots), 'size'));
    });
  });

  describe('find(collection, { order, descending })', () => {
    it('orders by the fields of the key', async () => {
      for (const collection of [items, readings]) await isSequence(collection, { order: collection.key });
    });

    it('orders by later fields when earlier ones are equal', async () => {
      for (const order of [BY_RANK, BY_GRADE]) await isSequence(items, { order });
      await isSequence(readings, { order: readings.orders![0]! });
    });

    it('descending is the exact reverse, ties included', async () => {
      for (const order of ordersOf(items)) await isSequence(items, { order, descending: true });
      for (const order of ordersOf(readings)) await isSequence(readings, { order, descending: true });
    });

    it('orders numbers by value, not by digits', async () => {
      await isSequence(numbers, { order: numbers.key });
    });

    it('orders strings by code point, not by UTF-16 unit or language', async () => {
      await isSequence(words, { order: words.key });
    });

    it('orders by the fields of a key one by one, not joined', async () => {
      for (const order of ordersOf(pairs)) await isSequence(pairs, { order });
      for (const query of equalities(pairs)) await isSequence(pairs, query);
    });

    it('orders by any string and number outside the key, in either position', async () => {
      for (const order of [BY_NAME, BY_SIZE]) await isSequence(spots, { order });
      for (const query of equalities(spots)) await isSequence(spots, query);
    });

    it('orders by fields with long, similar or reserved names', async () => {
      for (const order of ordersOf(columns)) {
        for (const descending of [false, true]) await isSequence(columns, { order, descending });
        for (const to of valuesOf(all(columns), order[0]!).slice(0, 5)) {
          await isSequence(columns, { order, range: { field: order[0]!, to } });
        }
      }
      for (const query of equalities(columns)) await isSequence(columns, query);
    });

    it('descending is the exact reverse for any string and number', async () => {
      for (const collection of [numbers, words, pairs, spots]) {
        for (const order of ordersOf(collection)) await isSequence(collection, { order, descending: true });
      }
    });
  });
};
