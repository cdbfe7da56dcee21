import type { AdapterUnderTest } from './adapter-under-test.js';
import { endAfter, sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  FOURTH,
  FOURTH_CREATED,
  items,
  itemsIn,
  itemsOf,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  hasItems,
  hasVersion,
  type Instance,
  listOf,
  pruned,
  publicationTime,
  readsItems,
  versionAsOf,
} from './instance.js';
import { standsAlone } from './obstacles.js';
import { DAY_MS } from './times.js';
import { versionTests } from './versions.js';

const MANY_ACTIVATIONS = 1100;
/** Time limit in milliseconds. On a slow store, the test makes fewer than `MANY_ACTIVATIONS` activations. */
const MANY_MS = 6000;
/** Too many versions for a counter of one byte. */
const MANY_VERSIONS = 300;
/** Versions are sampled, because reading all of them takes long. */
const SAMPLE = 13;

const reopened = async (instance: Instance): Promise<Pick<Instance, 'adapter'>> => {
  await instance.adapter.close();
  return instance.another();
};

export const describeMoves = (target: AdapterUnderTest): void => {
  const { test, testOfThree, isAsOf } = versionTests(target);

  describe('versions', () => {
    testOfThree('a held snapshot keeps its time when its version is activated again', async (instance) => {
      const { adapter } = instance;
      await adapter.versions!.activate(FIRST);
      const held = adapter.snapshot();
      const asOf = await adapter.versions!.asOf(new Date(FIRST_CREATED));
      const { publishedAt } = held;
      instance.clock.offset = DAY_MS;
      for (const version of [SECOND, FIRST]) await adapter.versions!.activate(version);
      sameValue(held.publishedAt, publishedAt, 'the time of a snapshot to be unchanged');
      sameValue(asOf?.publishedAt, new Date(FIRST_CREATED), 'the time of a snapshot from asOf() to be unchanged');
      for (const snapshot of [held, asOf!]) await readsItems(snapshot, itemsIn(FIRST));
    });

    testOfThree('asOf() returns what was current between several activations', async (instance) => {
      const moves: [number, string][] = [];
      for (const [i, version] of [FIRST, SECOND, FIRST, THIRD].entries()) {
        instance.clock.offset = (i + 1) * DAY_MS;
        await instance.adapter.versions!.activate(version);
        moves.push([publicationTime(instance), version]);
      }
      for (const [i, [time, version]] of moves.entries()) {
        await isAsOf(instance, time, version);
        await isAsOf(instance, time - 1, moves[i - 1]?.[1] ?? THIRD);
        const snapshot = await instance.adapter.versions!.asOf(new Date(time + 1000));
        sameValue(
          snapshot?.publishedAt,
          new Date(time),
          'publishedAt to be the time at which the version became current',
        );
        await readsItems(snapshot!, itemsIn(version));
        snapshot!.release();
      }
      await isAsOf(instance, SECOND_CREATED, SECOND);
      await isAsOf(instance, Date.parse(SECOND_CREATED) - 1, FIRST);
    });

    test('times increase, even if the clock goes back or does not move', async (instance) => {
      const moves: [number, string][] = [[publicationTime(instance), FIRST]];
      for (const [i, offset] of [0, -30_000 * DAY_MS, 0].entries()) {
        instance.clock.offset = offset;
        const name = `v-${i}`;
        await instance.adapter.publish!(anotherDataset(name, '2020-01-01T00:00:00Z'));
        moves.push([publicationTime(instance), name]);
        for (const version of [FIRST, name]) {
          await instance.adapter.versions!.activate(version);
          moves.push([publicationTime(instance), version]);
        }
      }
      const times = moves.map(([time]) => time);
      const sorted = [...new Set(times)].sort((a, b) => a - b);
      sameList(times, sorted, 'each version to become current after the previous one');
      for (const [time, version] of moves) await isAsOf(instance, time, version);
    });

    test('may reuse the name of a deleted version for different rows', async (instance) => {
      await instance.adapter.publish!(anotherDataset());
      sameList(await instance.adapter.versions!.prune(1), [FIRST], 'prune(1) to delete the first version');
      await instance.adapter.publish!(anotherDataset(FIRST, THIRD_CREATED));
      hasVersion(instance, FIRST);
      await hasItems(instance, itemsOf(FIRST));
      const listed = [
        { version: FIRST, publishedAt: new Date(THIRD_CREATED), current: true },
        { version: SECOND, publishedAt: new Date(SECOND_CREATED), current: false },
      ];
      sameList(await listOf(instance), listed, 'list() to return the new version once, with its time');
      await isAsOf(instance, THIRD_CREATED, FIRST);
      await isAsOf(instance, SECOND_CREATED, SECOND);
      await isAsOf(instance, FIRST_CREATED, undefined);
      for (const version of [SECOND, FIRST, SECOND]) {
        await instance.adapter.versions!.activate(version);
        await hasItems(instance, itemsOf(version));
      }
      sameList(await instance.adapter.versions!.prune(0), [FIRST], 'prune(0) to delete the new version');
      await isAsOf(instance, THIRD_CREATED, undefined);
    });

    testOfThree('asOf() notices changes, even if it was called for the same time before', async (instance) => {
      const { adapter } = instance;
      const future = '2999-01-01T00:00:00Z';
      await isAsOf(instance, future, THIRD);
      await isAsOf(instance, FIRST_CREATED, FIRST);
      await adapter.versions!.activate(SECOND);
      await isAsOf(instance, future, SECOND);
      await adapter.publish!(anotherDataset(FOURTH, FOURTH_CREATED));
      await isAsOf(instance, future, FOURTH);
      await adapter.versions!.prune(2);
      await isAsOf(instance, FIRST_CREATED, undefined);
    });

    testOfThree('with a reused name are listed and read at the time of their last publication', async (instance) => {
      const { adapter } = instance;
      const created = FOURTH_CREATED;
      sameList(await adapter.versions!.prune(2), [FIRST], 'prune(2) to delete the first version');
      await adapter.versions!.activate(SECOND);
      sameList(await adapter.versions!.prune(0), [THIRD], 'prune(0) to delete the newest version');
      const times: number[] = [];
      for (const version of [THIRD, FIRST]) {
        await adapter.publish!(anotherDataset(version, created));
        times.push(publicationTime(instance));
      }
      const [third, first] = times;
      const expected = [
        { version: FIRST, publishedAt: new Date(first!), current: true },
        { version: THIRD, publishedAt: new Date(third!), current: false },
        { version: SECOND, publishedAt: new Date(SECOND_CREATED), current: false },
      ];
      const isRight = async (opened: Pick<Instance, 'adapter'>) => {
        sameList(await listOf(opened), expected, 'list() to return the new versions at their new places');
        for (const [time, version] of [
          [FIRST_CREATED, undefined],
          [THIRD_CREATED, undefined],
          [third!, THIRD],
          [first!, FIRST],
        ] as const)
          await isAsOf(opened, time, version);
        await hasItems(opened, itemsOf(FIRST));
      };
      await isRight(instance);
      if (!standsAlone(target)) await isRight(await reopened(instance));
    });

    test('asOf() returns what was current between any number of activations', async (instance) => {
      const { adapter } = instance;
      await adapter.publish!(anotherDataset());
      const moves = [[Date.parse(FIRST_CREATED), FIRST] as const, [Date.parse(SECOND_CREATED), SECOND] as const];
      const end = endAfter(MANY_MS);
      while (moves.length < MANY_ACTIVATIONS && performance.now() < end) {
        const version = moves.length % 2 === 0 ? FIRST : SECOND;
        await adapter.versions!.activate(version);
        moves.push([publicationTime(instance), version]);
      }
      const isRight = async (opened: Pick<Instance, 'adapter'>) => {
        for (const [i, [time, version]] of moves.entries()) {
          if (i > 20 && i % 50 !== 0 && i < moves.length - 20) continue;
          await isAsOf(opened, time, version);
          await isAsOf(opened, time - 1, moves[i - 1]?.[1]);
        }
      };
      await isRight(instance);
      if (!standsAlone(target)) await isRight(await reopened(instance));
    });

    test('are listed, read, activated and deleted, whatever their number', async (instance) => {
      const { adapter } = instance;
      const published = [{ version: FIRST, publishedAt: new Date(FIRST_CREATED), current: false }];
      const contentOf = (version: string) => [{ id: 'one', grade: 'a', rank: 1, label: version }];
      const end = endAfter(MANY_MS / 2);
      while (published.length < MANY_VERSIONS && performance.now() < end) {
        const publishedAt = new Date(Date.parse(SECOND_CREATED) + published.length * 1000);
        const version = `v-${published.length}`;
        await adapter.publish!(datasetOf(version, publishedAt.toISOString(), { items: contentOf(version) }));
        published.push({ version, publishedAt, current: false });
      }
      const [first, oldest] = published;
      await adapter.versions!.activate(oldest!.version);
      const isRight = async (opened: Pick<Instance, 'adapter'>) => {
        const expected = published.map((each) => ({ ...each, current: each === oldest }));
        sameList(await listOf(opened), expected.reverse(), 'list() to return every version');
        for (const { version, publishedAt } of published.slice(1).filter((_, i) => i % SAMPLE === 0)) {
          const snapshot = await opened.adapter.versions!.asOf(publishedAt);
          sameValue(snapshot?.version, version, `asOf(${publishedAt.toISOString()}) to return ${version}`);
          sameList(await find(snapshot!, items), contentOf(version), `the items of ${version}`);
          snapshot!.release();
        }
      };
      await isRight(instance);
      const opened = standsAlone(target) ? instance : await reopened(instance);
      await isRight(opened);
      const [newest] = published.slice(-1);
      const due = published.filter((each) => each !== oldest && each !== newest).map(({ version }) => version);
      sameList(await pruned(target, opened, 1, due.length), due.sort(), 'prune(1) to delete all versions but two');
      sameValue(
        await versionAsOf(opened, first!.publishedAt.getTime()),
        undefined,
        'asOf() to find no deleted version',
      );
      sameList(
        await listOf(opened),
        [newest, { ...oldest, current: true }],
        'list() to return the newest and the current version',
      );
    });
  });
};
