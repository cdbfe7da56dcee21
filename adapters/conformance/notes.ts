/** Defines tests over a store with the collections for totals and words. */
import type { Collection, Snapshot } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { datasetOf, FIRST, FIRST_CREATED, nothing } from './fixture.js';
import { type Instance, startInstance, withSnapshot } from './instance.js';
import { itUnless, type Obstacle } from './obstacles.js';
import { odd, oddRows } from './odd-fields.js';
import { noteRows, notes, noteTwinRows, noteTwins } from './totals-fixture.js';

const collections: ReadonlyMap<string, Collection> = new Map(
  [notes, nothing, noteTwins, odd].map((each) => [each.name, each]),
);

export const startNotes = (target: AdapterUnderTest): Promise<Instance> =>
  startInstance(
    target,
    datasetOf(FIRST, FIRST_CREATED, { notes: noteRows, note_twins: noteTwinRows, odd: oddRows }),
    collections,
  );

export const describeNotes = (
  target: AdapterUnderTest,
  title: string,
  obstacle: Obstacle,
  define: (test: (obstacle: Obstacle, rule: string, proof: (snapshot: Snapshot) => Promise<void>) => void) => void,
): void => {
  describe(title, () => {
    let instance: Instance;
    before(async () => {
      if (obstacle) return;
      instance = await startNotes(target);
    });
    after(() => instance?.stop());

    define((lack, rule, proof) => itUnless(lack, rule, () => withSnapshot(instance, proof)));
  });
};
