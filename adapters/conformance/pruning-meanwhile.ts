/** Tests that `prune()` and concurrent calls do not affect each other. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameList, sameValue } from './expect.js';
import { sizesOf } from './files.js';
import { anotherDataset, FIRST, FIRST_CREATED, itemsIn, rows, SECOND, SECOND_CREATED, THIRD } from './fixture.js';
import { beginToPublish, hasItems, hasVersion, type Instance, namesOf, readsItems, startInstance } from './instance.js';
import { DAY_MS } from './times.js';
import { versionTests } from './versions.js';

/** After this time in milliseconds, a deletion counts as waiting for a publication. */
const WAITING_MS = 50;
/** Number of publications between the first and the second count of files. */
const ROUNDS = 6;
/** A new file of at least this size in bytes counts as a file with rows. Smaller files can belong to an audit log. */
const FILE_OF_ROWS = 4096;
/** Time in milliseconds after `prune()` by which the files of deleted versions must be removed. */
const DELETE_MS = 5000;

/** The delays of `activate()` and `prune()`, in milliseconds. */
const DELAYS = { 'at the same time': [0, 0], 'a moment earlier': [0, 2], 'a moment later': [2, 0] } as const;

/** Two concurrent calls can both reject with a conflict. */
const isRejected = ({ status }: PromiseSettledResult<unknown>): boolean => status === 'rejected';

/** Calls `work` directly if `ms` is 0, because Node would run a timer of 0 ms after 1 ms. */
const delayed = <T>(ms: number, work: () => Promise<T>): Promise<T> => (ms === 0 ? work() : delay(ms).then(work));

export const describePruningMeanwhile = (target: AdapterUnderTest): void => {
  const { testOfThree } = versionTests(target);

  describe('versions', () => {
    for (const [when, [activateMs, pruneMs]] of Object.entries(DELAYS)) {
      testOfThree(`prune() keeps a version that is activated ${when}`, async (instance) => {
        const versions = instance.adapter.versions!;
        const activation = delayed(activateMs, () => versions.activate(FIRST));
        const pruning = delayed(pruneMs, () => versions.prune(1));
        const [pruned, activated] = await Promise.allSettled([pruning, activation]);
        if (activated.status === 'rejected') {
          await failsWith(['unknown_version', 'conflict'], () => Promise.reject(activated.reason));
          return hasVersion(instance, THIRD);
        }
        const deleted = pruned.status === 'fulfilled' ? pruned.value : [];
        isEmpty(
          deleted.filter((version) => version === FIRST),
          'prune(1) to keep the activated version',
        );
        hasVersion(instance, FIRST);
        sameValue((await namesOf(instance)).includes(FIRST), true, 'list() to include the current version');
        await hasItems(instance, rows['items']!);
      });
    }

    testOfThree('activate() can be called twice at the same time, and calls changed() once', async (instance) => {
      const { adapter, changes } = instance;
      const before = changes.length;
      const activate = () => adapter.versions!.activate(FIRST);
      const settled = await Promise.allSettled([activate(), activate()]);
      for (const each of settled) {
        if (each.status === 'rejected') await failsWith('conflict', () => Promise.reject(each.reason));
      }
      if (settled.every(isRejected)) await activate();
      hasVersion(instance, FIRST);
      sameList(changes.slice(before), [FIRST], 'one call of changed() for two activations of a version');
    });

    testOfThree('prune() can be called twice at the same time', async ({ adapter }) => {
      const prune = () => adapter.versions!.prune(1);
      const settled = await Promise.allSettled([prune(), prune()]);
      const deleted = new Set<string>();
      for (const each of settled) {
        if (each.status === 'rejected') await failsWith('conflict', () => Promise.reject(each.reason));
        else for (const version of each.value) deleted.add(version);
      }
      if (settled.every(isRejected)) for (const version of await prune()) deleted.add(version);
      sameList([...deleted].sort(), [FIRST, SECOND], 'two calls of prune(1) to delete the older versions');
      sameList(await namesOf({ adapter }), [THIRD], 'list() to return the newest version');
    });

    testOfThree('prune() at the same time as asOf() keeps the version that asOf() returns', async ({ adapter }) => {
      const versions = adapter.versions!;
      const isWhole = async (reading: Promise<Snapshot | undefined>, pruning: Promise<unknown>) => {
        const [settled] = await Promise.allSettled([reading, pruning]);
        if (settled.status === 'rejected') {
          await failsWith('conflict', () => reading);
          return;
        }
        const snapshot = settled.value;
        if (!snapshot) return;
        await readsItems(snapshot, itemsIn(snapshot.version));
        const isListed = (await namesOf({ adapter })).includes(snapshot.version);
        sameValue(isListed, true, 'prune() not to delete a version of which asOf() has returned a snapshot');
        snapshot.release();
      };
      // `prune(2)` deletes the first version, and `prune(1)` the second one.
      await isWhole(versions.asOf(new Date(FIRST_CREATED)), versions.prune(2));
      const pruning = versions.prune(1);
      await isWhole(versions.asOf(new Date(SECOND_CREATED)), pruning);
    });

    testOfThree('prune() keeps a version of which changed() has taken a snapshot', async (instance) => {
      const { adapter, listeners } = instance;
      const held: Snapshot[] = [];
      listeners.push(() => held.push(adapter.snapshot()));
      await adapter.versions!.activate(SECOND);
      await adapter.versions!.activate(THIRD);
      listeners.length = 0;
      const deleted = await adapter.versions!.prune(0);
      sameValue(deleted.includes(SECOND), false, 'prune(0) to keep a version that is in use');
      await readsItems(held[0]!, itemsIn(SECOND));
      for (const snapshot of held) snapshot.release();
    });

    testOfThree('prune() keeps a held version even if the clock jumps', async (instance) => {
      const held = (await instance.adapter.versions!.asOf(new Date(FIRST_CREATED)))!;
      for (const days of [1, 400, -400]) {
        instance.clock.offset = days * DAY_MS;
        await instance.adapter.versions!.prune(0);
        sameValue((await namesOf(instance)).includes(FIRST), true, 'prune(0) to keep the held version');
      }
      await readsItems(held, rows['items']!);
      held.release();
    });

    testOfThree('prune() deletes the files of each deleted version', async ({ adapter, folder }) => {
      let published = 0;
      const publishAndPrune = async (times: number) => {
        for (let i = 0; i < times; i++) {
          const created = new Date(Date.UTC(2025, 0, ++published)).toISOString();
          await adapter.publish!(anotherDataset(`v-${published}`, created));
          await adapter.versions!.prune(0);
        }
      };
      const files = async () => [...(await sizesOf(folder)).values()].filter((size) => size >= FILE_OF_ROWS).length;
      await publishAndPrune(2);
      const before = await files();
      await publishAndPrune(ROUNDS);
      let after = await files();
      const isDeleted = async () => {
        after = await files();
        return after < before + ROUNDS;
      };
      await eventually('prune() deletes files', isDeleted, DELETE_MS).catch(() => {});
      assert(
        after < before + ROUNDS,
        `expected about ${before} files after ${ROUNDS} more publications, found ${after}`,
      );
    });

    testOfThree('prune() does not count a publication that is in progress', async (instance) => {
      const { publication, resume } = await beginToPublish(instance.adapter, anotherDataset('fourth'));
      const pruning = Promise.allSettled([instance.adapter.versions!.prune(3)]);
      const early = await Promise.race([pruning, delay(WAITING_MS, undefined)]);
      resume();
      await Promise.allSettled([publication, pruning]);
      if (early?.[0].status === 'fulfilled') isEmpty(early[0].value, 'prune(3) to keep all three versions');
    });
  });

  describe('during a publication', () => {
    testOfThree('another store can be published to, activated and pruned', async ({ adapter, changes }) => {
      const { publication, resume } = await beginToPublish(adapter, anotherDataset('fourth'));
      let other: Instance | undefined;
      try {
        other = await startInstance(target);
        const before = changes.length;
        await other.adapter.publish!(anotherDataset());
        await other.adapter.versions!.activate(FIRST);
        sameList(await other.adapter.versions!.prune(0), [SECOND], 'prune(0) to delete a version of the other store');
        await hasItems(other, rows['items']!);
        isEmpty(changes.slice(before), 'changed() not to be called for changes of the other store');
      } finally {
        resume();
        await publication.catch(() => {});
        await other?.stop();
      }
    });
  });
};
