/** Proves that documents come back as they went in. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import { sameValue } from './expect.js';
import { numbers, rows, shapes } from './fixture.js';
import { find, type Instance, withSnapshot } from './instance.js';

const titles: Readonly<Record<string, string>> = {
  absent: 'adds no field, as `_id` or a null for one that is absent',
  booleans: 'keeps booleans, which are not 0 and 1',
  empty: 'keeps empty strings, arrays and objects',
  names: 'keeps field names with dots, dollars, spaces and any letter',
  nested: 'keeps what is nested, arrays in their order',
  nulls: 'keeps nulls, which are not absent',
  prototype: 'keeps fields named as those of Object.prototype, and leaves that alone',
  text: 'keeps text with quotes, line ends, NUL and emoji',
  types: 'keeps strings that look like something else',
};

export const describeValues = (instance: () => Instance): void => {
  describe('documents', () => {
    for (const expected of rows['shapes']!) {
      const id = expected['id'] as string;
      it(titles[id]!, async () => {
        await withSnapshot(instance(), async (snapshot) => {
          const [found] = await find(snapshot, shapes, { equal: { id } });
          sameValue(
            await snapshot.get('shapes', [id]),
            expected,
            'get() to answer with the document that was published',
          );
          sameValue(found, expected, 'find() to answer with the document that was published');
        });
        // Whoever assigns `__proto__` where it should define it may have changed every object.
        assert.equal(({} as Document)['polluted'], undefined);
      });
    }

    it('keeps numbers to the last bit', async () => {
      const found = await withSnapshot(instance(), (snapshot) => find(snapshot, numbers));
      const written = new Map(rows['numbers']!.map(({ value, twice }) => [value, twice]));
      for (const { value, twice } of found) sameValue(twice, written.get(value), 'the numbers that were published');
      assert.equal(found.length, written.size);
    });
  });
};
