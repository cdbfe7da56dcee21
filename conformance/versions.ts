/** Proves that what was published can be listed, gone back to, read as of a time, and pruned. */
import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameItems, sameList } from './expect.js';
import { anotherDataset, FIRST, FIRST_CREATED, items, itemsOf, rows, SECOND, SECOND_CREATED } from './fixture.js';
import {
  currentVersion,
  find,
  type Instance,
  itUnless,
  withEmptyInstance,
  withInstance,
  withSnapshot,
} from './instance.js';

const THIRD = 'third-3';
const THIRD_CREATED = '2024-03-01T00:00:00.000Z';

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
          assert.equal(first?.held, true);
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
        assert.equal(currentVersion(instance), FIRST);
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
        await eventually('changed() is called', () => instance.changes.length > before, 2000);
        const seen = new Set(instance.changes.slice(before));
        sameList([...seen], [FIRST], 'changed() to be called once snapshot() has the activated version');
      }),
    );

    itUnless(
      obstacle,
      'activate() rejects with unknown_version for one that is not there, and changes nothing',
      withThree(async (instance) => {
        await failsWith('unknown_version', () => instance.adapter.versions!.activate('no-such'));
        assert.equal(currentVersion(instance), THIRD);
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
        assert(!(await instance.adapter.versions!.prune(1)).includes(FIRST));
        assert.equal(currentVersion(instance), FIRST);
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
        assert.equal(await asOf(instance, '2023-12-31T23:59:59.999Z'), undefined);
        assert.equal(await asOf(instance, FIRST_CREATED), FIRST);
        assert.equal(await asOf(instance, '2024-01-31T23:59:59.999Z'), FIRST);
        assert.equal(await asOf(instance, SECOND_CREATED), SECOND);
        assert.equal(await asOf(instance, Date.now()), THIRD);
      }),
    );

    itUnless(
      obstacle,
      'asOf() remembers what was current before activate()',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        assert.equal(await asOf(instance, '2024-02-15T00:00:00.000Z'), SECOND);
        assert.equal(await asOf(instance, '2024-03-15T00:00:00.000Z'), THIRD);
        // A store's own clock may be a little ahead.
        assert.equal(await asOf(instance, Date.now() + 5000), FIRST);
      }),
    );

    itUnless(
      obstacle,
      'asOf() answers with nothing, rather than an older version, where the one of the time was pruned',
      withThree(async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        // Whether it was pruned is the subject of other tests.
        const pruned = await instance.adapter.versions!.prune(1);
        if (pruned.includes(SECOND)) assert.equal(await asOf(instance, SECOND_CREATED), undefined);
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
