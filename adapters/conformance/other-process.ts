import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, isEmpty, sameList, sameValue, within } from './expect.js';
import {
  aboutDataset,
  anotherDataset,
  FIRST,
  FIRST_CREATED,
  itemsIn,
  itemsOf,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  about,
  changedTo,
  followMs,
  type Instance,
  isCurrent,
  makeCurrent,
  readsItems,
  withSnapshot,
} from './instance.js';
import { serves } from './instances.js';
import { cannotChange, isExclusive, isUnnoticed, type Obstacle, standsAlone, without } from './obstacles.js';
import { SEED } from './property.js';
import { type OtherProcess, type Processes, publishesInTime } from './start-process.js';
import { testsOverStore } from './tests-over.js';
import { patiently } from './time-limits.js';

const START_MS = 20_000;
/** The locks of a killed process on versions must expire within this time, in milliseconds. */
const HOLD_MS = 90_000;

export const describeOtherProcess = (target: AdapterUnderTest, processes: Processes): void => {
  const alone = standsAlone(target) || processes.obstacle;
  const silent = alone || isUnnoticed(target);
  const publishes = alone || without(target, 'publish');

  describe('an adapter in another process, over the same store', () => {
    const testOverStore = testsOverStore(target);
    const openOther = async (folder: string): Promise<OtherProcess> => {
      const other = processes.running();
      await within('the other process opens its adapter', other.open(folder), START_MS);
      return other;
    };
    const test = (
      obstacle: Obstacle,
      title: string,
      body: (instance: Instance, other: OtherProcess) => Promise<void>,
    ): void =>
      testOverStore(obstacle, title, async (instance) => {
        if (target.capabilities.exclusive) await instance.adapter.close();
        const opened = await openOther(instance.folder);
        await body(instance, opened);
        await opened.close();
      });

    testOverStore(
      alone || (!target.capabilities.exclusive && 'the store is not exclusive'),
      'cannot open an exclusive store until this process has closed it',
      async (instance) => {
        for (const _ of [1, 2]) {
          await failsWith(['unavailable', 'conflict'], () => openOther(instance.folder));
          await processes.running().close();
        }
        await serves(instance, FIRST, FIRST_CREATED);
        await instance.adapter.close();
        await (await openOther(instance.folder)).close();
      },
    );

    const isServed = async (version: string, created: string): Promise<void> => {
      sameValue(
        await processes.running().read(),
        { ...aboutDataset(version, created), items: itemsIn(version) },
        'the other process to serve what was published',
      );
      await processes.running().compare({ ...rows, items: itemsIn(version) }, SEED);
    };

    test(alone, 'finds the whole dataset that was published, in any time zone', () => isServed(FIRST, FIRST_CREATED));

    test(silent || cannotChange(target), 'notices a publication of this process', async (instance, { read }) => {
      await makeCurrent(target, instance, anotherDataset());
      const isSecond = async () => ((await read()) as { version?: string } | undefined)?.version === SECOND;
      await eventually('the other process serves the new version', isSecond, followMs(target));
      await isServed(SECOND, SECOND_CREATED);
    });

    test(
      publishes || silent,
      'finds a publication time that comes from the clock, in any time zone',
      async ({ adapter }, { read }) => {
        await adapter.publish!(anotherDataset(SECOND, FIRST_CREATED));
        const snapshot = adapter.snapshot();
        const { publishedAt } = snapshot;
        snapshot.release();
        const published = { ...aboutDataset(SECOND, FIRST_CREATED), publishedAt, items: itemsIn(SECOND) };
        const isSecond = async () => ((await read()) as { version?: string } | undefined)?.version === SECOND;
        await eventually('the other process serves the new version', isSecond, followMs(target));
        sameValue(await read(), published, 'the other process to serve what was published');
      },
    );

    test(
      publishes || silent,
      'publishes: open adapters in this process notice it, and their snapshots do not change',
      async (instance, { publish }) => {
        await withSnapshot(instance, async (held) => {
          const before = instance.changes.length;
          await publish(SECOND, SECOND_CREATED);
          await isCurrent(target, instance, SECOND);
          await serves(instance, SECOND, SECOND_CREATED);
          await eventually('changed() is called', () => instance.changes.slice(before).includes(SECOND), 2000);
          await readsItems(held, rows['items']!);
        });
      },
    );

    test(publishes, 'publishes: adapters that are opened later find it', async (instance, { publish, close }) => {
      await publish(SECOND, SECOND_CREATED);
      if (target.capabilities.exclusive) await close();
      await serves(await instance.another(), SECOND, SECOND_CREATED);
    });

    test(
      publishes || isExclusive(target) || without(target, 'audit'),
      'publishes: the audit in this process includes it',
      async ({ adapter }, { publish }) => {
        await publish(SECOND, SECOND_CREATED);
        await adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        const listed = (await adapter.audit!.list()).slice(-2).map(({ version, replaces }) => ({ version, replaces }));
        const expected = [
          { version: SECOND, replaces: FIRST },
          { version: THIRD, replaces: SECOND },
        ];
        sameList(listed, expected, 'list() to end with the publications of both processes');
        isEmpty((await adapter.audit!.verify()).faults, 'verify() to find no errors');
      },
    );

    const testKilled = (title: string, body: (instance: Instance) => Promise<void>): void =>
      testOverStore(publishes, title, async (instance) => {
        if (target.capabilities.exclusive) await instance.adapter.close();
        const dying = processes.running();
        try {
          await dying.open(instance.folder);
          await dying.beginToPublish(SECOND, SECOND_CREATED);
        } finally {
          await dying.kill();
        }
        await patiently(() => body(instance));
      });

    testKilled('that is killed during a publication leaves the current version', async (instance) => {
      if (!target.capabilities.exclusive) await serves(instance, FIRST, FIRST_CREATED);
      await serves(await instance.another(), FIRST, FIRST_CREATED);
    });

    testKilled('that is killed during a publication does not keep the store or a version locked', async (instance) => {
      const opened = target.capabilities.exclusive ? await instance.another() : instance;
      const { adapter } = opened;
      await publishesInTime(adapter, anotherDataset());
      await serves(opened, SECOND, SECOND_CREATED);
      if (!adapter.versions) return;
      const isDeleted = async () => (await adapter.versions!.prune(0)).includes(FIRST);
      await eventually('prune(0) deletes the version of the killed process', isDeleted, HOLD_MS);
    });

    testOverStore(
      publishes || isExclusive(target) || without(target, 'versions'),
      'publishes after a restart: all versions keep their rows',
      async (instance) => {
        const published = [];
        for (const month of ['02', '03', '04']) {
          const [version, created] = [`v-${month}`, `2024-${month}-01T00:00:00Z`] as const;
          const process = await openOther(instance.folder);
          await process.publish(version, created);
          await process.kill();
          published.push([version, created] as const);
        }
        const { adapter } = await instance.another();
        for (const [version, created] of published) {
          const snapshot = await adapter.versions!.asOf(new Date(created));
          sameValue(snapshot && about(snapshot), aboutDataset(version, created), 'a version of another process');
          await readsItems(snapshot!, itemsOf(version));
          snapshot!.release();
        }
      },
    );

    if (target.capabilities.audit) {
      testKilled('that is killed during a publication leaves no entry in the audit', async (instance) => {
        const { adapter } = target.capabilities.exclusive ? await instance.another() : instance;
        await publishesInTime(adapter, anotherDataset(THIRD, THIRD_CREATED));
        const entries = (await adapter.audit!.list()).map(({ version }) => version);
        sameList(entries.slice(-1), [THIRD], 'list() to end with the publication that succeeded');
        sameValue(entries.includes(SECOND), false, 'list() to have no entry for the interrupted publication');
        isEmpty((await adapter.audit!.verify()).faults, 'verify() to find no errors');
      });
    }

    test(
      publishes || silent || without(target, 'versions'),
      'activates a version: open adapters in this process notice it',
      async (instance, { activate }) => {
        await instance.adapter.publish!(anotherDataset());
        const before = instance.changes.length;
        await activate(FIRST);
        await changedTo(target, [FIRST], instance, before);
      },
    );
  });
};
