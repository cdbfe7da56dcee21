/** Tests that a store keeps everything after all its adapters were closed. */
import assert from 'node:assert/strict';
import type { Document } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import {
  aboutDataset,
  allCollections,
  allRows,
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
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
  hasItems,
  hasVersion,
  type Instance,
  listOf,
  type Opened,
  publicationTime,
  publishTwo,
  readsItems,
  startInstance,
  versionAsOf,
  withSnapshot,
} from './instance.js';
import { serves } from './instances.js';
import { itUnless, standsAlone, without } from './obstacles.js';
import { zeros } from './rows.js';
import { testsOverStore } from './tests-over.js';

const shown = (time: number): string => new Date(time).toISOString();

/** Names and times of creation. Each time is not later than `before`, the time of the version before. */
const OLDER: readonly (readonly [string, (before: number) => string])[] = [
  ['same-age', shown],
  ['older', () => '2023-01-01T00:00:00Z'],
  ['a-millisecond-older', (before) => shown(before - 1)],
  ['between', (before) => shown(before - 2000)],
];

export const describeReopening = (target: AdapterUnderTest): void => {
  const alone = standsAlone(target);
  const publishes = alone || without(target, 'publish');
  const test = testsOverStore(target);

  /** Defines a test that reopens a store with three versions. The second version is current. */
  const testReopened = (
    title: string,
    body: (opened: Opened, activatedAt: Date, instance: Instance) => Promise<void>,
  ) =>
    test(publishes || without(target, 'versions'), title, async (instance) => {
      const { adapter } = instance;
      await publishTwo(instance);
      await adapter.versions!.activate(SECOND);
      const snapshot = adapter.snapshot();
      // The snapshot is deliberately not released, because closing an adapter must release all its versions.
      await adapter.close();
      await body(await instance.another(), snapshot.publishedAt, instance);
    });

  describe('after every adapter was closed', () => {
    test(alone, 'the current version is the one that was published last', async (instance) => {
      if (target.capabilities.publish) await instance.adapter.publish!(anotherDataset());
      await instance.adapter.close();
      const opened = await instance.another();
      if (target.capabilities.publish) await serves(opened, SECOND, SECOND_CREATED);
      else await serves(opened, FIRST, FIRST_CREATED);
    });

    itUnless(alone, 'all values are returned as they were published', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, allRows()), allCollections);
      try {
        await instance.adapter.close();
        await withSnapshot(await instance.another(), async (snapshot) => {
          for (const collection of allCollections.values()) {
            const found = await find(snapshot, collection);
            const expected = allRows()[collection.name]!;
            // A store can return -0 as 0, so the document with zeros is not compared.
            const comparable = (documents: readonly Document[]) =>
              documents.filter((document) => document['id'] !== zeros['id']);
            sameList(comparable(found), comparable(expected), `the documents of "${collection.name}" after reopening`);
          }
        });
      } finally {
        await instance.stop();
      }
    });

    test(
      publishes,
      'the time of the current version is unchanged, even if it came from the clock',
      async (instance) => {
        let opened: Opened = instance;
        for (const [version, created] of OLDER) {
          const before = publicationTime(opened);
          await opened.adapter.publish!(anotherDataset(version, created(before)));
          const time = publicationTime(opened);
          assert(time > before, `expected publishedAt after ${shown(before)}, found ${shown(time)}`);
          await opened.adapter.close();
          opened = await instance.another();
          sameValue(shown(publicationTime(opened)), shown(time), `publishedAt of "${version}" after reopening`);
        }
      },
    );

    testReopened(
      'the current version is the one that was activated last, with its time',
      async (opened, activatedAt) => {
        hasVersion(opened, SECOND);
        await hasItems(opened, itemsOf(SECOND));
        sameValue(opened.adapter.snapshot().publishedAt, activatedAt, 'publishedAt to be the time of the activation');
      },
    );

    testReopened('list() returns every version in the order of publication, with its time', async (opened) =>
      sameList(await listOf(opened), listWith(SECOND), 'list() to return what it returned before'),
    );

    testReopened('asOf() returns what was current at every time, with all rows', async ({ adapter }, activatedAt) => {
      for (const [time, version, created] of [
        [FIRST_CREATED, FIRST, FIRST_CREATED],
        [SECOND_CREATED, SECOND, SECOND_CREATED],
        [THIRD_CREATED, THIRD, THIRD_CREATED],
        [+activatedAt - 1, THIRD, THIRD_CREATED],
        [+activatedAt, SECOND, SECOND_CREATED],
      ] as const) {
        const snapshot = await adapter.versions!.asOf(new Date(time));
        assert(snapshot, `expected asOf(${new Date(time).toISOString()}) to return ${version}, found undefined`);
        const publishedAt = time === +activatedAt ? activatedAt : new Date(created);
        sameValue(about(snapshot), { ...aboutDataset(version, created), publishedAt }, `the version of ${time}`);
        await readsItems(snapshot, itemsIn(version));
        snapshot.release();
      }
    });

    testReopened('activate() makes any version current, with all rows', async (opened) => {
      for (const version of [FIRST, THIRD, SECOND]) {
        await opened.adapter.versions!.activate(version);
        hasVersion(opened, version);
        await hasItems(opened, itemsIn(version));
      }
    });

    testReopened('the names of all versions are in use', async ({ adapter }) => {
      for (const version of [FIRST, SECOND, THIRD]) {
        const other = { ...rows, items: itemsOf('other') };
        await failsWith('conflict', () => adapter.publish!(datasetOf(version, '2024-05-01T00:00:00Z', other)));
      }
    });

    testReopened('deleted versions stay deleted, and nothing is held', async (opened, _activatedAt, instance) => {
      sameList(
        [...(await opened.adapter.versions!.prune(0))].sort(),
        [FIRST, THIRD].sort(),
        'prune(0) to delete two versions',
      );
      await opened.adapter.close();
      const again = await instance.another();
      sameList(await listOf(again), listWith(SECOND).slice(1, 2), 'list() to return the version that was kept');
      sameValue(await versionAsOf(again, FIRST_CREATED), undefined, 'asOf() to find no deleted version');
      await failsWith('unknown_version', () => again.adapter.versions!.activate(FIRST));
    });

    test(publishes, 'the store can be opened and published to any number of times', async (instance) => {
      let { adapter } = instance;
      for (const month of ['02', '03', '04']) {
        await adapter.close();
        ({ adapter } = await instance.another());
        await adapter.publish!(anotherDataset(`v-${month}`, `2024-${month}-01T00:00:00Z`));
      }
      await hasItems({ adapter }, itemsOf('v-04'));
    });

    test(publishes, 'a failed publication has left nothing', async (instance) => {
      const whole = anotherDataset();
      const read = async function* (name: string) {
        yield* whole.read(name);
        throw new Error('the file ends too early');
      };
      await instance.adapter.publish!({ ...whole, read }).catch(() => {});
      await instance.adapter.close();
      const opened = await instance.another();
      await serves(opened, FIRST, FIRST_CREATED);
      await opened.adapter.publish!(anotherDataset());
      await serves(opened, SECOND, SECOND_CREATED);
    });
  });
};
