/** Proves that many documents are found by equality, range, order and limit, each alone and all together. */
import { type Collection, compareScalars, type Document, type Query, type Scalar } from 'metro-forecast-api/adapter';
import { failsWith, isEmpty, sameSequence, sameSet, sameValue } from './expect.js';
import { allRows, items, nothing, numbers, pairs, readings, spots, twins, words } from './fixture.js';
import { find, type Instance, withSnapshot } from './instance.js';
import { answerOf, ordersOf, valuesOf } from './reference.js';
import { absentNumbers, absentWords } from './tricky-values.js';

const BY_RANK = items.orders![0]!;
const BY_GRADE = items.orders![1]!;
const BY_NAME = spots.orders![0]!;
const BY_SIZE = spots.orders![1]!;

/** All that have a few dozen documents, so that each can be asked hundreds of times. */
const small = [items, readings, twins, numbers, words, pairs, spots];

/** How many documents a page of the tests has. */
const PAGE = 4;

const all = ({ name }: Collection): readonly Document[] => allRows()[name]!;

/** Every query by equality on the leading fields of an order that finds something, the shortest first. */
function* equalities(collection: Collection): Generator<Query> {
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

/** What limits meet: queries with few parts and with many, in both directions. */
function* shapesOfQueries(): Generator<[Collection, Query]> {
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

export const describeFind = (instance: () => Instance): void => {
  const found = (collection: Collection, query: Partial<Query> = {}): Promise<Document[]> =>
    withSnapshot(instance(), (snapshot) => find(snapshot, collection, query));

  /** The right documents, in whatever order. */
  const isSet = async (collection: Collection, query: Query): Promise<void> =>
    sameSet(collection, await found(collection, query), answerOf(all(collection), query), query);

  /** The right documents in the right order. */
  const isSequence = async (collection: Collection, query: Query): Promise<void> =>
    sameSequence(collection, await found(collection, query), answerOf(all(collection), query), query);

  const isNothing = async (collection: Collection, query: Query): Promise<void> =>
    isEmpty(await found(collection, query), `nothing for ${JSON.stringify(query)}`);

  describe('find(collection)', () => {
    it('answers with every document once', async () => {
      for (const collection of small) await isSet(collection, { order: collection.key });
    });

    it('answers with nothing for an empty collection', async () => {
      isEmpty(await found(nothing), 'nothing of an empty collection');
      isEmpty(await found(nothing, { equal: { id: 'x' } }), 'nothing of an empty collection');
    });

    it('rejects with unknown_collection for one that is not declared', async () => {
      for (const name of ['no_such', 'constructor', '__proto__', 'Items']) {
        await failsWith('unknown_collection', () => found({ ...items, name }));
      }
    });

    it('looks into its own collection, also where another has the same keys', async () => {
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

    it('leaves the query and the key that it is given as they are', async () => {
      const range = { field: 'day', from: '2024-01-31', to: '2024-02-01' };
      const query = { order: [...readings.key], equal: { station: 'west' }, range, descending: true, limit: 3 };
      const further = { order: [...readings.key], equal: { station: 'west' }, after: ['2024-02-01', 2] };
      const key = ['west', '2024-01-31', 2];
      const [queryBefore, furtherBefore, keyBefore] = structuredClone([query, further, key] as const);
      await found(readings, query);
      await found(readings, further);
      await withSnapshot(instance(), (snapshot) => snapshot.get('readings', key));
      sameValue([query, further], [queryBefore, furtherBefore], 'the query to be as it was');
      sameValue(key, keyBefore, 'the key to be as it was');
    });
  });

  describe('find(collection, { equal })', () => {
    it('on the first field of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south' } });
    });

    it('on several leading fields of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south', day: '2024-01-31' } });
    });

    it('on all fields of the key', async () => {
      await isSet(readings, { order: readings.key, equal: { station: 'south', day: '2024-01-31', hour: 10 } });
    });

    it('on leading fields of a declared order', async () => {
      for (const query of equalities(items)) await isSet(items, query);
    });

    it('on every string, with no collation, normal form, pattern or conversion', async () => {
      for (const collection of [words, pairs])
        for (const query of equalities(collection)) await isSet(collection, query);
      for (const name of valuesOf(all(spots), 'name')) await isSet(spots, { order: BY_NAME, equal: { name } });
    });

    it('on every number, by value to the last bit', async () => {
      for (const query of equalities(numbers)) await isSet(numbers, query);
      for (const size of valuesOf(all(spots), 'size')) await isSet(spots, { order: BY_SIZE, equal: { size } });
    });

    it('on several fields of an order that are no keys', async () => {
      for (const query of equalities(spots)) await isSet(spots, query);
    });

    it('on 0, -0, a negative number and the empty string, which are values as any other', async () => {
      await isSet(words, { order: words.key, equal: { word: '' } });
      await isSet(spots, { order: BY_NAME, equal: { name: '' } });
      await isSet(spots, { order: BY_NAME, equal: { name: '', size: sizeOf('') } });
      for (const value of [0, -0, -1]) await isSet(numbers, { order: numbers.key, equal: { value } });
      for (const size of [0, -0, -10]) await isSet(spots, { order: BY_SIZE, equal: { size } });
    });

    it('answers with nothing for a value that no document has', async () => {
      for (const station of ['', 'nort', 'northern', 'North', 'n%', '.*', 'north ']) {
        await isNothing(readings, { order: readings.key, equal: { station } });
      }
      for (const word of absentWords) await isNothing(words, { order: words.key, equal: { word } });
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
    /** Each of the values as lower, as upper and as both bounds of the first field of an order. */
    const eachBound = async (collection: Collection, order: readonly string[], values: readonly Scalar[]) => {
      const field = order[0]!;
      for (const value of values) {
        for (const range of [{ from: value, to: value }, { from: value }, { to: value }]) {
          await isSet(collection, { order, range: { field, ...range } });
        }
      }
    };

    it('includes both of its bounds, also where they are one', async () => {
      await hours({ from: 2, to: 10 });
      await hours({ from: 9, to: 9 });
      await isSet(items, { order: items.key, range: { field: 'id', from: 'i03', to: 'i07' } });
      await isSet(readings, { order: readings.key, range: { field: 'day', from: '2024-01-31', to: '2024-02-01' } });
    });

    it('takes bounds that no document has', async () => {
      await hours({ from: 3, to: 11 });
      await hours({ from: -5, to: 50 });
      await hours({ from: 3, to: 8 });
    });

    it('takes a lower bound alone', async () => {
      for (const from of [8, 13, 0, -1, 1, 12]) await hours({ from });
    });

    it('takes an upper bound alone', async () => {
      for (const to of [8, 0, 1, 12]) await hours({ to });
    });

    it('takes 0, -0, a negative number and the empty string for bounds as any other', async () => {
      await eachBound(numbers, numbers.key, [0, -0, -1, -9.5]);
      await eachBound(spots, BY_SIZE, [0, -0, -10]);
      await eachBound(words, words.key, ['']);
      await eachBound(pairs, pairs.key, ['']);
      await eachBound(spots, BY_NAME, ['']);
    });

    it('answers with nothing where the lower bound is above the upper', async () => {
      await hours({ from: 10, to: 2 });
      await isNothing(items, { order: items.key, range: { field: 'id', from: 'i07', to: 'i03' } });
    });

    it('bounds the first field of an order', async () => {
      await eachBound(items, BY_RANK, [-1, 2, 9, 10, -5, 5, 11]);
      await isSet(items, { order: BY_RANK, range: { field: 'rank', from: -5, to: 5 } });
    });

    it('bounds the next field after those of equality', async () => {
      for (const grade of 'abc') {
        for (const bound of [-1, 2, 9]) {
          for (const range of [{ from: bound }, { to: bound }, { from: bound, to: 9 }]) {
            await isSet(items, { order: BY_GRADE, equal: { grade }, range: { field: 'rank', ...range } });
          }
        }
      }
    });

    it('bounds a later field, with nothing said of those before it', async () => {
      await isSet(readings, { order: readings.key, range: { field: 'day', from: '2024-01-31T', to: '2024-02-01T' } });
      await isSet(readings, { order: readings.key, range: { field: 'hour', from: 2, to: 9 } });
      await isSet(readings, { order: readings.key, equal: { station: 'west' }, range: { field: 'hour', to: 2 } });
      await isSet(items, { order: BY_RANK, range: { field: 'id', from: 'i10' } });
    });

    it('bounds strings by code point', async () => {
      await eachBound(words, words.key, [...valuesOf(all(words), 'word'), ...absentWords]);
      await eachBound(spots, BY_NAME, valuesOf(all(spots), 'name'));
      await isSet(words, { order: words.key, range: { field: 'word', from: '\ufffe', to: '\u{1f46a}' } });
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

    it('lets later fields of an order decide the ties of earlier ones', async () => {
      for (const order of [BY_RANK, BY_GRADE]) await isSequence(items, { order });
      await isSequence(readings, { order: readings.orders![0]! });
    });

    it('descending is the exact reverse, ties included', async () => {
      for (const order of ordersOf(items)) await isSequence(items, { order, descending: true });
      for (const order of ordersOf(readings)) await isSequence(readings, { order, descending: true });
    });

    it('orders numbers by value, not by their digits', async () => {
      await isSequence(numbers, { order: numbers.key });
    });

    it('orders strings by code point, not by UTF-16 unit or by language', async () => {
      await isSequence(words, { order: words.key });
    });

    it('orders the fields of a key one after the other, not joined', async () => {
      for (const order of ordersOf(pairs)) await isSequence(pairs, { order });
    });

    it('orders by any string and number that is no key, in either place', async () => {
      for (const order of [BY_NAME, BY_SIZE]) await isSequence(spots, { order });
    });

    it('descending is the exact reverse for any string and number', async () => {
      for (const collection of [numbers, words, pairs, spots]) {
        for (const order of ordersOf(collection)) await isSequence(collection, { order, descending: true });
      }
    });
  });

  describe('find(collection, { after })', () => {
    const placeOf = (document: Document, fields: readonly string[]) => fields.map((field) => document[field] as Scalar);
    /** What comes behind each document that a query finds, in both directions. */
    const behindEach = async (collection: Collection, query: Query): Promise<void> => {
      const free = query.order.slice(Object.keys(query.equal ?? {}).length);
      for (const document of answerOf(all(collection), query)) {
        for (const descending of [false, true]) {
          await isSequence(collection, { ...query, descending, after: placeOf(document, free) });
        }
      }
    };

    it('goes on behind any document, without it, in either direction', async () => {
      for (const collection of [items, readings]) await behindEach(collection, { order: collection.key });
    });

    it('lets later fields of an order decide behind a tie of earlier ones', async () => {
      for (const order of [BY_RANK, BY_GRADE]) await behindEach(items, { order });
      await behindEach(readings, { order: readings.orders![0]! });
    });

    it('goes on behind any string and number', async () => {
      for (const collection of [words, numbers]) await behindEach(collection, { order: collection.key });
      for (const order of [BY_NAME, BY_SIZE]) await behindEach(spots, { order });
    });

    it('compares the fields of a place one after the other, not joined', async () => {
      for (const order of ordersOf(pairs)) await behindEach(pairs, { order });
    });

    it('goes on behind a place that no document has', async () => {
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

    it('is a place among the further fields where there is equality', async () => {
      for (const grade of 'abc') await behindEach(items, { order: BY_GRADE, equal: { grade } });
      await behindEach(readings, { order: readings.key, equal: { station: 'west' } });
      await behindEach(readings, { order: readings.key, equal: { station: 'west', day: '2024-01-31' } });
    });

    it('meets a range on any field, on either side of its bounds', async () => {
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

    it('counts the limit from the place on', async () => {
      for (const [collection, query] of shapesOfQueries()) {
        const answer = answerOf(all(collection), query);
        const free = query.order.slice(Object.keys(query.equal ?? {}).length);
        const after = placeOf(answer[Math.floor(answer.length / 2)]!, free);
        for (const limit of [0, 1, 2, answer.length]) await isSequence(collection, { ...query, after, limit });
      }
    });

    it('makes pages, one behind the other, which are the whole list', async () => {
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

  it('find(collection, query) combines equality, range, order and direction', async () => {
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

  describe('find(collection, { limit })', () => {
    it('answers with nothing at 0', async () => {
      for (const [collection, query] of shapesOfQueries()) await isNothing(collection, { ...query, limit: 0 });
    });

    it('answers with the first documents of the order', async () => {
      for (const limit of [1, 5, 23]) await isSequence(items, { order: items.key, limit });
    });

    it('answers with all where there are no more', async () => {
      for (const limit of [24, 25, 1_000_000, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
        await isSequence(items, { order: items.key, limit });
      }
    });

    it('counts from the end that descending begins at', async () => {
      for (const limit of [1, 5, 23, 24, 25]) await isSequence(items, { order: BY_RANK, descending: true, limit });
    });

    it('counts what equality and range leave', async () => {
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
