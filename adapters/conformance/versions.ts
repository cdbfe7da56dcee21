/** Proves that what was published can be listed, gone back to, read as of a time, and pruned. */
import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameItems, sameList, sameValue } from './expect.js';
import {
  aboutDataset,
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
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
  find,
  hasItems,
  hasVersion,
  type Instance,
  listOf,
  testsOfEmpty,
  testsOver,
  versionAsOf,
  without,
  withSnapshot,
} from './instance.js';

export const describeVersions = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'versions') || without(target, 'publish');
  const test = testsOver(target, obstacle);
  const testOfThree = (title: string, body: (instance: Instance) => Promise<void>): void =>
    test(title, async (instance) => {
      await instance.adapter.publish!(anotherDataset(SECOND, SECOND_CREATED));
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await body(instance);
    });
  const names = async (instance: Instance) => (await listOf(instance)).map(({ version }) => version);

  const isAsOf = async (instance: Instance, time: string | number, version: string | undefined): Promise<void> =>
    sameValue(
      await versionAsOf(instance, time),
      version,
      `asOf(${new Date(time).toISOString()}) to answer with ${version}`,
    );

  describe('versions', () => {
    testOfThree('list() answers with what was published, the newest first', async (instance) => {
      sameList(await listOf(instance), listWith(THIRD), 'list() to answer with what was published, the newest first');
    });

    test('list() tells which versions are held', async (instance) => {
      await withSnapshot(instance, async () => {
        await instance.adapter.publish!(anotherDataset());
        const first = (await instance.adapter.versions!.list()).find(({ version }) => version === FIRST);
        sameValue(first?.held, true, 'list() to tell that a version is held');
      });
    });

    testsOfEmpty(target, obstacle)('an empty store lists none, and has none to prune', async ({ adapter }) => {
      await adapter.open();
      isEmpty(await adapter.versions!.list(), 'no versions of an empty store');
      isEmpty(await adapter.versions!.prune(1), 'nothing to prune in an empty store');
    });

    testOfThree('activate() goes back to a version', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      hasVersion(instance, FIRST);
      await hasItems(instance, rows['items']!);
      const current = (await instance.adapter.versions!.list()).filter((entry) => entry.current);
      sameList(
        current.map(({ version }) => version),
        [FIRST],
        'list() to call the activated version, and no other, current',
      );
    });

    testOfThree('activate() calls changed()', async (instance) => {
      const before = instance.changes.length;
      await instance.adapter.versions!.activate(FIRST);
      await changedTo(FIRST, instance, before);
    });

    testOfThree(
      'activate() rejects with unknown_version for one that is not there, and changes nothing',
      async (instance) => {
        await failsWith('unknown_version', () => instance.adapter.versions!.activate('no-such'));
        hasVersion(instance, THIRD);
      },
    );

    testOfThree('prune() deletes all but the newest, and answers with what it deleted', async (instance) => {
      isEmpty(await instance.adapter.versions!.prune(3), 'prune(3) to delete none of three versions');
      const deleted = [...(await instance.adapter.versions!.prune(1))].sort();
      sameList(deleted, [FIRST, SECOND], 'prune(1) to answer with the older versions');
      sameList(await names(instance), [THIRD], 'list() to answer with what prune(1) left');
    });

    testOfThree('prune() leaves the current version, however old', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      const deleted = await instance.adapter.versions!.prune(1);
      isEmpty(
        deleted.filter((version) => version === FIRST),
        'prune(1) to leave the current version',
      );
      hasVersion(instance, FIRST);
      await hasItems(instance, rows['items']!);
    });

    test('prune() leaves a version that is held readable, and deletes it after its release', async (instance) => {
      await withSnapshot(instance, async (held) => {
        await instance.adapter.publish!(anotherDataset());
        isEmpty(await instance.adapter.versions!.prune(1), 'prune() to leave a version that is held');
        sameItems(await find(held, items), rows['items']!);
      });
      const deleted = await instance.adapter.versions!.prune(1);
      sameList(deleted, [FIRST], 'prune() to delete a version after its release');
    });

    testOfThree(
      'asOf() answers with the version that was current at a time, from its publication on',
      async (instance) => {
        await isAsOf(instance, 0, undefined);
        await isAsOf(instance, '2024-01-01T12:34:56.788Z', undefined);
        await isAsOf(instance, FIRST_CREATED, FIRST);
        await isAsOf(instance, '2024-01-31T23:59:59.999Z', FIRST);
        await isAsOf(instance, SECOND_CREATED, SECOND);
        await isAsOf(instance, '2024-03-01T23:59:59.998Z', SECOND);
        await isAsOf(instance, THIRD_CREATED, THIRD);
        await isAsOf(instance, Date.now(), THIRD);
        await isAsOf(instance, '2999-01-01T00:00:00Z', THIRD);
      },
    );

    testOfThree(
      'asOf() answers with the whole of its version: rows, manifest and publication time',
      async ({ adapter }) => {
        for (const [version, created] of [
          [FIRST, FIRST_CREATED],
          [SECOND, SECOND_CREATED],
          [THIRD, THIRD_CREATED],
        ] as const) {
          const expected = itemsIn(version);
          const snapshot = await adapter.versions!.asOf(new Date(created));
          assert(snapshot, `asOf(${created}) to answer with ${version}`);
          sameValue(about(snapshot), aboutDataset(version, created), `asOf(${created}) to tell of its version`);
          sameItems(await find(snapshot, items), expected);
          sameItems(await find(snapshot, items, { descending: true, limit: 3 }), expected.toReversed().slice(0, 3));
          sameValue(
            (await snapshot.get('items', ['i02']))?.['label'],
            expected.find(({ id }) => id === 'i02')!['label'],
            'its row',
          );
          sameValue(
            (await snapshot.get('items', ['i01']))?.['label'],
            version === FIRST ? 'Item 1' : undefined,
            'its row',
          );
          snapshot.release();
        }
      },
    );

    test('are in the order of their publication, whatever their names and when they were created', async (instance) => {
      for (const [version, created] of [
        ['z-2', '2020-01-01T00:00:00Z'],
        ['10', '2019-01-01T00:00:00Z'],
        ['a-1', '2018-01-01T00:00:00Z'],
        ['9', '2017-01-01T00:00:00Z'],
      ] as const) {
        await instance.adapter.publish!(anotherDataset(version, created));
      }
      sameList(await names(instance), ['9', 'a-1', '10', 'z-2', FIRST], 'list() to begin with what was published last');
      const times = (await instance.adapter.versions!.list()).map(({ publishedAt }) => publishedAt.getTime());
      sameList(
        times,
        times.toSorted((a, b) => b - a),
        'publication times that do not go back',
      );
      const deleted = [...(await instance.adapter.versions!.prune(2))].sort();
      sameList(deleted, ['10', FIRST, 'z-2'].sort(), 'prune(2) to leave the two that were published last');
    });

    test('have publication times to the millisecond', async (instance) => {
      const times = ['2024-02-01T12:34:56.001Z', '2024-02-01T12:34:56.002Z', '2024-02-01T12:34:56.999Z'];
      for (const [i, created] of times.entries()) await instance.adapter.publish!(anotherDataset(`ms-${i}`, created));
      const list = await instance.adapter.versions!.list();
      const listed = list.map(({ publishedAt }) => publishedAt.toISOString());
      sameList(listed, [...times.toReversed(), FIRST_CREATED], 'list() to tell publication times to the millisecond');
      for (const [i, time] of times.entries()) {
        await isAsOf(instance, time, `ms-${i}`);
        await isAsOf(instance, Date.parse(time) - 1, i === 0 ? FIRST : `ms-${i - 1}`);
      }
    });

    testOfThree(
      'publish() rejects with conflict for other content under a version that is there, current or not',
      async (instance) => {
        for (const [version, content] of [
          [FIRST, itemsOf('other')],
          [SECOND, rows['items']!],
          [THIRD, rows['items']!],
        ] as const) {
          const dataset = datasetOf(version, '2024-04-01T00:00:00Z', { ...rows, items: content });
          await failsWith('conflict', () => instance.adapter.publish!(dataset));
        }
        hasVersion(instance, THIRD);
        sameList(await names(instance), [THIRD, SECOND, FIRST], 'list() to answer with what it did before');
      },
    );

    testOfThree('activate() goes to and fro, and list() stays in the order of publication', async (instance) => {
      for (const version of [SECOND, FIRST, THIRD, SECOND]) {
        await instance.adapter.versions!.activate(version);
        hasVersion(instance, version);
        await hasItems(instance, itemsIn(version));
        sameList(await names(instance), [THIRD, SECOND, FIRST], 'list() in the order of publication');
      }
    });

    testOfThree('prune(0) leaves the current version and those in use, and deletes all others', async (instance) => {
      const held = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      sameList(
        await instance.adapter.versions!.prune(0),
        [SECOND],
        'prune(0) to delete what is neither current nor held',
      );
      sameList(await names(instance), [THIRD, FIRST], 'list() to answer with what prune(0) left');
      sameItems(await find(held!, items), rows['items']!);
      held!.release();
      sameList(await instance.adapter.versions!.prune(0), [FIRST], 'prune(0) to delete what nobody holds any more');
      hasVersion(instance, THIRD);
      await hasItems(instance, itemsOf(THIRD));
      isEmpty(await instance.adapter.versions!.prune(0), 'nothing more to delete');
    });

    testOfThree(
      'prune() counts the newest by publication, and leaves the current one beside them',
      async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        isEmpty(await instance.adapter.versions!.prune(2), 'prune(2) to leave the two newest, and the current one');
        sameList(
          await instance.adapter.versions!.prune(1),
          [SECOND],
          'prune(1) to delete what is neither newest nor current',
        );
        sameList(await names(instance), [THIRD, FIRST], 'list() to answer with what prune(1) left');
        isEmpty(await instance.adapter.versions!.prune(1000), 'prune(1000) to delete nothing');
      },
    );

    testOfThree(
      'prune() deletes for good: the version cannot be activated, nor read as of its time',
      async (instance) => {
        sameList(await instance.adapter.versions!.prune(2), [FIRST], 'prune(2) to delete the oldest of three');
        await failsWith('unknown_version', () => instance.adapter.versions!.activate(FIRST));
        await isAsOf(instance, FIRST_CREATED, undefined);
        await isAsOf(instance, SECOND_CREATED, SECOND);
      },
    );

    test('release() ends one hold, however often it is called, and leaves those of others', async (instance) => {
      const [mine, theirs] = [instance.adapter.snapshot(), instance.adapter.snapshot()];
      const third = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      await instance.adapter.publish!(anotherDataset());
      for (const _ of [1, 2, 3]) mine.release();
      isEmpty(await instance.adapter.versions!.prune(1), 'prune() to leave a version that others hold');
      sameItems(await find(theirs, items), rows['items']!);
      for (const _ of [1, 2]) theirs.release();
      isEmpty(await instance.adapter.versions!.prune(1), 'prune() to leave what asOf() answered with');
      sameItems(await find(third!, items), rows['items']!);
      third!.release();
      sameList(
        await instance.adapter.versions!.prune(1),
        [FIRST],
        'prune() to delete a version after all are released',
      );
      await hasItems(instance, itemsOf(SECOND));
    });

    test('a find() that was left early holds nothing once its snapshot is released', async (instance) => {
      const snapshot = instance.adapter.snapshot();
      for await (const batch of snapshot.find('items', { order: items.key })) if (batch.length > 0) break;
      snapshot.release();
      await instance.adapter.publish!(anotherDataset());
      sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune() to delete a version after its release');
    });

    testOfThree('asOf() remembers what was current before activate()', async (instance) => {
      await instance.adapter.versions!.activate(FIRST);
      await isAsOf(instance, '2024-02-15T00:00:00.000Z', SECOND);
      await isAsOf(instance, '2024-03-15T00:00:00.000Z', THIRD);
      // A store's own clock may be a little ahead.
      await isAsOf(instance, Date.now() + 5000, FIRST);
    });

    testOfThree(
      'asOf() answers with nothing, rather than an older version, where the one of the time was pruned',
      async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        // Whether it was pruned is the subject of other tests.
        const pruned = await instance.adapter.versions!.prune(1);
        if (pruned.includes(SECOND)) await isAsOf(instance, SECOND_CREATED, undefined);
      },
    );

    testOfThree('asOf() holds what it answers with', async ({ adapter }) => {
      const snapshot = await adapter.versions!.asOf(new Date(SECOND_CREATED));
      assert(snapshot);
      sameList(await adapter.versions!.prune(1), [FIRST], 'prune() to leave the version that asOf() answered with');
      sameItems(await find(snapshot, items), itemsOf(SECOND));
      snapshot.release();
      sameList(await adapter.versions!.prune(1), [SECOND], 'prune() to delete a version after its release');
    });
  });
};
