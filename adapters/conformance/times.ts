/** Tests the names of versions, and that their times come from the clock in the context. */
import assert from 'node:assert/strict';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameList, sameValue } from './expect.js';
import { anotherDataset, datasetOf, FIRST, itemsOf, SECOND, SECOND_CREATED, THIRD } from './fixture.js';
import { followMs, hasItems, hasVersion, type Instance, namesOf, publicationTime, publishTwo } from './instance.js';
import { mightStandAlone } from './tests-over.js';
import { versionTests } from './versions.js';

export const DAY_MS = 86_400_000;
/** The latest time that a `Date` can represent, in milliseconds since 1970. */
const LAST_MS = 8.64e15;
const MANY_VERSIONS = 130;
/** Time limit in milliseconds. On a slow store, the test publishes fewer than `MANY_VERSIONS` versions. */
const MANY_MS = 3000;
/** Time limit in milliseconds. On a slow store, the test publishes only the first of these `NAMES`. */
const NAMES_MS = 30_000;

/**
 * Names that differ only in their last character, in case, or in punctuation. Some are numerically equal. Some could be
 * names of a store's own files.
 */
const NAMES = [
  ...['a', 'b'].map((end) => `${'n'.repeat(29)}${end}`),
  ...['a', 'b'].map((end) => `${'n'.repeat(30)}-${end}`),
  ...['a', 'b'].map((end) => `${'n'.repeat(99)}${end}`),
  ...[
    'v1',
    'V1',
    'v.',
    'v..',
    'v-',
    'v.1',
    'v_1',
    'v-1',
    'v',
    '1',
    '01',
    '1.0',
    '1e0',
    'current',
    'null',
    '2024-01-01',
  ],
  ...['N', '1.'].map((text) => text.repeat(100 / text.length)),
  ...['latest', 'undefined', 'tmp', 'tmp-1', 'lock', 'v.tmp', 'v.json', 'v.lock'],
  ...['catalog', 'index', 'meta', 'head', 'data', 'store', 'default', 'manifest', 'versions', 'pointer', 'live', 'new'],
];

export const describeTimes = (target: AdapterUnderTest): void => {
  const { test, testOfThree, isAsOf } = versionTests(target);
  const now = ({ clock }: Instance) => clock.now();

  /** Asserts that the current version became current during `act`, according to the clock in the context. */
  const isNow = async (instance: Instance, act: () => Promise<void>): Promise<number> => {
    const start = now(instance);
    await act();
    const [time, end] = [publicationTime(instance), now(instance)];
    const found = new Date(time).toISOString();
    const limits = `${new Date(start).toISOString()} and ${new Date(end).toISOString()}`;
    assert(time >= start && time <= end, `expected publishedAt between ${limits} by context.clock, found ${found}`);
    return time;
  };

  describe('versions', () => {
    test("publish() of an older dataset gets its time from the context's clock", async (instance) => {
      for (const days of [400, 800]) {
        instance.clock.offset = days * DAY_MS;
        const publish = () => instance.adapter.publish!(anotherDataset(`older-${days}`, '2023-01-01T00:00:00Z'));
        const time = await isNow(instance, publish);
        const [first] = await instance.adapter.versions!.list();
        sameValue(first?.publishedAt, new Date(time), 'list() to return the time of publication');
      }
    });

    test('publish() compares `created` with the current version as a time, not as text', async (instance) => {
      const [current, earlier] = ['2100-01-01T00:00:00.500Z', '2100-01-01T00:00:00Z'];
      await instance.adapter.publish!(anotherDataset('with-milliseconds', current));
      await instance.adapter.publish!(anotherDataset('without-milliseconds', earlier));
      const found = new Date(publicationTime(instance)).toISOString();
      assert(found > current, `expected publishedAt after ${current}, the time of the version before; found ${found}`);
    });

    testOfThree("activate() gets its time from the context's clock, and list() does not change", async (instance) => {
      const times = async () => (await instance.adapter.versions!.list()).map((each) => each.publishedAt);
      const before = await times();
      for (const [days, version] of [
        [400, FIRST],
        [800, SECOND],
      ] as const) {
        instance.clock.offset = days * DAY_MS;
        const activate = () => instance.adapter.versions!.activate(version);
        const time = await isNow(instance, activate);
        await isAsOf(instance, time, version);
        const snapshot = await instance.adapter.versions!.asOf(new Date(time));
        sameValue(snapshot?.publishedAt, new Date(time), 'publishedAt of asOf() to be the time of the activation');
        snapshot?.release();
      }
      sameList(await times(), before, 'list() to return the times of publication');
    });

    testOfThree(
      "publish() after an activation gets its time from the context's clock, unless the dataset is newer",
      async (instance) => {
        await instance.adapter.versions!.activate(FIRST);
        const activatedAt = publicationTime(instance);
        instance.clock.offset = DAY_MS;
        const publish = (name: string, created: number) => () =>
          instance.adapter.publish!(anotherDataset(name, new Date(created).toISOString()));
        const time = await isNow(instance, publish('between', activatedAt - DAY_MS));
        await isAsOf(instance, time - 1, FIRST);
        await isAsOf(instance, time, 'between');
        await publish('newer', time + DAY_MS)();
        sameValue(publicationTime(instance), time + DAY_MS, 'publishedAt to be the time of creation');
      },
    );

    test('list() returns any number of versions, and prune() deletes them', async (instance) => {
      const names = [FIRST];
      const end = performance.now() + MANY_MS;
      while (names.length < MANY_VERSIONS && performance.now() < end) {
        const name = `v-${names.length}`;
        const created = new Date(Date.UTC(2025, 0, 1 + names.length)).toISOString();
        await instance.adapter.publish!(datasetOf(name, created, { items: [] }));
        names.push(name);
      }
      const isWhole = async (opened: Pick<Instance, 'adapter'>) =>
        sameList((await namesOf(opened)).reverse(), names, 'list() to return every version');
      await isWhole(instance);
      const opened = (await mightStandAlone(target, instance)) ? instance : await instance.another();
      await isWhole(opened);
      // Opening an exclusive store again closes the first adapter.
      const { adapter } = target.capabilities.exclusive ? opened : instance;
      const deleted = await adapter.versions!.prune(1);
      sameList([...deleted].sort(), names.slice(0, -1).sort(), 'prune(1) to delete all versions but one');
    });

    testOfThree('activate() of the current version changes nothing', async (instance) => {
      const before = publicationTime(instance);
      await instance.adapter.versions!.activate(THIRD);
      sameValue(publicationTime(instance), before, 'publishedAt to be unchanged');
    });

    test('with similar names are different versions', async (instance) => {
      const names: string[] = [];
      const end = performance.now() + NAMES_MS;
      for (const [i, name] of NAMES.entries()) {
        if (performance.now() > end) break;
        names.push(name);
        await instance.adapter.publish!(anotherDataset(name, new Date(Date.UTC(2025, 0, 1 + i)).toISOString()));
        hasVersion(instance, name);
      }
      sameList(
        await namesOf(instance),
        [...names.toReversed(), FIRST],
        'list() to return the names as they were published',
      );
      for (const [i, name] of names.entries()) {
        await isAsOf(instance, Date.UTC(2025, 0, 1 + i), name);
        await instance.adapter.versions!.activate(name);
        hasVersion(instance, name);
        await hasItems(instance, itemsOf(name));
      }
      const deleted = await instance.adapter.versions!.prune(1);
      sameList([...deleted].sort(), [FIRST, ...names.slice(0, -1)].sort(), 'prune(1) to return the deleted names');
    });

    test('that are not current are held only while a snapshot of them is in use', async (instance) => {
      const held = async (version: string) =>
        (await instance.adapter.versions!.list()).find((each) => each.version === version)?.held;
      const snapshot = instance.adapter.snapshot();
      await publishTwo(instance);
      const asOf = await instance.adapter.versions!.asOf(new Date(SECOND_CREATED));
      sameList([await held(FIRST), await held(SECOND)], [true, true], 'list() to show held versions');
      snapshot.release();
      await eventually(
        'list() shows the released version as not held',
        async () => !(await held(FIRST)),
        followMs(target),
      );
      sameValue(await held(SECOND), true, 'list() to show the version that is still held');
      asOf!.release();
      await eventually(
        'list() shows the released version as not held',
        async () => !(await held(SECOND)),
        followMs(target),
      );
    });
  });

  describeDistantTimes(target);
};

const describeDistantTimes = (target: AdapterUnderTest): void => {
  const { testOfEmpty, isAsOf } = versionTests(target);
  describe('versions', () => {
    testOfEmpty('have times before 1970 and after 2038', async (instance) => {
      const { adapter } = instance;
      await adapter.open();
      const times = [
        '1901-12-13T00:00:00.001Z',
        '1969-12-31T23:59:59.999Z',
        '1970-01-01T00:00:00.000Z',
        '1970-01-01T00:00:00.001Z',
        '2299-01-01T00:00:00.500Z',
      ];
      for (const [i, created] of times.entries()) {
        await adapter.publish!(anotherDataset(`v-${i}`, created));
        const { publishedAt } = adapter.snapshot();
        sameValue(publishedAt, new Date(created), 'publishedAt to be the time of creation');
      }
      const listed = (await adapter.versions!.list()).map(({ publishedAt }) => publishedAt);
      sameList(listed, times.map((time) => new Date(time)).reverse(), 'list() to return the times');
      for (const [i, time] of times.entries()) {
        await isAsOf(instance, time, `v-${i}`);
        await isAsOf(instance, Date.parse(time) - 1, i === 0 ? undefined : `v-${i - 1}`);
      }
      for (const time of ['9999-12-31T23:59:59.999Z', '+010000-01-01T00:00:00.000Z', LAST_MS]) {
        await isAsOf(instance, time, `v-${times.length - 1}`);
      }
      for (const time of ['0001-01-01T00:00:00.000Z', '-000001-01-01T00:00:00.000Z', -LAST_MS]) {
        await isAsOf(instance, time, undefined);
      }
    });
  });
};
