/** Tests the groups of totals for values that are difficult to distinguish. */
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameList } from './expect.js';
import { all, small } from './find-checks.js';
import { type Instance, withSnapshot } from './instance.js';
import { itUnless, without } from './obstacles.js';
import { inOrder, totalsIn } from './reference.js';

const LIMIT = 100_000;

export const describeGroupValues = (instance: () => Instance, target: AdapterUnderTest): void => {
  describe('totals(collection, query)', () => {
    itUnless(without(target, 'totals'), 'distinguishes any strings and numbers, and does not join values', () =>
      withSnapshot(instance(), async (snapshot) => {
        for (const collection of small) {
          const fields = Object.keys(collection.schema['properties'] as object).slice(0, 4);
          const pairs = fields.flatMap((one) => fields.map((other) => (one === other ? [one] : [one, other])));
          for (const by of pairs) {
            const query = { where: [], by, limit: LIMIT };
            const found = await snapshot.totals!(collection.name, query);
            if (!found) continue;
            const expected = totalsIn(collection, all(collection), query);
            sameList(inOrder(found), expected, `the groups of "${collection.name}" by [${by.join(', ')}]`);
          }
        }
      }),
    );
  });
};
