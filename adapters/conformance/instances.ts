/** Tests several adapters in one process that use the same store. */
import assert from 'node:assert/strict';
import { StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameItems, sameList, sameValue } from './expect.js';
import {
  aboutDataset,
  anotherDataset,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsIn,
  itemsOf,
  listWith,
  rows,
  rowsWithCrowd,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  about,
  cannotChange,
  changedTo,
  find,
  hasItems,
  hasVersion,
  isCurrent,
  isUnnoticed,
  listOf,
  makeCurrent,
  type Opened,
  standsAlone,
  testsOverStore,
  versionAsOf,
  versionOf,
  without,
  withSnapshot,
} from './instance.js';

/** Asserts that an adapter serves the given version completely. */
export const serves = (opened: Pick<Opened, 'adapter'>, version: string, created: string): Promise<void> =>
  withSnapshot(opened, async (snapshot) => {
    const rule = 'the other adapter to have the dataset as it was published';
    sameValue(about(snapshot), aboutDataset(version, created), rule);
    const documents = itemsIn(version);
    sameList(await find(snapshot, items), documents, 'the other adapter to find what was published');
    for (const id of ['i01', 'i02', 'i99']) {
      const found = (await snapshot.get('items', [id])) ?? undefined;
      sameValue(
        found,
        documents.find((item) => item['id'] === id),
        `get("items", ["${id}"]) of the other adapter`,
      );
    }
  });

export const describeInstances = (target: AdapterUnderTest): void => {
  const { publish, versions } = target.capabilities;
  const alone = standsAlone(target);
  const silent = alone || cannotChange(target) || isUnnoticed(target);
  const publishes = alone || without(target, 'publish');
  const withVersions = publishes || without(target, 'versions');

  const test = testsOverStore(target);

  describe('another adapter over the same store', () => {
    test(alone, 'finds the whole dataset that was published', async (instance) =>
      serves(await instance.another(), FIRST, FIRST_CREATED),
    );

    test(alone, 'finds what was published after every adapter was closed', async (instance) => {
      if (publish) await instance.adapter.publish!(anotherDataset());
      await instance.adapter.close();
      const [version, created] = publish ? ([SECOND, SECOND_CREATED] as const) : ([FIRST, FIRST_CREATED] as const);
      await serves(await instance.another(), version, created);
    });

    test(alone, 'is not affected when the first one is closed', async (instance) => {
      const other = await instance.another();
      await withSnapshot(other, async (held) => {
        await instance.adapter.close();
        sameItems(await find(held, items), rows['items']!);
      });
      await other.adapter.ping();
      await serves(other, FIRST, FIRST_CREATED);
    });

    test(
      silent,
      'notices what the first one publishes, calls changed(), and keeps its snapshots readable',
      async (instance) => {
        const other = await instance.another();
        await withSnapshot(other, async (held) => {
          const before = other.changes.length;
          await makeCurrent(target, instance, anotherDataset());
          await isCurrent(other, SECOND);
          await serves(other, SECOND, SECOND_CREATED);
          sameItems(await find(held, items), rows['items']!);
          await changedTo(SECOND, other, before);
        });
      },
    );

    test(silent, 'notices each of several publications', async (instance) => {
      const other = await instance.another();
      for (const [version, created] of [
        [SECOND, SECOND_CREATED],
        [THIRD, THIRD_CREATED],
      ] as const) {
        await makeCurrent(target, instance, anotherDataset(version, created));
        await isCurrent(other, version);
        await serves(other, version, created);
      }
    });

    test(publishes || silent, 'publishes after the first one, which notices it', async (instance) => {
      const other = await instance.another();
      await instance.adapter.publish!(anotherDataset());
      await isCurrent(other, SECOND);
      await failsWith('conflict', () => other.adapter.publish!(datasetOf(SECOND, THIRD_CREATED)));
      await other.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await serves(other, THIRD, THIRD_CREATED);
      await isCurrent(instance, THIRD);
      await serves(instance, THIRD, THIRD_CREATED);
      if (!versions) return;
      for (const { adapter } of [instance, other]) {
        const listed = (await adapter.versions!.list()).map(({ version }) => version);
        sameList(listed, [THIRD, SECOND, FIRST], 'list() to have the publications of both');
      }
    });

    test(publishes, 'finds nothing of a publication that is in progress or that failed', async (instance) => {
      const dataset = anotherDataset();
      let seen = 0;
      const broken = instance.adapter.publish!({
        ...dataset,
        async *read(collection) {
          yield* dataset.read(collection);
          if (seen++ === 0) await serves(await instance.another(), FIRST, FIRST_CREATED);
          if (collection === 'crowd') throw new Error('the file ends too early');
        },
      });
      const error = await failsWith('invalid_dataset', () => broken);
      // The cause is the error that the first collection threw.
      sameValue(
        (error.cause as Error)?.message,
        'the file ends too early',
        'another adapter to serve the current version',
      );
      await serves(await instance.another(), FIRST, FIRST_CREATED);
      await instance.adapter.publish!(anotherDataset());
      await serves(await instance.another(), SECOND, SECOND_CREATED);
    });

    test(publishes, 'that publishes at the same time leaves a complete version', async (instance) => {
      const other = await instance.another();
      const created = { left: '2024-05-01T00:00:00Z', right: '2024-06-01T00:00:00Z' };
      const settled = await Promise.allSettled([
        instance.adapter.publish!(anotherDataset('left', created.left)),
        other.adapter.publish!(anotherDataset('right', created.right)),
      ]);
      for (const each of settled) {
        if (each.status === 'rejected') assert(each.reason instanceof StorageError, `got ${each.reason}`);
      }
      const published = (['left', 'right'] as const).filter((_, i) => settled[i]!.status === 'fulfilled');
      const last = await instance.another();
      const version = versionOf(last.adapter);
      const whole: readonly string[] = published.length > 0 ? published : [FIRST];
      assert(whole.includes(version), `expected the version ${whole.join(' or ')} to be current, found ${version}`);
      if (version === FIRST) return serves(last, FIRST, FIRST_CREATED);
      await hasItems(last, itemsOf(version));
    });

    test(withVersions, 'lists all versions, reads them as of their times, and deletes them', async (instance) => {
      await instance.adapter.publish!(anotherDataset());
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await instance.adapter.versions!.activate(SECOND);
      const other = await instance.another();
      await instance.adapter.close();
      sameList(await listOf(other), listWith(SECOND), 'list() of another adapter');
      hasVersion(other, SECOND);
      const times = [FIRST_CREATED, SECOND_CREATED, '2024-03-01T23:59:59.998Z', THIRD_CREATED, Date.now() + 5000];
      const current = await Promise.all(times.map((time) => versionAsOf(other, time)));
      sameList(current, [FIRST, SECOND, SECOND, THIRD, SECOND], 'asOf() of another adapter, after activate()');
      await failsWith('conflict', () => other.adapter.publish!(anotherDataset(FIRST, '2024-04-01T00:00:00Z')));
      sameList([...(await other.adapter.versions!.prune(1))].sort(), [FIRST], 'prune(1) of another adapter');
      await other.adapter.versions!.activate(THIRD);
      hasVersion(other, THIRD);
    });

    test(withVersions || silent, 'notices what the first one activates', async (instance) => {
      await instance.adapter.publish!(anotherDataset());
      const other = await instance.another();
      const before = other.changes.length;
      await instance.adapter.versions!.activate(FIRST);
      await isCurrent(other, FIRST);
      await eventually('changed() is called', () => other.changes.length > before, 2000);
      await hasItems(other, rows['items']!);
    });

    test(publishes, 'finds all documents of a large collection', async (instance) => {
      await instance.adapter.publish!(datasetOf(SECOND, SECOND_CREATED, rowsWithCrowd()));
      await withSnapshot(await instance.another(), async (snapshot) => {
        sameList(
          await find(snapshot, crowd),
          rowsWithCrowd()['crowd']!,
          'another adapter to find all that was published',
        );
      });
    });
  });
};
