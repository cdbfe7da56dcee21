/** Proves that one document is found by its key, and nothing else. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import type { Scalar } from '../core/contracts/storage.js';
import { failsWith } from './expect.js';
import { items, numbers, orderedWords, readings, rows, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';

export const describeGet = (instance: () => Instance): void => {
  const get = (collection: { readonly name: string }, ...key: Scalar[]): Promise<Document | undefined> =>
    withSnapshot(instance(), (snapshot) => snapshot.get(collection.name, key));

  // Whether that is said with undefined has a test of its own.
  const isAbsent = async (collection: { readonly name: string }, ...key: Scalar[]): Promise<void> =>
    assert.equal((await get(collection, ...key)) ?? undefined, undefined);

  describe('get(collection, key)', () => {
    it('answers with the document of a key', async () => {
      for (const { id, label } of rows['items']!) assert.equal((await get(items, id as string))?.['label'], label);
    });

    it('answers with undefined, not null, for a key that no document has', async () => {
      for (const id of ['', 'i', 'i0', 'i011', 'I01', 'i01 ', 'zz']) assert.equal(await get(items, id), undefined);
    });

    it('compares every field of a key of several', async () => {
      assert.equal((await get(readings, 'west', '2024-01-30', 2))?.['value'], 200.5);
      await isAbsent(readings, 'east', '2024-01-30', 2);
      await isAbsent(readings, 'west', '2023-01-30', 2);
      await isAbsent(readings, 'west', '2024-01-30', 3);
    });

    it('finds numbers by value, to the last bit', async () => {
      for (const { value } of rows['numbers']!) assert.equal((await get(numbers, value as number))?.['value'], value);
      for (const absent of [0.2 + 0.4, 2 ** 32 + 1, 1 - Number.EPSILON]) await isAbsent(numbers, absent);
    });

    it('takes -0 for 0', async () => {
      assert.equal((await get(numbers, -0))?.['value'], 0);
    });

    it('tells strings apart by their code points, with no collation and no normal form', async () => {
      for (const word of orderedWords) assert.equal((await get(words, word))?.['word'], word);
      for (const absent of ['z', 'E\u0301', 'a\u0308', 'ss', 'fi', '\0\0', '  ', '\ud83d\ude01'])
        await isAbsent(words, absent);
    });

    it('rejects with unknown_collection for one that is not declared', async () => {
      for (const name of ['no_such', 'constructor', '__proto__', '']) {
        await failsWith('unknown_collection', () => get({ name }, 'i01'));
      }
    });
  });
};
