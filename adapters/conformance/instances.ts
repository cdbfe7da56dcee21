import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import {
  aboutDataset,
  anotherDataset,
  collections,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH_CREATED,
  items,
  itemsIn,
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
  beginToPublish,
  changedTo,
  followMs,
  hasItems,
  hasRows,
  hasVersion,
  isCurrent,
  listOf,
  makeIn,
  type Opened,
  publishTwo,
  readsItems,
  versionAsOf,
  withSnapshot,
} from './instance.js';
import { CLOSE_MS } from './lifecycle.js';
import { isExclusive, isUnnoticed, standsAlone, without, withoutBreak } from './obstacles.js';
import { testsOverStore } from './tests-over.js';
import { patiently } from './time-limits.js';

export const serves = (opened: Pick<Opened, 'adapter'>, version: string, created: string): Promise<void> =>
  withSnapshot(opened, async (snapshot) => {
    const rule = 'the other adapter to have the dataset as it was published';
    sameValue(about(snapshot), aboutDataset(version, created), rule);
    await readsItems(snapshot, itemsIn(version));
    sameList(await find(snapshot, items), itemsIn(version), 'the other adapter to find what was published');
  });

export const describeInstances = (target: AdapterUnderTest): void => {
  const alone = standsAlone(target);
  const publishes = alone || without(target, 'publish');
  const withVersions = publishes || without(target, 'versions');

  const test = testsOverStore(target);

  describe('another adapter over the same store', () => {
    test(alone, 'finds the whole dataset that was published', async (instance) =>
      serves(await instance.another(), FIRST, FIRST_CREATED),
    );

    test(alone, 'finds the whole dataset, whatever the order of its collections', async (instance) => {
      if (target.capabilities.exclusive) await instance.adapter.close();
      const reversed = new Map([...collections].reverse());
      const other = await makeIn(instance.folder, reversed, (context) => target.createEmpty!(context), instance.clock);
      try {
        await other.adapter.open();
        await hasRows(other, rows, 'the store, with its collections in another order');
      } finally {
        await other.adapter.close();
      }
    });

    test(isExclusive(target), 'is not affected when the first one is closed', async (instance) => {
      const other = await instance.another();
      await withSnapshot(other, async (held) => {
        for (const _ of [1, 2]) await instance.adapter.close();
        await readsItems(held, rows['items']!);
      });
      await other.adapter.ping();
      await serves(other, FIRST, FIRST_CREATED);
      if (isUnnoticed(target) || !target.capabilities.publish) return;
      const before = other.changes.length;
      await (await instance.another()).adapter.publish!(anotherDataset());
      await changedTo(target, [SECOND], other, before);
    });

    test(
      withVersions || isUnnoticed(target),
      'notices activations that follow each other without a pause',
      async (instance) => {
        await publishTwo(instance);
        // The other adapter starts with the third version. Activating the first or second version is therefore a change
        // for it.
        const other = await instance.another();
        const before = other.changes.length;
        let count = 0;
        const isNoticed = async () => {
          await instance.adapter.versions!.activate(count++ % 2 ? SECOND : FIRST);
          return other.changes.length > before;
        };
        await eventually('changed() is called', isNoticed, followMs(target));
      },
    );

    const exclusive = alone || (!target.capabilities.exclusive && 'the store is not exclusive');
    test(
      exclusive,
      'cannot open an exclusive store, and can open it when the first one is closed',
      async (instance) => {
        const second = await instance.make();
        const [settled] = await Promise.allSettled([second.adapter.open()]);
        // Some stores are exclusive to a process rather than to an adapter, so opening the store again may succeed.
        if (settled?.status === 'rejected') {
          await failsWith(['unavailable', 'conflict'], () => Promise.reject(settled.reason));
        }
        await second.adapter.close();
        const third = await instance.make();
        if (settled?.status === 'rejected') {
          await failsWith(['unavailable', 'conflict'], () => third.adapter.open());
        }
        await serves(instance, FIRST, FIRST_CREATED);
        await instance.adapter.close();
        // An adapter can be opened after an earlier `open()` has rejected.
        await third.adapter.open();
        await serves(third, FIRST, FIRST_CREATED);
        await serves(await instance.another(), FIRST, FIRST_CREATED);
      },
    );

    test(exclusive, 'can open an exclusive store after one that was closed while it was opening', async (instance) => {
      await instance.adapter.close();
      for (const wait of [async () => {}, () => new Promise(setImmediate), () => delay(2)]) {
        const brief = await instance.make();
        const opening = Promise.allSettled([brief.adapter.open()]);
        await wait();
        await brief.adapter.close();
        await opening;
        // The test does not call `another()`, which would close the first adapter a second time. A second close() might
        // release the lock.
        const next = await instance.make();
        await next.adapter.open();
        await serves(next, FIRST, FIRST_CREATED);
        await next.adapter.close();
      }
    });

    test(
      exclusive || publishes,
      'can open an exclusive store after one that was closed during a publication, with snapshots in use',
      async (instance) => {
        const { adapter } = instance;
        const held = [adapter.snapshot(), await adapter.versions?.asOf(new Date(FIRST_CREATED))];
        const { publication, resume } = await beginToPublish(adapter);
        const settling = Promise.allSettled([publication]);
        const closing = adapter.close();
        await Promise.race([closing, delay(CLOSE_MS)]);
        resume();
        const [settled] = await settling;
        await closing;
        const next = await instance.make();
        await next.adapter.open();
        const isPublished = settled.status === 'fulfilled';
        await serves(next, isPublished ? SECOND : FIRST, isPublished ? SECOND_CREATED : FIRST_CREATED);
        for (const snapshot of held) snapshot?.release();
        await next.adapter.close();
      },
    );

    test(
      publishes || isExclusive(target),
      'finds nothing of a publication that is in progress or that failed',
      async (instance) => {
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
        // If the other adapter serves the unfinished publication, `serves` throws an assertion error. The cause is then
        // this error.
        sameValue(
          (error.cause as Error)?.message,
          'the file ends too early',
          'another adapter to serve the current version',
        );
        await serves(await instance.another(), FIRST, FIRST_CREATED);
        await instance.adapter.publish!(anotherDataset());
        await serves(await instance.another(), SECOND, SECOND_CREATED);
      },
    );

    test(withVersions, 'lists all versions, reads them as of their times, and deletes them', async (instance) => {
      await publishTwo(instance);
      await instance.adapter.versions!.activate(SECOND);
      const other = await instance.another();
      await instance.adapter.close();
      sameList(await listOf(other), listWith(SECOND), 'list() of another adapter');
      hasVersion(other, SECOND);
      const times = [FIRST_CREATED, SECOND_CREATED, '2024-03-01T23:59:59.998Z', THIRD_CREATED, Date.now() + 5000];
      const current = await Promise.all(times.map((time) => versionAsOf(other, time)));
      sameList(current, [FIRST, SECOND, SECOND, THIRD, SECOND], 'asOf() of another adapter, after activate()');
      await failsWith('conflict', () => other.adapter.publish!(anotherDataset(FIRST, FOURTH_CREATED)));
      sameList([...(await other.adapter.versions!.prune(1))].sort(), [FIRST], 'prune(1) of another adapter');
      await other.adapter.versions!.activate(THIRD);
      hasVersion(other, THIRD);
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

    test(
      publishes || isExclusive(target),
      'publishes at the same moment as the first one: each succeeds or is rejected with conflict',
      async (instance) => {
        const other = await instance.another();
        for (let i = 1; i <= 3; i++) {
          const created = new Date(Date.parse(FIRST_CREATED) + i * 1000).toISOString();
          const outcomes = await Promise.allSettled([
            instance.adapter.publish!(anotherDataset(`left-${i}`, created)),
            other.adapter.publish!(anotherDataset(`right-${i}`, created)),
          ]);
          const published = [`left-${i}`, `right-${i}`].filter((_name, j) => outcomes[j]!.status === 'fulfilled');
          for (const outcome of outcomes) {
            if (outcome.status === 'rejected') await failsWith('conflict', () => Promise.reject(outcome.reason));
          }
          await withSnapshot(await instance.another(), async (snapshot) => {
            sameValue(published.includes(snapshot.version), true, `one of ${published} to be current`);
            await readsItems(snapshot, itemsIn(snapshot.version));
          });
        }
      },
    );

    test(
      publishes || isUnnoticed(target) || withoutBreak(target),
      'is followed by the first one after an outage of its backend',
      async (instance) => {
        const other = await instance.another();
        await target.breakBackend!(instance.adapter);
        await patiently(() => instance.adapter.ping()).catch(() => {});
        // Most adapters in tests poll at least once during this delay.
        await delay(100);
        await target.repairBackend!(instance.adapter);
        const isReachable = () =>
          Promise.all([instance.adapter.ping(), other.adapter.ping()]).then(
            () => true,
            () => false,
          );
        await eventually('ping() resolves after the outage', isReachable, 20_000);
        await other.adapter.publish!(anotherDataset());
        await isCurrent(target, instance, SECOND);
        await hasItems(instance, itemsIn(SECOND));
      },
    );
  });
};
