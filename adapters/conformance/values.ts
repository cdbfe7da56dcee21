import assert from 'node:assert/strict';
import type { Collection, Document, Scalar } from 'metro-forecast-api/adapter';
import { sameValue } from './expect.js';
import { find } from './find-rows.js';
import { allRows, numbers, records, shapes, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { skip } from './obstacles.js';
import { mixed, zeros } from './rows.js';
import { shapes as cases } from './tricky-values.js';

export const describeValues = (instance: () => Instance): void => {
  const isKept = (collection: Collection, expected: Document): Promise<void> =>
    withSnapshot(instance(), async (snapshot) => {
      const [field] = collection.key as [string];
      const key = expected[field] as Scalar;
      const [found] = await find(snapshot, collection, { equal: { [field]: key } });
      sameValue(await snapshot.get(collection.name, [key]), expected, 'get() to return the published document');
      sameValue(found, expected, 'find() to return the published document');
    });

  describe('documents', () => {
    for (const { rule, document } of cases) {
      it(rule, async function () {
        if (!allRows()['shapes']!.includes(document)) {
          skip(this, 'the document exceeds the limits that the adapter declares');
        }
        await isKept(shapes, document);
        // An adapter that assigns `__proto__` instead of defining the property could change all objects.
        assert.equal(({} as Document)['polluted'], undefined);
      });
    }

    it('keeps -0 as -0 or 0, and 0 as 0', async () => {
      const plain = (document: unknown) => JSON.parse(JSON.stringify(document));
      await withSnapshot(instance(), async (snapshot) => {
        const [found] = await find(snapshot, shapes, { equal: { id: 'zeros' } });
        sameValue(plain(found), plain(zeros), 'find() to return the published document');
        sameValue(
          plain(await snapshot.get('shapes', ['zeros'])),
          plain(zeros),
          'get() to return the published document',
        );
      });
    });

    it('keeps values of different types in the same field', async () => {
      for (const document of mixed) await isKept(shapes, document);
    });

    it('keeps optional fields of the schema: absent, null, falsy, and of any type', async () => {
      for (const record of allRows()['records']!) await isKept(records, record);
    });

    it('keeps the key fields in the document, to the last bit', async () => {
      for (const document of allRows()['numbers']!) await isKept(numbers, document);
      for (const document of allRows()['words']!) await isKept(words, document);
    });

    it('returns the same document from find() as from get()', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        for (const { name, key, ...collection } of [shapes, records, words, numbers]) {
          const found = await find(snapshot, { name, key, ...collection });
          const byKey = new Map(found.map((document) => [document[key[0]!], document]));
          for (const document of allRows()[name]!.filter((each) => each !== zeros)) {
            sameValue(byKey.get(document[key[0]!]), document, `find("${name}") to return the published document`);
          }
        }
      });
    });
  });
};
