/** Tests that an adapter notices changes of other adapters that are easy to miss. */
import { setTimeout as delay } from 'node:timers/promises';
import { StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST_CREATED,
  type Rows,
  SECOND,
  SECOND_CREATED,
  THIRD_CREATED,
} from './fixture.js';
import { beginToPublish, followMs, hasRows, isCurrent, withSnapshot } from './instance.js';
import { isUnnoticed, without } from './obstacles.js';
import { testsOverStore } from './tests-over.js';

const ROUNDS = 3;
/** A publication that takes longer probably waits for the other publication. */
const PUBLISH_MS = 500;
const SAME = 'same-name';

const rowsOf = (label: string): Rows => ({ items: [{ id: 'i1', grade: 'a', rank: 1, label }] });

export const describeFollowingMeanwhile = (target: AdapterUnderTest): void => {
  const obstacle = isUnnoticed(target) || without(target, 'publish');
  const test = testsOverStore(target);

  describe('another adapter over the same store', () => {
    test(obstacle, 'follows a version that replaces the current one under the same name', async (instance) => {
      const { adapter } = instance;
      const other = await instance.another();
      for (let round = 0; round < ROUNDS; round++) {
        // These changes follow each other without a pause, so an adapter is unlikely to poll in between.
        await adapter.publish!(datasetOf(`between-${round}`, FIRST_CREATED, rowsOf('between')));
        await adapter.versions?.prune(0);
        try {
          await adapter.publish!(datasetOf(SAME, FIRST_CREATED, rowsOf(`round ${round}`)));
        } catch (error) {
          // A store may keep a version that another adapter uses.
          if (error instanceof StorageError && error.code === 'conflict') return;
          throw error;
        }
        await adapter.versions?.prune(0);
        const isFollowed = () =>
          withSnapshot(other, async (snapshot) => {
            if (snapshot.version !== SAME) return false;
            return (await snapshot.get('items', ['i1']))?.['label'] === `round ${round}`;
          });
        await eventually('snapshot() returns the new version', isFollowed, followMs(target));
        await hasRows(other, rowsOf(`round ${round}`), 'a new version with the name of the previous one');
      }
    });

    test(obstacle, 'notices a publication during a longer one of its own', async (instance) => {
      const other = await instance.another();
      const { publication, resume } = await beginToPublish(other.adapter, anotherDataset('own-1', THIRD_CREATED));
      const controller = new AbortController();
      const { signal } = controller;
      const made = instance.adapter.publish!(anotherDataset(SECOND, SECOND_CREATED), { signal }).then(
        () => true,
        () => false,
      );
      try {
        // The store may make one of the publications wait, or reject it.
        if (await Promise.race([made, delay(PUBLISH_MS, false)])) await isCurrent(target, other, SECOND);
      } finally {
        controller.abort();
        resume();
        await Promise.allSettled([publication, made]);
      }
    });
  });
};
