/** Proves that what was published can be listed, gone back to, read as of a time, and pruned. */
import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, isEmpty, sameItems, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsOf,
  manifestOf,
  rows,
  SECOND,
  SECOND_CREATED,
} from './fixture.js';
import {
  changedTo,
  currentVersion,
  find,
  type Instance,
  itUnless,
  withEmptyInstance,
  withInstance,
  withSnapshot,
} from './instance.js';

const THIRD = 'third-3';
const THIRD_CREATED = '2024-03-01T23:59:59.999Z';

export const describeVersions = (target: AdapterUnderTest): void => {
  const { publish, versions } = target.capabilities;
  const obstacle =
    (!versions && 'the adapter does not declare the capability "versions"') ||
    (!publish && 'the adapter does not declare the capability "publish"');

  const withThree = (test: (instance: Instance) => Promise<void>) =>
    withInstance(target, async (instance) => {
      await instance.adapter.publish!(anotherDataset(SECOND, SECOND_CREATED));
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await test(instance);
    });
  const names = async ({ adapter }: Instance) => (await adapter.versions!.list()).map(({ version }) => version);
  const asOf = async ({ adapter }: Instance, time: string | number): Promise<string | undefined> => {
    const snapshot = await adapter.versions!.asOf(new Date(time));
    snapshot?.release();
    return snapshot?.version;
  };

  const isAsOf = async (instance: Instance, time: string | number, version: string | undefined): Promise<void> =>
    sameValue(await asOf(instance, time), version, `asOf(${new Date(time).toISOString()}) to answer with ${version}`);

  describe('versions', () => {
    itUnless(
      obstacle,
      'list() answers with what was published, the newest first',
      withThree(async ({ adapter }) => {
        const list = await adapter.versions!.list();
        sameList(
          list.map(({ version, publishedAt, current }) => ({ version, publishedAt, current })),
          [
            { version: THIRD, publishedAt: new Date(THIRD_CREATED), current: true },
            { version: SECOND, publishedAt: new Date(SECOND_CREATED), current: false },
            { version: FIRST, publishedAt: new Date(FIRST_CREATED), current: false },
          ],
          'list() to answer with what was published, the newest first',
        );
      }),
    );

    itUnless(
      obstacle,
      'list() tells which versions are held',
      withInstance(target, async (instance) => {
        await withSnapshot(instance, async () => {
          await instance.adapter.publish!(anotherDataset());
          const first = (await instance.adapter.versions!.list()).find(({ version }) => version === FIRST);
          sameValue(first?.held, true, 'list() to tell that a version is held');
        });
      }),
    );

    itUnless(
      obstacle || (!target.createEmpty && 'the author gave no createEmpty()'),
      'an empty store lists none, and has none to prune',
      withEmptyInstance(target, async ({ adapter }) => {
        await adapter.open();
        isEmpty(await adapter.versions!.list(), 'no versions of an empty store');
        isEmpty(await adapter.versions!.prune(1), 'nothing to prune in an empty store');
      }),
    );

    itUnless(
      obstacle,
      'activate() goes back to a version',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        sameValue(currentVersion(instance), FIRST, 'the version of snapshot()');
        sameItems(await withSnapshot(instance, (snapshot) => find(snapshot, items)), rows['items']!);
        const current = (await instance.adapter.versions!.list()).filter((entry) => entry.current);
        sameList(
          current.map(({ version }) => version),
          [FIRST],
          'list() to call the activated version, and no other, current',
        );
      }),
    );

    itUnless(
      obstacle,
      'activate() calls changed()',
      withThree(async (instance) => {
        const before = instance.changes.length;
        await instance.adapter.versions!.activate(FIRST);
        await changedTo(FIRST, instance, before);
      }),
    );

    itUnless(
      obstacle,
      'activate() rejects with unknown_version for one that is not there, and changes nothing',
      withThree(async (instance) => {
        await failsWith('unknown_version', () => instance.adapter.versions!.activate('no-such'));
        sameValue(currentVersion(instance), THIRD, 'the version of snapshot()');
      }),
    );

    itUnless(
      obstacle,
      'prune() deletes all but the newest, and answers with what it deleted',
      withThree(async (instance) => {
        isEmpty(await instance.adapter.versions!.prune(3), 'prune(3) to delete none of three versions');
        const deleted = [...(await instance.adapter.versions!.prune(1))].sort();
        sameList(deleted, [FIRST, SECOND], 'prune(1) to answer with the older versions');
        sameList(await names(instance), [THIRD], 'list() to answer with what prune(1) left');
      }),
    );

    itUnless(
      obstacle,
      'prune() leaves the current version, however old',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        const deleted = await instance.adapter.versions!.prune(1);
        isEmpty(
          deleted.filter((version) => version === FIRST),
          'prune(1) to leave the current version',
        );
        sameValue(currentVersion(instance), FIRST, 'the version of snapshot()');
        sameItems(await withSnapshot(instance, (snapshot) => find(snapshot, items)), rows['items']!);
      }),
    );

    itUnless(
      obstacle,
      'prune() leaves a version that is held readable, and deletes it after its release',
      withInstance(target, async (instance) => {
        await withSnapshot(instance, async (held) => {
          await instance.adapter.publish!(anotherDataset());
          isEmpty(await instance.adapter.versions!.prune(1), 'prune() to leave a version that is held');
          sameItems(await find(held, items), rows['items']!);
        });
        const deleted = await instance.adapter.versions!.prune(1);
        sameList(deleted, [FIRST], 'prune() to delete a version after its release');
      }),
    );

    itUnless(
      obstacle,
      'asOf() answers with the version that was current at a time, from its publication on',
      withThree(async (instance) => {
        await isAsOf(instance, 0, undefined);
        await isAsOf(instance, '2024-01-01T12:34:56.788Z', undefined);
        await isAsOf(instance, FIRST_CREATED, FIRST);
        await isAsOf(instance, '2024-01-31T23:59:59.999Z', FIRST);
        await isAsOf(instance, SECOND_CREATED, SECOND);
        await isAsOf(instance, '2024-03-01T23:59:59.998Z', SECOND);
        await isAsOf(instance, THIRD_CREATED, THIRD);
        await isAsOf(instance, Date.now(), THIRD);
        await isAsOf(instance, '2999-01-01T00:00:00Z', THIRD);
      }),
    );

    itUnless(
      obstacle,
      'asOf() answers with the whole of its version: rows, manifest and publication time',
      withThree(async ({ adapter }) => {
        for (const [version, created, expected] of [
          [FIRST, FIRST_CREATED, rows['items']!],
          [SECOND, SECOND_CREATED, itemsOf(SECOND)],
          [THIRD, THIRD_CREATED, itemsOf(THIRD)],
        ] as const) {
          const snapshot = await adapter.versions!.asOf(new Date(created));
          assert(snapshot, `asOf(${created}) to answer with ${version}`);
          const { manifest, publishedAt } = snapshot;
          const about = { version: snapshot.version, manifest, publishedAt };
          const wanted = { version, manifest: manifestOf(version, created), publishedAt: new Date(created) };
          sameValue(about, wanted, `asOf(${created}) to tell of its version`);
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
      }),
    );

    itUnless(
      obstacle,
      'are in the order of their publication, whatever their names and when they were created',
      withInstance(target, async (instance) => {
        for (const [version, created] of [
          ['z-2', '2020-01-01T00:00:00Z'],
          ['10', '2019-01-01T00:00:00Z'],
          ['a-1', '2018-01-01T00:00:00Z'],
          ['9', '2017-01-01T00:00:00Z'],
        ] as const) {
          await instance.adapter.publish!(anotherDataset(version, created));
        }
        sameList(
          await names(instance),
          ['9', 'a-1', '10', 'z-2', FIRST],
          'list() to begin with what was published last',
        );
        const times = (await instance.adapter.versions!.list()).map(({ publishedAt }) => publishedAt.getTime());
        sameList(
          times,
          times.toSorted((a, b) => b - a),
          'publication times that do not go back',
        );
        const deleted = [...(await instance.adapter.versions!.prune(2))].sort();
        sameList(deleted, ['10', FIRST, 'z-2'].sort(), 'prune(2) to leave the two that were published last');
      }),
    );

    itUnless(
      obstacle,
      'have publication times to the millisecond',
      withInstance(target, async (instance) => {
        const times = ['2024-02-01T12:34:56.001Z', '2024-02-01T12:34:56.002Z', '2024-02-01T12:34:56.999Z'];
        for (const [i, created] of times.entries()) await instance.adapter.publish!(anotherDataset(`ms-${i}`, created));
        const list = await instance.adapter.versions!.list();
        const listed = list.map(({ publishedAt }) => publishedAt.toISOString());
        sameList(listed, [...times.toReversed(), FIRST_CREATED], 'list() to tell publication times to the millisecond');
        for (const [i, time] of times.entries()) {
          await isAsOf(instance, time, `ms-${i}`);
          await isAsOf(instance, Date.parse(time) - 1, i === 0 ? FIRST : `ms-${i - 1}`);
        }
      }),
    );

    itUnless(
      obstacle,
      'publish() rejects with conflict for other content under a version that is there, current or not',
      withThree(async (instance) => {
        for (const [version, content] of [
          [FIRST, itemsOf('other')],
          [SECOND, rows['items']!],
          [THIRD, rows['items']!],
        ] as const) {
          const dataset = datasetOf(version, '2024-04-01T00:00:00Z', { ...rows, items: content });
          await failsWith('conflict', () => instance.adapter.publish!(dataset));
        }
        sameValue(currentVersion(instance), THIRD, 'the version of snapshot()');
        sameList(await names(instance), [THIRD, SECOND, FIRST], 'list() to answer with what it did before');
      }),
    );

    itUnless(
      obstacle,
      'activate() goes to and fro, and list() stays in the order of publication',
      withThree(async (instance) => {
        for (const version of [SECOND, FIRST, THIRD, SECOND]) {
          await instance.adapter.versions!.activate(version);
          sameValue(currentVersion(instance), version, 'the version of snapshot()');
          const expected = version === FIRST ? rows['items']! : itemsOf(version);
          sameItems(await withSnapshot(instance, (snapshot) => find(snapshot, items)), expected);
          sameList(await names(instance), [THIRD, SECOND, FIRST], 'list() in the order of publication');
        }
      }),
    );

    itUnless(
      obstacle,
      'prune(0) leaves the current version and those in use, and deletes all others',
      withThree(async (instance) => {
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
        sameValue(currentVersion(instance), THIRD, 'the version of snapshot()');
        sameItems(await withSnapshot(instance, (snapshot) => find(snapshot, items)), itemsOf(THIRD));
        isEmpty(await instance.adapter.versions!.prune(0), 'nothing more to delete');
      }),
    );

    itUnless(
      obstacle,
      'prune() counts the newest by publication, and leaves the current one beside them',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        isEmpty(await instance.adapter.versions!.prune(2), 'prune(2) to leave the two newest, and the current one');
        sameList(
          await instance.adapter.versions!.prune(1),
          [SECOND],
          'prune(1) to delete what is neither newest nor current',
        );
        sameList(await names(instance), [THIRD, FIRST], 'list() to answer with what prune(1) left');
        isEmpty(await instance.adapter.versions!.prune(1000), 'prune(1000) to delete nothing');
      }),
    );

    itUnless(
      obstacle,
      'prune() deletes for good: the version cannot be activated, nor read as of its time',
      withThree(async (instance) => {
        sameList(await instance.adapter.versions!.prune(2), [FIRST], 'prune(2) to delete the oldest of three');
        await failsWith('unknown_version', () => instance.adapter.versions!.activate(FIRST));
        await isAsOf(instance, FIRST_CREATED, undefined);
        await isAsOf(instance, SECOND_CREATED, SECOND);
      }),
    );

    itUnless(
      obstacle,
      'release() ends one hold, however often it is called, and leaves those of others',
      withInstance(target, async (instance) => {
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
        sameItems(await withSnapshot(instance, (snapshot) => find(snapshot, items)), itemsOf(SECOND));
      }),
    );

    itUnless(
      obstacle,
      'a find() that was left early holds nothing once its snapshot is released',
      withInstance(target, async (instance) => {
        const snapshot = instance.adapter.snapshot();
        for await (const batch of snapshot.find('items', { order: items.key })) if (batch.length > 0) break;
        snapshot.release();
        await instance.adapter.publish!(anotherDataset());
        sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune() to delete a version after its release');
      }),
    );

    itUnless(
      obstacle,
      'asOf() remembers what was current before activate()',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        await isAsOf(instance, '2024-02-15T00:00:00.000Z', SECOND);
        await isAsOf(instance, '2024-03-15T00:00:00.000Z', THIRD);
        // A store's own clock may be a little ahead.
        await isAsOf(instance, Date.now() + 5000, FIRST);
      }),
    );

    itUnless(
      obstacle,
      'asOf() answers with nothing, rather than an older version, where the one of the time was pruned',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        // Whether it was pruned is the subject of other tests.
        const pruned = await instance.adapter.versions!.prune(1);
        if (pruned.includes(SECOND)) await isAsOf(instance, SECOND_CREATED, undefined);
      }),
    );

    itUnless(
      obstacle,
      'asOf() holds what it answers with',
      withThree(async ({ adapter }) => {
        const snapshot = await adapter.versions!.asOf(new Date(SECOND_CREATED));
        assert(snapshot);
        sameList(await adapter.versions!.prune(1), [FIRST], 'prune() to leave the version that asOf() answered with');
        sameItems(await find(snapshot, items), itemsOf(SECOND));
        snapshot.release();
        sameList(await adapter.versions!.prune(1), [SECOND], 'prune() to delete a version after its release');
      }),
    );
  });
};
