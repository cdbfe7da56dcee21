import type { Collection, Document, Scalar, Snapshot } from 'metro-forecast-api/adapter';
import { failsWith, sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import { allRows, items, nothing, numbers, pairs, readings, spots, twins, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { absentNumbers, absentWords } from './tricky-values.js';

/**
 * All calls of a group use one snapshot. If the adapter caches documents, later calls can detect wrong entries in the
 * cache.
 */
const getChecks = (instance: () => Instance) => {
  let snapshot: Snapshot | undefined;
  after(() => snapshot?.release());
  const get = async (collection: { readonly name: string }, ...key: Scalar[]): Promise<Document | undefined> => {
    snapshot ??= instance().adapter.snapshot();
    return snapshot.get(collection.name, key);
  };

  const shown = ({ name }: { readonly name: string }, key: readonly Scalar[]) =>
    `get("${name}", ${JSON.stringify(key)})`;

  const isFound = async (collection: Collection, expected: Document): Promise<void> => {
    const key = collection.key.map((field) => expected[field] as Scalar);
    sameValue(await get(collection, ...key), expected, `${shown(collection, key)} to return its document`);
  };
  const allAreFound = async (collection: Collection): Promise<void> => {
    for (const document of allRows()[collection.name]!) await isFound(collection, document);
  };
  // This check also accepts null. A separate test checks that `get` returns undefined.
  const isAbsent = async (collection: Collection, ...key: Scalar[]): Promise<void> =>
    sameValue((await get(collection, ...key)) ?? undefined, undefined, `${shown(collection, key)} to find nothing`);

  return { get, shown, isFound, allAreFound, isAbsent };
};

export const describeGet = (instance: () => Instance): void => {
  describe('get(collection, key)', () => {
    const { get, shown, isFound, allAreFound, isAbsent } = getChecks(instance);

    it('returns the document with the key', () => allAreFound(items));

    it('returns undefined, not null, for a key that no document has', async () => {
      for (const id of ['', 'i', 'i0', 'i011', 'I01', 'i01 ', 'zz']) {
        sameValue(await get(items, id), undefined, `${shown(items, [id])} to return undefined`);
      }
      sameValue(await get(nothing, 'i01'), undefined, `${shown(nothing, ['i01'])} to return undefined`);
    });

    it('returns undefined for a key that is longer than any key can be', async () => {
      for (const length of [2001, 2500, 20_000]) {
        const key = 'k'.repeat(length);
        sameValue(await get(words, key), undefined, `get("words", [a string of ${length} bytes]) to return undefined`);
        await isAbsent(pairs, 'a', key);
      }
    });

    it('reads its own collection when another one has the same key', async () => {
      await allAreFound(twins);
      await allAreFound(items);
      // If an adapter caches the documents of a list, the reads by key after the list can detect wrong cache entries.
      for (const listed of [twins, items]) {
        await withSnapshot(instance(), (snapshot) => find(snapshot, listed));
        await allAreFound(items);
        await allAreFound(twins);
      }
      await isAbsent(readings, 'i01', 'i01', 1);
    });

    it('compares every field of a key of several fields', async () => {
      await isFound(readings, { station: 'west', day: '2024-01-30', hour: 2, value: 200.5 });
      await isAbsent(readings, 'east', '2024-01-30', 2);
      await isAbsent(readings, 'west', '2023-01-30', 2);
      await isAbsent(readings, 'west', '2024-01-30', 3);
    });

    it('returns the same when called again, and after a find()', async () => {
      const [expected] = allRows()['items']!;
      await isAbsent(items, 'zz');
      await isFound(items, expected!);
      await withSnapshot(instance(), (snapshot) => find(snapshot, items, { limit: 3 }));
      await isFound(items, expected!);
      await isAbsent(items, 'zz');
    });

    it('answers 300 calls at the same time', () =>
      withSnapshot(instance(), async (snapshot) => {
        const expected = Array.from({ length: 300 }, (_, i) => allRows()['items']![i % 24]!);
        const found = expected.map(({ id }) => snapshot.get('items', [id as string]));
        sameList(await Promise.all(found), expected, 'get() to return the document of each call');
      }));

    it('rejects with unknown_collection for an undeclared collection', async () => {
      for (const name of ['no_such', 'constructor', '__proto__', '', 'Items']) {
        await failsWith('unknown_collection', () => get({ name }, 'i01'));
      }
    });
  });
};

/** Tests keys that many stores change or mistake for each other. */
export const describeGetByKey = (instance: () => Instance): void => {
  describe('get(collection, key)', () => {
    const { get, allAreFound, isAbsent } = getChecks(instance);

    it('compares strings by code point: no collation, no normal form, no patterns', async () => {
      await allAreFound(words);
      for (const word of absentWords) await isAbsent(words, word);
    });

    it('finds numbers by value, to the last bit', async () => {
      await allAreFound(numbers);
      await allAreFound(spots);
      for (const value of absentNumbers) await isAbsent(numbers, value);
    });

    it('treats -0 as 0', async () => {
      sameValue((await get(numbers, -0))?.['value'], 0, 'get("numbers", [-0]) to return the document of 0');
    });

    it('distinguishes keys that would be equal if their fields were joined', async () => {
      await allAreFound(pairs);
      for (const [left, right] of [
        ['a', 'ab'],
        ['aa', 'ab'],
        ['a,a', ''],
        ['', 'a,a'],
        ['a|', '|'],
        ['a\0a', ''],
        ['b', '01'],
      ]) {
        await isAbsent(pairs, left!, right!);
      }
    });
  });
};
