/** Tests that an open adapter notices what other adapters in the same process publish and activate. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  brokenDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH,
  FOURTH_CREATED,
  items,
  listWith,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  changedTo,
  followMs,
  hasItems,
  type Instance,
  isCurrent,
  listOf,
  makeCurrent,
  namesOf,
  pruned,
  publicationTime,
  readsItems,
  versionAsOf,
  withSnapshot,
} from './instance.js';
import { serves } from './instances.js';
import { cannotChange, isUnnoticed, type Obstacle, without } from './obstacles.js';
import { testsOfEmpty, testsOver, testsOverStore } from './tests-over.js';

const noop = () => {};
const NEXT = [
  [SECOND, SECOND_CREATED],
  [THIRD, THIRD_CREATED],
  [FOURTH, FOURTH_CREATED],
] as const;

export const describeFollowing = (target: AdapterUnderTest): void => {
  const silent = isUnnoticed(target) || cannotChange(target);
  const publishes = silent || without(target, 'publish');
  const versions = publishes || without(target, 'versions');
  const test = testsOverStore(target);
  const publish = ({ adapter }: Pick<Instance, 'adapter'>, version: string, created: string) =>
    adapter.publish!(anotherDataset(version, created));

  describe('another adapter over the same store', () => {
    test(silent, 'notices what the first one publishes, even if none of its methods are called', async (instance) => {
      const other = await instance.another();
      const before = other.changes.length;
      for (const [i, [version, created]] of NEXT.slice(0, 2).entries()) {
        await makeCurrent(target, instance, anotherDataset(version, created));
        await changedTo(target, [SECOND, THIRD].slice(0, i + 1), other, before);
        await serves(other, version, created);
      }
    });

    test(
      silent,
      'notices what the first one publishes, calls changed(), and keeps its snapshots readable',
      async (instance) => {
        const other = await instance.another();
        await withSnapshot(other, async (held) => {
          const before = other.changes.length;
          const reading = held.find('items', { order: items.key })[Symbol.asyncIterator]();
          await reading.next();
          await makeCurrent(target, instance, anotherDataset());
          await isCurrent(target, other, SECOND);
          await reading.return?.();
          await serves(other, SECOND, SECOND_CREATED);
          await readsItems(held, rows['items']!);
          await changedTo(target, [SECOND], other, before);
        });
      },
    );

    test(publishes, 'publishes after the first one, and each of them notices the other', async (instance) => {
      const other = await instance.another();
      await publish(instance, SECOND, SECOND_CREATED);
      await isCurrent(target, other, SECOND);
      await failsWith('conflict', () => other.adapter.publish!(datasetOf(SECOND, THIRD_CREATED)));
      const [mine, theirs] = [instance.changes.length, other.changes.length];
      await publish(other, THIRD, THIRD_CREATED);
      await changedTo(target, [THIRD], instance, mine);
      await publish(instance, FOURTH, FOURTH_CREATED);
      await changedTo(target, [THIRD, FOURTH], other, theirs);
      await serves(other, FOURTH, FOURTH_CREATED);
    });

    test(
      publishes,
      'calls changed() at most once for each version, even if several follow quickly',
      async (instance) => {
        const other = await instance.another();
        const before = other.changes.length;
        for (const [version, created] of NEXT) await publish(instance, version, created);
        await isCurrent(target, other, FOURTH);
        await eventually('changed() is called', () => other.changes.at(-1) === FOURTH, followMs(target));
        await delay(50);
        const calls = other.changes.slice(before);
        const expected = NEXT.flatMap(([version]) => (calls.includes(version) ? version : []));
        sameList(calls, expected, 'one call of changed() for each version that snapshot() has returned');
      },
    );

    test(publishes, 'notices a publication after one of its own has failed', async (instance) => {
      const other = await instance.another();
      const before = other.changes.length;
      await other.adapter.publish!(brokenDataset(new Error('the file ends too early'), 'own-1')).catch(noop);
      const signal = AbortSignal.abort();
      await other.adapter.publish!(anotherDataset('own-2'), { signal }).catch(noop);
      await publish(instance, SECOND, SECOND_CREATED);
      await changedTo(target, [SECOND], other, before);
    });

    test(versions, 'notices what the first one activates', async (instance) => {
      await publish(instance, SECOND, SECOND_CREATED);
      const other = await instance.another();
      const before = other.changes.length;
      await instance.adapter.versions!.activate(FIRST);
      await changedTo(target, [FIRST], other, before);
      await hasItems(other, rows['items']!);
      await instance.adapter.versions!.activate(SECOND);
      await changedTo(target, [FIRST, SECOND], other, before);
    });

    test(versions, 'notices an activation during a publication of its own that fails', async (instance) => {
      await publish(instance, SECOND, SECOND_CREATED);
      const other = await instance.another();
      const before = other.changes.length;
      let activation: Promise<unknown> | undefined;
      const activate = async () => {
        activation ??= instance.adapter.versions!.activate(FIRST).catch(() => 'rejected');
        // If the store allows only one writer, the activation waits until the publication has ended.
        await Promise.race([activation, delay(200)]);
      };
      const broken = brokenDataset(new Error('the file ends too early'), 'own-1', activate);
      await other.adapter.publish!(broken).catch(noop);
      if ((await activation) === 'rejected') await instance.adapter.versions!.activate(FIRST);
      await changedTo(target, [FIRST], other, before);
      await hasItems(other, rows['items']!);
    });

    test(
      publishes,
      'does not call changed() for publications of the first one that fail, or for deletions',
      async (instance) => {
        const other = await instance.another();
        const before = other.changes.length;
        await instance.adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(noop);
        await instance.adapter.publish!(anotherDataset(), { signal: AbortSignal.abort() }).catch(noop);
        await instance.adapter.publish!(anotherDataset(FIRST)).catch(noop);
        await publish(instance, SECOND, SECOND_CREATED);
        await changedTo(target, [SECOND], other, before);
        await instance.adapter.versions?.prune(1);
        await publish(instance, THIRD, THIRD_CREATED);
        await changedTo(target, [SECOND, THIRD], other, before);
      },
    );

    test(silent, 'no longer calls changed() after it has been closed', async (instance) => {
      const closed = await instance.another();
      await closed.adapter.close();
      const before = closed.changes.length;
      const open = await instance.another();
      const calls = open.changes.length;
      await makeCurrent(target, instance, anotherDataset());
      await eventually('changed() is called', () => open.changes.length > calls, 5000);
      await makeCurrent(target, instance, anotherDataset(THIRD, THIRD_CREATED));
      await changedTo(target, [SECOND, THIRD], open, calls);
      sameList(closed.changes.slice(before), [], 'no call of changed() after close()');
    });

    test(versions, 'lists and reads the versions that the first one publishes', async (instance) => {
      const other = await instance.another();
      await publish(instance, SECOND, SECOND_CREATED);
      await isCurrent(target, other, SECOND);
      const areListed = async (names: readonly string[]) => {
        for (const opened of [instance, other]) sameList(await namesOf(opened), names, 'list() of both adapters');
      };
      await areListed([SECOND, FIRST]);
      const found = [await versionAsOf(other, SECOND_CREATED), await versionAsOf(other, FIRST_CREATED)];
      sameList(found, [SECOND, FIRST], 'asOf() of the second adapter');
      await publish(other, THIRD, THIRD_CREATED);
      await isCurrent(target, instance, THIRD);
      await areListed([THIRD, SECOND, FIRST]);
    });

    test(versions, 'lists and reads the versions that the first one activates and deletes', async (instance) => {
      const { adapter } = instance;
      await publish(instance, SECOND, SECOND_CREATED);
      await publish(instance, THIRD, THIRD_CREATED);
      const other = await instance.another();
      for (const version of [FIRST, SECOND, THIRD, SECOND]) {
        await adapter.versions!.activate(version);
        const time = publicationTime(instance);
        const isRead = async () =>
          (await versionAsOf(other, time)) === version && (await versionAsOf(other, time - 1)) !== version;
        await eventually(`asOf() of the second adapter returns ${version}`, isRead, followMs(target));
        await isCurrent(target, other, version);
        sameList(await listOf(other), listWith(version), 'list() of the second adapter');
      }
      sameList(await pruned(target, instance, 0, 2), [THIRD, FIRST], 'prune(0) to delete two versions');
      const isDeleted = async () => (await namesOf(other)).join() === SECOND;
      await eventually('list() of the second adapter has no deleted versions', isDeleted, followMs(target));
      sameValue(await versionAsOf(other, FIRST_CREATED), undefined, 'asOf() to find no deleted version');
      await failsWith('unknown_version', () => other.adapter.versions!.activate(FIRST));
    });

    test(versions, 'does not return a deleted version from asOf(), even if it holds the version', async (instance) => {
      const other = await instance.another();
      await withSnapshot(other, async () => {
        await publish(instance, SECOND, SECOND_CREATED);
        await isCurrent(target, other, SECOND);
        if (!(await instance.adapter.versions!.prune(0)).includes(FIRST)) return;
        const isGone = async () => (await versionAsOf(other, FIRST_CREATED)) === undefined;
        await eventually('asOf() finds no deleted version', isGone, followMs(target));
      });
    });

    testsOfEmpty(target, publishes)('notices the first publication in an empty store', async (instance) => {
      await instance.adapter.open();
      const other = await instance.another();
      await instance.adapter.publish!(datasetOf());
      await changedTo(target, [FIRST], other, 0);
    });
  });
};

/** Tests that an adapter also calls `changed()` for its own changes, and at the right time. */
export const describeChanged = (target: AdapterUnderTest): void => {
  const test = (obstacle: Obstacle, title: string, body: (instance: Instance) => Promise<void>) =>
    testsOver(target, obstacle)(title, body);
  const publishes = without(target, 'publish');
  const versions = publishes || without(target, 'versions');

  describe('changed()', () => {
    test(publishes, 'is called once for each publication, when snapshot() already returns it', async (instance) => {
      const before = instance.changes.length;
      await instance.adapter.publish!(anotherDataset());
      sameList(instance.changes.slice(before), [SECOND], 'one call of changed() before publish() resolves');
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await changedTo(target, [SECOND, THIRD], instance, before);
    });

    test(publishes, 'is not called for a publication that fails', async (instance) => {
      const before = instance.changes.length;
      const { adapter } = instance;
      await adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(noop);
      const controller = new AbortController();
      const abort = () => controller.abort();
      const { signal } = controller;
      await adapter.publish!(brokenDataset(new Error('late'), SECOND, abort), { signal }).catch(noop);
      for (const dataset of [anotherDataset(FIRST), datasetOf()]) await adapter.publish!(dataset).catch(noop);
      await adapter.publish!(anotherDataset());
      await changedTo(target, [SECOND], instance, before);
    });

    test(
      versions,
      'is called once for each activation, and not if the version is already current',
      async (instance) => {
        await instance.adapter.publish!(anotherDataset());
        const before = instance.changes.length;
        for (const version of [FIRST, FIRST, SECOND]) await instance.adapter.versions!.activate(version);
        await changedTo(target, [FIRST, SECOND], instance, before);
      },
    );

    test(versions, 'is not called by prune(), list() and asOf()', async (instance) => {
      await instance.adapter.publish!(anotherDataset());
      const before = instance.changes.length;
      await versionAsOf(instance, FIRST_CREATED);
      await instance.adapter.versions!.prune(1);
      await instance.adapter.versions!.list();
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await changedTo(target, [THIRD], instance, before);
    });

    test(false, 'is not called by open(), ping() and close(), nor after them', async ({ adapter, changes }) => {
      const before = changes.length;
      await adapter.open();
      await adapter.ping();
      // Most adapters in tests poll at least once within 100 ms.
      await delay(100);
      await adapter.close();
      await delay(20);
      sameList(changes.slice(before), [], 'no call of changed(), since nothing has changed');
    });
  });
};
