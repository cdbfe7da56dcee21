import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameItems, sameList, sameValue } from './expect.js';
import { find, readsReject } from './find-rows.js';
import {
  aboutDataset,
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH_CREATED,
  items,
  itemsIn,
  itemsOf,
  listWith,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  about,
  changedTo,
  hasItems,
  hasVersion,
  type Instance,
  listOf,
  namesOf,
  publishTwo,
  readsItems,
  versionAsOf,
  withSnapshot,
} from './instance.js';
import { without } from './obstacles.js';
import { testsOfEmpty, testsOver } from './tests-over.js';

/** Names that are similar to the name of the first version, or to inherited properties such as `constructor`. */
const MISSING = ['no-such', 'FIRST-1', 'first_1', 'first', 'first-', 'first-11', '1', 'constructor', 'toString'];

/** Versions in order of publication, which differs from the order of their names and creation times. */
export const OUT_OF_ORDER = [
  ['z-2', '2020-01-01T00:00:00Z'],
  ['10', '2019-01-01T00:00:00Z'],
  ['a-1', '2018-01-01T00:00:00Z'],
  ['9', '2017-01-01T00:00:00Z'],
] as const;

export const versionTests = (target: AdapterUnderTest) => {
  const obstacle = without(target, 'versions') || without(target, 'publish');
  const test = testsOver(target, obstacle);
  const testOfThree = (title: string, body: (instance: Instance) => Promise<void>): void =>
    test(title, async (instance) => {
      await publishTwo(instance);
      await body(instance);
    });

  const isAsOf = async (
    opened: Pick<Instance, 'adapter'>,
    time: string | number,
    version: string | undefined,
  ): Promise<void> =>
    sameValue(await versionAsOf(opened, time), version, `asOf(${new Date(time).toISOString()}) to return ${version}`);

  return { obstacle, test, testOfEmpty: testsOfEmpty(target, obstacle), testOfThree, isAsOf };
};

export const describeVersions = (target: AdapterUnderTest): void => {
  const { obstacle, test, testOfThree, isAsOf } = versionTests(target);

  describe('versions', () => {
    testOfThree('list() returns the published versions, newest first', async (instance) => {
      sameList(await listOf(instance), listWith(THIRD), 'list() to return the published versions, newest first');
    });

    test('list() shows which versions are held', async (instance) => {
      await withSnapshot(instance, async () => {
        const [current] = await instance.adapter.versions!.list();
        sameValue(current?.held, true, 'list() to show that the current version is held');
        await instance.adapter.publish!(anotherDataset());
        const first = (await instance.adapter.versions!.list()).find(({ version }) => version === FIRST);
        sameValue(first?.held, true, 'list() to show that a version is held');
      });
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      const asOf = await instance.adapter.versions!.asOf(new Date(SECOND_CREATED));
      const second = (await instance.adapter.versions!.list()).find(({ version }) => version === SECOND);
      sameValue(second?.held, true, 'list() to show that the version of asOf() is held');
      asOf!.release();
    });

    test('list() returns a list that later changes do not affect', async ({ adapter }) => {
      const listed = await adapter.versions!.list();
      const before = structuredClone(listed);
      await adapter.publish!(anotherDataset());
      await adapter.versions!.list();
      sameList(listed, before, 'an earlier result of list() to be unchanged');
    });

    test('list() returns a new list, which its caller can change', async (instance) => {
      const listed = await instance.adapter.versions!.list();
      if (!Object.isFrozen(listed)) (listed as unknown[]).length = 0;
      sameList(await namesOf(instance), [FIRST], 'list() to return all versions again');
    });

    testsOfEmpty(target, obstacle)(
      'an empty store has no versions to list, prune, read or activate',
      async ({ adapter }) => {
        await adapter.open();
        isEmpty(await adapter.versions!.list(), 'no versions of an empty store');
        for (const keep of [0, 1]) isEmpty(await adapter.versions!.prune(keep), 'nothing to prune in an empty store');
        for (const time of [0, Date.now()]) {
          sameValue(
            await adapter.versions!.asOf(new Date(time)),
            undefined,
            'asOf() to find nothing in an empty store',
          );
        }
        await failsWith('unknown_version', () => adapter.versions!.activate(FIRST));
      },
    );

    testOfThree('activate() makes an earlier version current', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      hasVersion(instance, FIRST);
      await hasItems(instance, rows['items']!);
      const current = (await instance.adapter.versions!.list()).filter((entry) => entry.current);
      sameList(
        current.map(({ version }) => version),
        [FIRST],
        'list() to mark only the activated version as current',
      );
    });

    testOfThree('activate() calls changed()', async (instance) => {
      const before = instance.changes.length;
      await instance.adapter.versions!.activate(FIRST);
      await changedTo(target, [FIRST], instance, before);
    });

    testOfThree(
      'activate() rejects with unknown_version for a missing version, and changes nothing',
      async (instance) => {
        for (const name of MISSING) await failsWith('unknown_version', () => instance.adapter.versions!.activate(name));
        hasVersion(instance, THIRD);
      },
    );

    testOfThree('asOf() returns the version that was current at a time, from its publication on', async (instance) => {
      await isAsOf(instance, 0, undefined);
      await isAsOf(instance, '2024-01-01T12:34:56.788Z', undefined);
      await isAsOf(instance, FIRST_CREATED, FIRST);
      await isAsOf(instance, '2024-01-31T23:59:59.999Z', FIRST);
      await isAsOf(instance, SECOND_CREATED, SECOND);
      await isAsOf(instance, '2024-03-01T23:59:59.998Z', SECOND);
      await isAsOf(instance, THIRD_CREATED, THIRD);
      await isAsOf(instance, Date.now(), THIRD);
      await isAsOf(instance, '2999-01-01T00:00:00Z', THIRD);
    });

    testOfThree('asOf() returns the whole version: rows, manifest and publication time', async ({ adapter }) => {
      for (const [version, created] of [
        [FIRST, FIRST_CREATED],
        [SECOND, SECOND_CREATED],
        [THIRD, THIRD_CREATED],
      ] as const) {
        const expected = itemsIn(version);
        const snapshot = await adapter.versions!.asOf(new Date(created));
        assert(snapshot, `asOf(${created}) to return ${version}`);
        sameValue(about(snapshot), aboutDataset(version, created), `asOf(${created}) to describe its version`);
        await readsItems(snapshot, expected);
        sameItems(await find(snapshot, items, { descending: true, limit: 3 }), expected.toReversed().slice(0, 3));
        await readsReject(snapshot);
        snapshot.release();
      }
    });

    test('are in the order of publication, whatever their names and times of creation', async (instance) => {
      for (const [version, created] of OUT_OF_ORDER) await instance.adapter.publish!(anotherDataset(version, created));
      sameList(await namesOf(instance), ['9', 'a-1', '10', 'z-2', FIRST], 'list() to start with the last publication');
      const times = (await instance.adapter.versions!.list()).map(({ publishedAt }) => publishedAt.getTime());
      sameList(
        times,
        times.toSorted((a, b) => b - a),
        'publication times that do not go back',
      );
    });

    test('have publication times in milliseconds', async (instance) => {
      const times = ['2024-02-01T12:34:56.001Z', '2024-02-01T12:34:56.002Z', '2024-02-01T12:34:56.999Z'];
      for (const [i, created] of times.entries()) await instance.adapter.publish!(anotherDataset(`ms-${i}`, created));
      const list = await instance.adapter.versions!.list();
      const listed = list.map(({ publishedAt }) => publishedAt.toISOString());
      sameList(listed, [...times.toReversed(), FIRST_CREATED], 'list() to return publication times in milliseconds');
      for (const [i, time] of times.entries()) {
        await isAsOf(instance, time, `ms-${i}`);
        await isAsOf(instance, Date.parse(time) - 1, i === 0 ? FIRST : `ms-${i - 1}`);
      }
    });

    testOfThree(
      'publish() rejects with conflict for different content under an existing version, current or not',
      async (instance) => {
        for (const [version, itsCreated, content] of [
          [FIRST, FIRST_CREATED, itemsOf('other')],
          [SECOND, SECOND_CREATED, rows['items']!],
          [THIRD, THIRD_CREATED, rows['items']!],
        ] as const) {
          for (const created of [itsCreated, FOURTH_CREATED]) {
            const dataset = datasetOf(version, created, { ...rows, items: content });
            await failsWith('conflict', () => instance.adapter.publish!(dataset));
          }
        }
        hasVersion(instance, THIRD);
        sameList(await listOf(instance), listWith(THIRD), 'list() to be unchanged');
      },
    );

    testOfThree(
      'activate() changes the current version in any direction, and list() stays in the order of publication',
      async (instance) => {
        for (const version of [SECOND, FIRST, THIRD, SECOND]) {
          await instance.adapter.versions!.activate(version);
          hasVersion(instance, version);
          await hasItems(instance, itemsIn(version));
          sameList(await namesOf(instance), [THIRD, SECOND, FIRST], 'list() in the order of publication');
        }
      },
    );

    testOfThree('asOf() returns what was current before activate()', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      await isAsOf(instance, '2024-02-15T00:00:00.000Z', SECOND);
      await isAsOf(instance, '2024-03-15T00:00:00.000Z', THIRD);
      // The store's clock can be slightly ahead of the clock of this process.
      await isAsOf(instance, Date.now() + 5000, FIRST);
    });
  });
};
