/** Proves that one document is found by its key, and nothing else. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import type { Scalar } from '../core/contracts/storage.js';
import { items, numbers, readings, rows, words } from './fixture.js';
import { failsWith, type Instance, withSnapshot } from './instance.js';

export const describeGet = (instance: () => Instance): void => {
  const get = (collection: { readonly name: string }, ...key: Scalar[]): Promise<Document | undefined> =>
    withSnapshot(instance(), (snapshot) => snapshot.get(collection.name, key));

  describe('get(collection, key)', () => {
    it('answers with the document of a key', async () => {
      for (const item of rows['items']!) assert.deepEqual(await get(items, item['id'] as string), item);
    });

    it('answers with undefined, not null, for a key that no document has', async () => {
      for (const id of ['', 'i', 'i0', 'i011', 'I01', 'i01 ', 'zz']) assert.equal(await get(items, id), undefined);
    });

    it('compares every field of a key of several', async () => {
      const [reading] = rows['readings']!;
      assert.deepEqual(await get(readings, 'north', '2024-01-30', 1), reading);
      assert.equal(await get(readings, 'east', '2024-01-30', 1), undefined);
      assert.equal(await get(readings, 'north', '2023-01-30', 1), undefined);
      assert.equal(await get(readings, 'north', '2024-01-30', 3), undefined);
    });

    it('finds numbers by value, to the last bit', async () => {
      for (const row of rows['numbers']!) assert.deepEqual(await get(numbers, row['value'] as number), row);
      for (const absent of [0.2 + 0.4, 2 ** 32 + 1, 1 - Number.EPSILON]) {
        assert.equal(await get(numbers, absent), undefined);
      }
    });

    it('takes -0 for 0', async () => {
      assert.equal((await get(numbers, -0))?.['value'], 0);
    });

    it('tells strings apart by their code points, with no collation and no normal form', async () => {
      for (const word of rows['words']!) assert.deepEqual(await get(words, word['word'] as string), word);
      for (const absent of ['z', 'E\u0301', 'a\u0308', 'ss', 'fi', '\0\0', '  ', '\ud83d\ude01']) {
        assert.equal(await get(words, absent), undefined);
      }
    });

    it('rejects with unknown_collection for one that is not declared', async () => {
      for (const name of ['no_such', 'constructor', '__proto__', '']) {
        await failsWith('unknown_collection', () => get({ name }, 'i01'));
      }
    });
  });
};
