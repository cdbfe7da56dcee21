/** Tests that an adapter respects a change by another adapter even before it notices the change. */
import assert from 'node:assert/strict';
import type { StorageAdapter } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameList, sameValue } from './expect.js';
import { anotherDataset, datasetOf, FIRST, itemsOf, SECOND, THIRD } from './fixture.js';
import { followMs, hasItems, hasVersion, type Instance, publicationTime, publishTwo, versionAsOf } from './instance.js';
import { isExclusive, without } from './obstacles.js';
import { testsOverStore } from './tests-over.js';
import { DAY_MS } from './times.js';

interface Case {
  readonly title: string;
  /**
   * A change by another adapter. Before the change, the store has three versions, and both adapters serve the third
   * one.
   */
  change(other: StorageAdapter): Promise<unknown>;
  /** Whether the case only publishes, so that it also applies to stores without versions. */
  readonly publishes?: true;
  /** Runs directly after `change`. */
  next(opened: Pick<Instance, 'adapter'>, changed: Instance): Promise<void>;
}

const NEW = 'a-new-one';
const LATER = '2024-06-01T00:00:00Z';
const publishNew = (other: StorageAdapter) => other.publish!(anotherDataset(NEW, '2999-05-01T00:00:00Z'));
const pruneFirst = async (other: StorageAdapter): Promise<void> =>
  sameList(await other.versions!.prune(2), [FIRST], 'prune(2) to delete the first version');

const isLater = async (opened: Pick<Instance, 'adapter'>, time: number, version: string): Promise<void> => {
  const found = publicationTime(opened);
  const [expected, shown] = [new Date(time).toISOString(), new Date(found).toISOString()];
  assert(found > time, `expected publishedAt after ${expected}, found ${shown}`);
  if (!opened.adapter.versions) return;
  sameValue(await versionAsOf(opened, found - 1), version, `asOf() to return ${version} until then`);
};

const publishesLater =
  (previous: string): Case['next'] =>
  async (opened, changed) => {
    const time = publicationTime(changed);
    await opened.adapter.publish!(anotherDataset('older', LATER));
    await isLater(opened, time, previous);
  };

const CASES: readonly Case[] = [
  {
    title: 'activates a version that another adapter has just published',
    async change(other) {
      await publishNew(other);
      await other.versions!.activate(FIRST);
    },
    async next(opened) {
      await opened.adapter.versions!.activate(NEW);
      hasVersion(opened, NEW);
      await hasItems(opened, itemsOf(NEW));
    },
  },
  {
    title: 'rejects a version that another adapter has just published',
    publishes: true,
    change: publishNew,
    next: async ({ adapter }) => void (await failsWith('conflict', () => adapter.publish!(datasetOf(NEW, LATER)))),
  },
  {
    title: 'publishes later than the version that another adapter has just published',
    publishes: true,
    change: publishNew,
    next: publishesLater(NEW),
  },
  {
    title: 'publishes later than the version that another adapter has just activated',
    change: (other) => other.versions!.activate(FIRST),
    next: publishesLater(FIRST),
  },
  {
    title: 'activates later than the version that another adapter has just activated',
    change: (other) => other.versions!.activate(FIRST),
    async next(opened, changed) {
      const time = publicationTime(changed);
      changed.clock.offset -= DAY_MS;
      await opened.adapter.versions!.activate(SECOND);
      await isLater(opened, time, FIRST);
    },
  },
  {
    title: 'does not delete the version that another adapter has just activated',
    change: (other) => other.versions!.activate(FIRST),
    async next(opened, changed) {
      const deleted = await opened.adapter.versions!.prune(0);
      isEmpty(
        deleted.filter((version) => version === FIRST),
        'prune(0) to keep the current version',
      );
      hasVersion(changed, FIRST);
    },
  },
  {
    title: 'counts the version that another adapter has just published',
    change: publishNew,
    async next({ adapter }) {
      const deleted = await adapter.versions!.prune(2);
      const expected = [FIRST, SECOND];
      isEmpty(
        expected.filter((version) => !deleted.includes(version)),
        'prune(2) to keep only the two newest versions',
      );
    },
  },
  {
    title: 'does not activate a version that another adapter has just deleted',
    change: pruneFirst,
    next: async ({ adapter }) => void (await failsWith('unknown_version', () => adapter.versions!.activate(FIRST))),
  },
  {
    title: 'reuses the name of a version that another adapter has just deleted',
    change: pruneFirst,
    async next(opened) {
      await opened.adapter.publish!(anotherDataset(FIRST, LATER));
      hasVersion(opened, FIRST);
      await hasItems(opened, itemsOf(FIRST));
    },
  },
];

export const describeUnnoticed = (target: AdapterUnderTest): void => {
  const obstacle = isExclusive(target) || without(target, 'publish');
  const test = testsOverStore(target);

  describe('an adapter, before it notices a change', () => {
    for (const { title, publishes, change, next } of CASES) {
      test(obstacle || (!publishes && without(target, 'versions')), title, async (instance) => {
        await publishTwo(instance);
        const other = await instance.another();
        hasVersion(other, THIRD);
        // A store can keep a version for some time after another adapter has released it.
        const isReleased = async () =>
          ((await other.adapter.versions?.list()) ?? []).every(({ current, held }) => current || !held);
        await eventually('list() shows that only the current version is held', isReleased, followMs(target));
        await change(instance.adapter);
        await next(other, instance);
      });
    }
  });
};
