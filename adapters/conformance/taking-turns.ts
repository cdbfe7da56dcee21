/** Tests several adapters that change the same store, one after another or while one of them publishes. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameList, sameValue, within } from './expect.js';
import {
  anotherDataset,
  brokenDataset,
  FIRST,
  FIRST_CREATED,
  FOURTH,
  FOURTH_CREATED,
  itemsOf,
  rows,
  SECOND,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  beginToPublish,
  changedTo,
  followMs,
  hasItems,
  type Instance,
  isCurrent,
  namesOf,
  type Opened,
  pruned,
  readsItems,
  startInstance,
  versionIfAny,
} from './instance.js';
import { isExclusive, isUnnoticed, skip, without } from './obstacles.js';
import { testsOver, testsOverStore } from './tests-over.js';

/** Milliseconds after which a call counts as waiting for a publication. */
const WAIT_MS = 300;

/**
 * Time limit in milliseconds. After a waiting publication is aborted or its adapter is closed, it must reject within
 * this time.
 */
export const ABORT_MS = 5000;

/** Resolves with 'pending' if the promise does not settle within `WAIT_MS`. */
export const settled = (promise: Promise<unknown>) =>
  Promise.race([
    promise.then(
      () => 'fulfilled',
      () => 'rejected',
    ),
    delay(WAIT_MS, 'pending'),
  ]);

/** Operations during a publication that must not unlock the store. */
const MEANWHILE: Readonly<Record<string, (first: StorageAdapter, other: Opened, instance: Instance) => unknown>> = {
  'another adapter is closed': (_first, { adapter }) => adapter.close(),
  'another adapter is opened': (_first, _other, instance) => instance.another(),
  'a publication of another adapter is rejected or waits': (_first, { adapter }) =>
    settled(adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED))),
  'a second publication of its adapter is rejected or waits': (first) =>
    settled(first.publish!(anotherDataset(FOURTH, FOURTH_CREATED))),
  'a publication under an existing name is rejected': (_first, { adapter }) =>
    settled(adapter.publish!(anotherDataset(FIRST, FOURTH_CREATED))),
  'half a second passes': () => delay(500),
  'versions are listed, activated and deleted': (first, { adapter }) =>
    settled(
      Promise.allSettled(
        [first, adapter].flatMap((each) => [
          each.ping(),
          each.versions?.list(),
          each.versions?.activate('missing'),
          each.versions?.prune(100),
        ]),
      ),
    ),
  'an aborted publication is rejected': (_first, { adapter }) =>
    settled(adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED), { signal: AbortSignal.abort() })),
  'a publication that waits is aborted': async (_first, { adapter }) => {
    const controller = new AbortController();
    const next = adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED), { signal: controller.signal });
    await settled(next);
    controller.abort();
    await within('publish() settles after its signal is aborted', Promise.allSettled([next]), ABORT_MS);
  },
};

/** Publications that are rejected, even if no other publication is in progress. */
const REJECTED: readonly ((adapter: StorageAdapter) => Promise<void>)[] = [
  (adapter) => adapter.publish!(anotherDataset(THIRD, THIRD_CREATED), { signal: AbortSignal.abort() }),
  (adapter) => adapter.publish!(anotherDataset(FIRST, FOURTH_CREATED)),
  (adapter) => adapter.publish!(brokenDataset(new Error('the file ends too early'), THIRD)),
];

export const describeTakingTurns = (target: AdapterUnderTest): void => {
  const publishes = isExclusive(target) || without(target, 'publish');
  const versions = publishes || without(target, 'versions');
  const follows = isUnnoticed(target) || publishes;
  const test = testsOverStore(target);

  /**
   * Resolves with true if publications lock the store. Without a lock, two publications may succeed at the same time.
   */
  let locks: Promise<boolean> | undefined;
  const hasLock = async (): Promise<boolean> => {
    const instance = await startInstance(target);
    try {
      const other = await instance.another();
      const { publication, resume } = await beginToPublish(instance.adapter);
      const next = other.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      const outcome = await settled(next);
      resume();
      await Promise.allSettled([publication, next]);
      return outcome !== 'fulfilled';
    } finally {
      await instance.stop();
    }
  };

  const deletesFirst = (instance: Instance): Promise<void> => {
    const isDeleted = async () => {
      await instance.adapter.versions!.prune(1);
      return !(await namesOf(instance)).includes(FIRST);
    };
    return eventually('prune(1) deletes the first version', isDeleted, followMs(target));
  };

  describe('a publication in progress', () => {
    test(publishes, 'succeeds while other adapters are opened, read and closed', async (instance) => {
      const { publication, resume } = await beginToPublish(instance.adapter);
      const settling = Promise.allSettled([publication]);
      for (const _ of [1, 2]) {
        const other = await instance.another();
        await hasItems(other, rows['items']!);
        await other.adapter.close();
      }
      resume();
      const [settled] = await settling;
      if (settled?.status === 'rejected') throw settled.reason;
      await hasItems(instance, itemsOf(SECOND));
    });

    for (const [what, act] of Object.entries(MEANWHILE)) {
      test(publishes, `keeps the store locked when ${what}`, async (instance, running) => {
        locks ??= hasLock();
        if (!(await locks)) skip(running, 'publications do not lock the store');
        const [other, third] = [await instance.another(), await instance.another()];
        const { publication, resume } = await beginToPublish(instance.adapter);
        await act(instance.adapter, other, instance);
        const next = third.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        const outcome = await settled(next);
        resume();
        await publication;
        assert.notEqual(outcome, 'fulfilled', 'expected the next publication to wait, or to be rejected with conflict');
        const [last] = await Promise.allSettled([next]);
        if (last!.status === 'fulfilled') return hasItems(third, itemsOf(THIRD));
        await failsWith('conflict', () => next);
        await hasItems(instance, itemsOf(SECOND));
      });
    }

    testsOver(target, without(target, 'publish'))(
      'keeps its adapter locked when other publications of the adapter were rejected',
      async ({ adapter }) => {
        const { publication, resume } = await beginToPublish(adapter);
        const publish = (version: string) => adapter.publish!(anotherDataset(version, THIRD_CREATED));
        try {
          if ((await settled(publish(THIRD))) !== 'rejected') return;
          // Later rejections can take longer than the first one, so they are not limited to WAIT_MS.
          for (const version of [FOURTH, 'fifth-5']) await failsWith('conflict', () => publish(version));
          for (const reject of REJECTED) {
            await Promise.allSettled([reject(adapter)]);
            await failsWith('conflict', () => publish(FOURTH));
          }
        } finally {
          resume();
          await publication;
        }
      },
    );
  });

  describe('several adapters over the same store', () => {
    test(follows || versions, 'notice a version whose name was used before', async (instance) => {
      const { adapter } = instance;
      const other = await instance.another();
      await adapter.publish!(anotherDataset());
      // The other adapter may keep the version locked until it has noticed the next version.
      await deletesFirst(instance);
      await adapter.publish!(anotherDataset(FIRST, THIRD_CREATED));
      const isServed = () => {
        // Until the other adapter has noticed the new version, its reads of the deleted version may fail.
        if (versionIfAny(other.adapter) !== FIRST) return false;
        const snapshot = other.adapter.snapshot();
        snapshot.release();
        return snapshot.manifest.created === THIRD_CREATED;
      };
      await eventually('the other adapter serves the new version', isServed, followMs(target));
      await hasItems(other, itemsOf(FIRST));
      sameValue(other.changes.at(-1), FIRST, 'the last call of changed() to be for the new version');
    });

    test(follows || versions, 'notice an activation during a publication of their own', async (instance) => {
      await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
      const other = await instance.another();
      const before = other.changes.length;
      const { publication, resume } = await beginToPublish(other.adapter);
      let isActivated = false;
      try {
        const activation = instance.adapter.versions!.activate(FIRST);
        isActivated = (await settled(activation)) === 'fulfilled';
        const isServed = () => versionIfAny(other.adapter) === FIRST && other.changes.length > before;
        if (isActivated) await eventually('the publisher serves the activated version', isServed, followMs(target));
        activation.catch(() => {});
      } finally {
        resume();
        await publication.catch(() => {});
      }
      if (isActivated) sameValue(other.changes[before], FIRST, 'changed() to be called for the activated version');
    });

    test(follows || versions, 'notice changes after they have made changes of their own', async (instance) => {
      const { adapter } = instance;
      const other = await instance.another();
      const own = other.adapter.versions!;
      const rounds = [
        [() => other.adapter.publish!(anotherDataset()), () => own.activate(FIRST)],
        [() => own.prune(1), () => own.activate('missing')],
        [
          () => other.adapter.publish!(brokenDataset(new Error('the file ends too early'), 'broken')),
          () => other.adapter.publish!(anotherDataset(SECOND, FOURTH_CREATED)),
        ],
        [() => other.adapter.open(), async () => (await instance.another()).adapter.close()],
      ];
      for (const [i, acts] of rounds.entries()) {
        for (const act of acts) await act().catch(() => {});
        const created = new Date(Date.UTC(2025, 0, 1 + i)).toISOString();
        const before = other.changes.length;
        await adapter.publish!(anotherDataset(`v-${i}`, created));
        await changedTo(target, [`v-${i}`], other, before);
      }
    });

    test(versions, 'make changes on top of the changes of others that they have not noticed yet', async (instance) => {
      const { adapter } = instance;
      const other = (await instance.another()).adapter;
      await other.publish!(anotherDataset());
      await adapter.versions!.activate(FIRST);
      await other.publish!(anotherDataset(THIRD, THIRD_CREATED));
      await adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED));
      await other.versions!.activate(SECOND);
      sameList(await pruned(target, instance, 2, 1), [FIRST], 'prune(2) to keep the current version');
      for (const opened of [{ adapter }, { adapter: other }, await instance.another()]) {
        await isCurrent(target, opened, SECOND);
        await hasItems(opened, itemsOf(SECOND));
        sameList(await namesOf(opened), [FOURTH, THIRD, SECOND], 'list() to include the versions of both adapters');
      }
      await adapter.publish!(anotherDataset('last', FOURTH_CREATED));
      // An adapter that polls may keep its lock on an earlier version until it detects the last version.
      const held = (await other.versions!.list()).flatMap((each) => (each.held && !each.current ? each.version : []));
      await other.versions!.prune(1);
      const kept = (await namesOf({ adapter: other })).filter((version) => ![SECOND, ...held].includes(version));
      sameList(kept, ['last'], 'prune(1) to count the versions of both adapters');
    });

    test(versions, 'do not keep a version that was held only by an adapter that is closed', async (instance) => {
      const other = await instance.another();
      const held = [other.adapter.snapshot(), await other.adapter.versions!.asOf(new Date(FIRST_CREATED))];
      for (const snapshot of held) await readsItems(snapshot!, rows['items']!);
      await instance.adapter.publish!(anotherDataset());
      await other.adapter.close();
      await deletesFirst(instance);
    });
  });
};
