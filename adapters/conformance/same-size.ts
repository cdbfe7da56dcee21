/** Tests that adapters notice a change even if names, numbers and file sizes stay the same. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually } from './expect.js';
import { sizesOf } from './files.js';
import { datasetOf, FIRST_CREATED, type Rows } from './fixture.js';
import {
  followMs,
  hasRows,
  type Instance,
  isCurrent,
  namesOf,
  type Opened,
  publicationTime,
  versionIfAny,
} from './instance.js';
import { isUnnoticed, skip, without } from './obstacles.js';
import { testsOverStore } from './tests-over.js';

const ROUNDS = 5;
/** Maximum number of files that the test changes without changing their size. */
const MOST_FILES = 3;
/** Maximum number of changes that a test waits for. */
const MOST_CHANGES = 6 + 2 * MOST_FILES;
const TEST_MS = 120_000;
/** In this time, in milliseconds, most adapters poll at least once. */
const POLL_MS = 60;

const KEPT = 'the store keeps versions that another adapter uses';

const rowsOf = (label: string): Rows => ({ items: [{ id: 'i1', grade: 'a', rank: 1, label }] });

/**
 * A test deletes one version and publishes another one. Finds the lengths of their names, from 4 to 100, for which the
 * size of a file does not change. The size of the file is a linear function of both lengths.
 * @param at90and4 the change in size, in bytes, for the lengths 90 and 4
 * @param perFirst additional bytes for each character of the first name
 */
const rootOf = (at90and4: number, perFirst: number, perSecond: number): readonly [number, number] | undefined => {
  for (let second = 4; second <= 100 && perFirst !== 0; second++) {
    const first = 90 - (at90and4 + perSecond * (second - 4)) / perFirst;
    if (Number.isInteger(first) && first >= 4 && first <= 100) return [first, second];
  }
  return undefined;
};

export const describeSameSize = (target: AdapterUnderTest): void => {
  const obstacle = isUnnoticed(target) || without(target, 'publish') || without(target, 'versions');
  const test = testsOverStore(target);
  let names = 0;
  const nameOf = (length: number) => String(++names).padStart(length, 'n');

  /**
   * Publishes a version and directly afterwards deletes an older one, so that an adapter is unlikely to poll in
   * between. Resolves with the change in size of each file, in bytes.
   * @param lengths the lengths of two version names: the deleted one and the published one
   */
  const replace = async (instance: Instance, other: Opened, lengths: readonly [number, number]) => {
    const { adapter, folder } = instance;
    const [old, base, replacement] = [nameOf(lengths[0]), nameOf(6), nameOf(lengths[1])];
    for (const name of [old, base]) await adapter.publish!(datasetOf(name, FIRST_CREATED, rowsOf(base)));
    await isCurrent(target, other, base);
    await adapter.versions!.prune(2);
    await delay(POLL_MS);
    const before = await sizesOf(folder);
    await adapter.publish!(datasetOf(replacement, FIRST_CREATED, rowsOf(replacement)));
    await adapter.versions!.prune(2);
    const after = await sizesOf(folder);
    await isCurrent(target, other, replacement);
    await hasRows(other, rowsOf(replacement), `"${replacement}"`);
    return new Map([...after].flatMap(([name, size]) => (before.has(name) ? [[name, size - before.get(name)!]] : [])));
  };

  describe('another adapter over the same store', () => {
    test(
      obstacle,
      'notices versions that replace others with the same names, numbers and sizes',
      async (instance, running) => {
        running.timeout(TEST_MS + MOST_CHANGES * followMs(target));
        const { adapter } = instance;
        const other = await instance.another();
        const isFollowed = () =>
          versionIfAny(other.adapter) !== undefined && publicationTime(other) === publicationTime(instance);
        for (let round = 0; round < ROUNDS; round++) {
          // These changes follow each other without a pause, so an adapter is unlikely to poll in between.
          await adapter.publish!(datasetOf('between', FIRST_CREATED, rowsOf('between')));
          await adapter.versions!.prune(0);
          if ((await namesOf(instance)).length > 1) skip(running, KEPT);
          for (const name of ['left', 'right']) {
            await adapter.publish!(datasetOf(name, FIRST_CREATED, rowsOf(`round ${round}`)));
          }
          await adapter.versions!.prune(2);
          await eventually('snapshot() returns the new version', isFollowed, followMs(target));
          await hasRows(other, rowsOf(`round ${round}`), 'a version that replaces another one');
          if ((await namesOf(instance)).length > 2) skip(running, KEPT);
          await delay(POLL_MS);
        }
      },
    );

    test(obstacle, 'notices a change that changes no file size', async (instance, running) => {
      running.timeout(TEST_MS + MOST_CHANGES * followMs(target));
      const other = await instance.another();
      const [first, second, third] = [
        await replace(instance, other, [100, 4]),
        await replace(instance, other, [90, 4]),
        await replace(instance, other, [90, 14]),
      ];
      const solved = [...second].flatMap(([name, change]) => {
        const perFirst = (first.get(name) ?? change) - change;
        const perSecond = (third.get(name) ?? change) - change;
        return [rootOf(change, perFirst / 10, perSecond / 10) ?? []].filter((lengths) => lengths.length > 0);
      });
      for (const lengths of solved.slice(0, MOST_FILES)) await replace(instance, other, lengths as [number, number]);
    });
  });
};
