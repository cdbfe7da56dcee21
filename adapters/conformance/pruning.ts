/** Tests that `prune()` deletes the oldest versions, and keeps the versions in use. */
import assert from 'node:assert/strict';
import type { Snapshot, StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameList, sameSequence, sameValue } from './expect.js';
import { find, restOf } from './find-rows.js';
import {
  anotherDataset,
  brokenDataset,
  collections,
  FIRST,
  FIRST_CREATED,
  FOURTH,
  FOURTH_CREATED,
  items,
  itemsIn,
  itemsOf,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import { hasItems, hasVersion, namesOf, publishTwo, readsItems, withSnapshot } from './instance.js';
import { OUT_OF_ORDER, versionTests } from './versions.js';

/** Two ways to take a snapshot of the first version. */
const HOLDERS: readonly (readonly [string, (adapter: StorageAdapter) => Promise<Snapshot>])[] = [
  ['snapshot()', async (adapter) => adapter.snapshot()],
  ['asOf()', async (adapter) => (await adapter.versions!.asOf(new Date(FIRST_CREATED)))!],
];

export const describePruning = (target: AdapterUnderTest): void => {
  const { test, testOfThree, isAsOf } = versionTests(target);

  describe('versions', () => {
    testOfThree('prune() deletes all but the newest, and returns what it deleted', async (instance) => {
      for (const keep of [3, 4, 5, 100, 2 ** 31, 2 ** 32]) {
        isEmpty(await instance.adapter.versions!.prune(keep), `prune(${keep}) to delete none of three versions`);
      }
      const deleted = [...(await instance.adapter.versions!.prune(1))].sort();
      sameList(deleted, [FIRST, SECOND], 'prune(1) to return the older versions');
      sameList(await namesOf(instance), [THIRD], 'list() to return what prune(1) kept');
    });

    testOfThree('prune() keeps the current version, however old', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      const deleted = await instance.adapter.versions!.prune(1);
      isEmpty(
        deleted.filter((version) => version === FIRST),
        'prune(1) to keep the current version',
      );
      hasVersion(instance, FIRST);
      await hasItems(instance, rows['items']!);
    });

    testOfThree('prune(0) keeps the current version and held ones, and deletes all others', async (instance) => {
      const held = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      sameList(
        await instance.adapter.versions!.prune(0),
        [SECOND],
        'prune(0) to delete what is neither current nor held',
      );
      sameList(await namesOf(instance), [THIRD, FIRST], 'list() to return what prune(0) kept');
      await readsItems(held!, rows['items']!);
      held!.release();
      sameList(
        await instance.adapter.versions!.prune(0),
        [FIRST],
        'prune(0) to delete a version that is no longer held',
      );
      hasVersion(instance, THIRD);
      await hasItems(instance, itemsOf(THIRD));
      isEmpty(await instance.adapter.versions!.prune(0), 'nothing more to delete');
    });

    test('prune() keeps a held version readable, and deletes it after its release', async (instance) => {
      await withSnapshot(instance, async (held) => {
        await instance.adapter.publish!(anotherDataset());
        await instance.adapter.publish!(brokenDataset(new Error('the file ends too early'), 'broken')).catch(() => {});
        isEmpty(await instance.adapter.versions!.prune(1), 'prune() to keep a held version');
        await readsItems(held, rows['items']!);
      });
      const deleted = await instance.adapter.versions!.prune(1);
      sameList(deleted, [FIRST], 'prune() to delete a version after its release');
    });

    for (const [by, open] of HOLDERS) {
      test(`prune() keeps the version of ${by} while all its collections are read`, async (instance) => {
        const { adapter } = instance;
        const held = await open(adapter);
        await publishTwo(instance);
        for (const collection of [items, ...collections.values(), items]) {
          isEmpty(
            (await adapter.versions!.prune(0)).filter((version) => version === FIRST),
            'prune(0) to keep a held version',
          );
          const first = (await adapter.versions!.list()).find(({ version }) => version === FIRST);
          sameValue(first?.held, true, 'list() to show that the version is held');
          sameSequence(collection, await find(held, collection), rows[collection.name]!);
        }
        await readsItems(held, rows['items']!);
        held.release();
        sameList(await adapter.versions!.prune(0), [FIRST], 'prune(0) to delete a version after its release');
      });
    }

    test('prune() keeps a version until its last snapshot is released, even if others are released twice', async (instance) => {
      const { adapter } = instance;
      const created = (day: number) => new Date(Date.UTC(2025, 0, day)).toISOString();
      for (const [i, kinds] of ['ss', 'aa', 'sss', 'aaa', 'sas', 'asa', 'ssas', 'aasa'].entries()) {
        const version = `held-${i}`;
        await adapter.publish!(anotherDataset(version, created(2 * i + 1)));
        const take = async (kind: string) =>
          kind === 's' ? adapter.snapshot() : (await adapter.versions!.asOf(new Date(created(2 * i + 1))))!;
        const all: { readonly snapshot: Snapshot }[] = [];
        for (const kind of kinds) all.push({ snapshot: await take(kind) });
        let left: typeof all = all;
        const release = (holder: (typeof all)[number]) => {
          left = left.filter((each) => each !== holder);
          // Also releases again every snapshot that was released before.
          for (const each of all) if (!left.includes(each)) each.snapshot.release();
        };
        // Half of the versions lose a snapshot while they are current.
        if (i % 2) release(all[1]!);
        await adapter.publish!(anotherDataset(`after-${i}`, created(2 * i + 2)));
        for (const holder of left) {
          const what = `prune(1) to keep a version with ${left.length} of ${kinds.length} snapshots (${kinds})`;
          sameValue((await adapter.versions!.prune(1)).includes(version), false, what);
          await readsItems(left.at(-1)!.snapshot, itemsOf(version));
          release(holder);
        }
        sameValue(
          (await adapter.versions!.prune(1)).includes(version),
          true,
          'prune(1) to delete it after the last release',
        );
      }
    });

    testOfThree('prune(0) also deletes the newest version if it is not current', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      const deleted = [...(await instance.adapter.versions!.prune(0))].sort();
      sameList(deleted, [SECOND, THIRD].sort(), 'prune(0) to delete all versions that are not current');
      sameList(await namesOf(instance), [FIRST], 'list() to return the current version');
    });

    testOfThree('prune() keeps held versions in addition to the newest', async (instance) => {
      const held = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      isEmpty(await instance.adapter.versions!.prune(2), 'prune(2) to keep the two newest, and the held one');
      sameList(await instance.adapter.versions!.prune(1), [SECOND], 'prune(1) to keep the newest, and the held one');
      held!.release();
    });

    testOfThree('prune() counts held versions among the newest', async (instance) => {
      const held = await instance.adapter.versions!.asOf(new Date(SECOND_CREATED));
      sameList(await instance.adapter.versions!.prune(2), [FIRST], 'prune(2) to keep only the two newest');
      held!.release();
    });

    testOfThree(
      'prune() counts the newest by publication, and keeps the current version in addition',
      async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        isEmpty(await instance.adapter.versions!.prune(2), 'prune(2) to keep the two newest, and the current one');
        sameList(
          await instance.adapter.versions!.prune(1),
          [SECOND],
          'prune(1) to delete what is neither newest nor current',
        );
        sameList(await namesOf(instance), [THIRD, FIRST], 'list() to return what prune(1) kept');
        isEmpty(await instance.adapter.versions!.prune(1000), 'prune(1000) to delete nothing');
      },
    );

    testOfThree(
      'prune() deletes for good: the version cannot be activated or read as of its time',
      async (instance) => {
        sameList(await instance.adapter.versions!.prune(2), [FIRST], 'prune(2) to delete the oldest of three');
        await failsWith('unknown_version', () => instance.adapter.versions!.activate(FIRST));
        await isAsOf(instance, FIRST_CREATED, undefined);
        await isAsOf(instance, SECOND_CREATED, SECOND);
      },
    );

    test('release() releases one lock: further calls do nothing, and other locks stay', async (instance) => {
      const [mine, theirs] = [instance.adapter.snapshot(), instance.adapter.snapshot()];
      const third = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      await instance.adapter.publish!(anotherDataset());
      for (const _ of [1, 2, 3]) mine.release();
      isEmpty(await instance.adapter.versions!.prune(1), 'prune() to keep a version that others hold');
      await readsItems(theirs, rows['items']!);
      for (const _ of [1, 2]) theirs.release();
      isEmpty(await instance.adapter.versions!.prune(1), 'prune() to keep the version of asOf()');
      await readsItems(third!, rows['items']!);
      third!.release();
      sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune() to delete a version after all releases');
      await hasItems(instance, itemsOf(SECOND));
    });

    test('prune() counts any number of snapshots', async (instance) => {
      const held = Array.from({ length: 512 }, () => instance.adapter.snapshot());
      await instance.adapter.publish!(anotherDataset());
      for (const count of [512, 256, 255, 1]) {
        while (held.length > count) held.pop()!.release();
        isEmpty(await instance.adapter.versions!.prune(1), `prune() to keep a version with ${count} snapshots`);
      }
      await readsItems(held[0]!, rows['items']!);
      held[0]!.release();
      sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune() to delete a version after all releases');
    });

    test('release(), a publication that fails and open() leave the locks of other snapshots', async (instance) => {
      const { adapter } = instance;
      const held = adapter.snapshot();
      const asOf = await adapter.versions!.asOf(new Date(FIRST_CREATED));
      asOf!.release();
      await adapter.publish!(brokenDataset(new Error('the file ends too early'), 'broken')).catch(() => {});
      await adapter.open();
      await adapter.publish!(anotherDataset());
      isEmpty(await adapter.versions!.prune(0), 'prune(0) to keep a held version');
      await readsItems(held, rows['items']!);
      held.release();
      sameList(await adapter.versions!.prune(0), [FIRST], 'prune(0) to delete a version after its release');
    });

    test('activate() keeps the locks of all versions', async (instance) => {
      const { adapter } = instance;
      const held = [adapter.snapshot()];
      for (const [version, created] of [
        [SECOND, SECOND_CREATED],
        [THIRD, THIRD_CREATED],
        [FOURTH, FOURTH_CREATED],
      ] as const) {
        await adapter.publish!(anotherDataset(version, created));
        held.push(adapter.snapshot());
      }
      for (const version of [SECOND, FOURTH, FIRST, FOURTH]) {
        await adapter.versions!.activate(version);
        isEmpty(await adapter.versions!.prune(0), 'prune(0) to delete no version that is held');
      }
      for (const snapshot of held) {
        await readsItems(snapshot, itemsIn(snapshot.version));
        snapshot.release();
      }
      sameList(
        [...(await adapter.versions!.prune(0))].sort(),
        [FIRST, SECOND, THIRD].sort(),
        'prune(0) to delete all other versions after their release',
      );
      hasVersion(instance, FOURTH);
    });

    test('a find() that was left early, aborted or not ended holds nothing after its snapshot is released', async (instance) => {
      const snapshot = instance.adapter.snapshot();
      for await (const batch of snapshot.find('items', { order: items.key })) if (batch.length > 0) break;
      await find(snapshot, items, {}, AbortSignal.abort()).catch(() => {});
      const controller = new AbortController();
      const aborted = snapshot.find('items', { order: items.key }, controller.signal)[Symbol.asyncIterator]();
      await aborted.next();
      controller.abort();
      await restOf(aborted).catch(() => {});
      const running = snapshot.find('items', { order: items.key })[Symbol.asyncIterator]();
      await running.next();
      snapshot.release();
      await running.return?.();
      await instance.adapter.publish!(anotherDataset());
      sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune() to delete a version after its release');
    });

    testOfThree(
      'asOf() returns undefined, not an older version, if the version of that time was pruned',
      async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        const pruned = await instance.adapter.versions!.prune(1);
        if (pruned.includes(SECOND)) await isAsOf(instance, SECOND_CREATED, undefined);
      },
    );

    testOfThree('asOf() locks the version that it returns', async ({ adapter }) => {
      const snapshot = await adapter.versions!.asOf(new Date(SECOND_CREATED));
      assert(snapshot);
      sameList(await adapter.versions!.prune(1), [FIRST], 'prune() to keep the version of asOf()');
      await readsItems(snapshot, itemsOf(SECOND));
      snapshot.release();
      sameList(await adapter.versions!.prune(1), [SECOND], 'prune() to delete a version after its release');
    });

    test('prune() keeps the last publications, whatever their names and times of creation', async (instance) => {
      for (const [version, created] of OUT_OF_ORDER) await instance.adapter.publish!(anotherDataset(version, created));
      const deleted = [...(await instance.adapter.versions!.prune(2))].sort();
      sameList(deleted, ['10', FIRST, 'z-2'], 'prune(2) to delete all but the last two publications');
    });
  });
};
