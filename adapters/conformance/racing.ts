/** Tests concurrent publications, and other calls during a publication. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dataset, Document, StorageAdapter, StorageErrorCode } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameList, sameValue, within } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  itemsOf,
  type Rows,
  rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';
import {
  beginToPublish,
  hasItems,
  hasRows,
  hasVersion,
  type Instance,
  namesOf,
  readsItems,
  versionAsOf,
  versionOf,
  withSnapshot,
} from './instance.js';
import { isExclusive, without } from './obstacles.js';
import { testsOver, testsOverStore } from './tests-over.js';

/** Time limit in milliseconds for calls that must not wait for a publication. */
const CALL_MS = 5000;
/** Maximum time that two publications wait for each other before they continue, in milliseconds. */
const MEET_MS = 300;

const withCode = (code: string): Error => Object.assign(new Error('The dataset cannot be read.'), { code });

/** Values that a dataset can throw. An adapter could mistake some of them for errors of its store, or for an abort. */
const THROWN: readonly unknown[] = [
  new TypeError('x'),
  'a text',
  undefined,
  new DOMException('The operation was aborted.', 'AbortError'),
  ...['EIO', 'ENOENT', 'ECONNRESET', 'EBUSY', 'SQLITE_BUSY', 'ABORT_ERR', 'conflict', 'unavailable'].map(withCode),
];

const LEFT: Rows = { ...rows, items: itemsOf('left'), readings: rows['readings']!.slice(0, 20) };
const RIGHT: Rows = { ...rows, items: itemsOf('right'), nothing: [{ id: 'right' }], items_twins: [] };

/**
 * Returns a dataset that waits in its first two collections until the other publication has started or `MEET_MS` has
 * passed.
 */
const meeting = (
  version: string,
  created: string,
  content: Rows,
  arrive: () => Promise<unknown>,
  end: () => unknown = () => {},
): Dataset => {
  const whole = datasetOf(version, created, content, 5);
  return {
    ...whole,
    async *read(collection): AsyncGenerator<readonly Document[]> {
      if (collection === 'items' || collection === 'readings') await arrive();
      if (collection === 'crowd') await end();
      yield* whole.read(collection);
    },
  };
};

const race = async (left: StorageAdapter, right: StorageAdapter, versions: readonly [string, string]) => {
  let arrived = 0;
  let allArrived = (): void => {};
  const all = new Promise<void>((resolve) => {
    allArrived = resolve;
  });
  const arrive = () => {
    if (++arrived === 2) allArrived();
    return Promise.race([all, delay(MEET_MS)]);
  };
  // The first publication waits for the second one to end. The wait is limited, because a store may not start the
  // second publication before the first one ends.
  let second: Promise<unknown> = Promise.resolve();
  const end = () => Promise.race([second.catch(() => {}), delay(MEET_MS)]);
  const publications = [
    left.publish!(meeting(versions[0], '2024-05-01T00:00:00Z', LEFT, arrive, end)),
    right.publish!(meeting(versions[1], '2024-06-01T00:00:00Z', RIGHT, arrive)),
  ];
  second = publications[1]!;
  const settled = await within('both publications settle', Promise.allSettled(publications), 30_000);
  return settled.map(({ status }, i) => ({
    version: versions[i]!,
    content: [LEFT, RIGHT][i]!,
    isPublished: status === 'fulfilled',
    publication: publications[i],
  }));
};

const describeRaces = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const test = testsOverStore(target);

  for (const [whose, obstacle] of [
    ['by one adapter', publishes],
    ['by two adapters', publishes || isExclusive(target)],
  ] as const) {
    const start = async (instance: Instance, versions: readonly [string, string]) => {
      const other = whose === 'by one adapter' ? instance : await instance.another();
      const outcomes = await race(instance.adapter, other.adapter, versions);
      for (const { isPublished, publication } of outcomes) {
        if (!isPublished) await failsWith('conflict', () => publication);
      }
      return { other, outcomes, published: outcomes.filter(({ isPublished }) => isPublished) };
    };

    test(obstacle, `${whose} both succeed one after the other, or one is rejected with conflict`, async (instance) => {
      const { other, outcomes, published } = await start(instance, ['left', 'right']);
      assert(published.length > 0, 'expected one of two publications to succeed');
      const last = versionOf((published.length === 2 || published[0]!.version === 'left' ? instance : other).adapter);
      const names = published.map(({ version }) => version);
      assert(names.includes(last), `expected the version ${names.join(' or ')} to be current, found ${last}`);
      const reader = published[0]!.version === 'left' ? instance : other;
      await hasRows(reader, outcomes.find(({ version }) => version === last)!.content, 'one publication');
      if (!target.capabilities.versions) return;
      const listed = await namesOf(instance);
      sameList(listed.toSorted(), [FIRST, ...names].toSorted(), 'list() to return the versions that were published');
    });

    test(obstacle, `${whose} under one version: only one of them succeeds`, async (instance) => {
      const { other, published } = await start(instance, ['same', 'same']);
      sameValue(published.length, 1, 'the number of publications that succeed');
      const winner = published[0]!.content === LEFT ? instance : other;
      hasVersion(winner, 'same');
      await hasRows(winner, published[0]!.content, 'one publication');
      if (!winner.adapter.versions) return;
      sameList(await namesOf(winner), ['same', FIRST], 'list() to return the version once');
    });

    test(
      obstacle,
      `${whose} do not prevent later publications, including that of the rejected version`,
      async (instance) => {
        const { other, outcomes } = await start(instance, ['left', 'right']);
        for (const { version, isPublished } of outcomes) {
          if (!isPublished) await instance.adapter.publish!(anotherDataset(version, '2024-07-01T00:00:00Z'));
        }
        await other.adapter.publish!(anotherDataset('last', '2024-08-01T00:00:00Z'));
        await hasItems(other, itemsOf('last'));
      },
    );
  }
};

const whilePublishing = async ({ adapter }: Instance, act: () => Promise<unknown>) => {
  const { publication, resume } = await beginToPublish(adapter, anotherDataset(THIRD, THIRD_CREATED));
  const [acted] = await Promise.allSettled([act()]);
  resume();
  const [settled] = await Promise.allSettled([publication]);
  if (acted!.status === 'rejected') throw acted!.reason;
  return settled!;
};

const wasActive = async (instance: Instance): Promise<void> => {
  const { publishedAt } = await withSnapshot(instance, async (snapshot) => snapshot);
  sameValue(await versionAsOf(instance, publishedAt.getTime() - 1), FIRST, 'asOf() to return what was activated');
};

const describeMeanwhile = (target: AdapterUnderTest): void => {
  const publishes = without(target, 'publish');
  const test = testsOver(target, publishes);
  const testVersions = testsOver(target, publishes || without(target, 'versions'));

  const during = async (instance: Instance, what: string, call: () => Promise<unknown>): Promise<void> => {
    const settled = await whilePublishing(instance, () => within(`${what} during a publication`, call(), CALL_MS));
    if (settled.status === 'rejected') throw settled.reason;
    await hasItems(instance, itemsOf(THIRD));
  };
  /**
   * Makes a call during a publication. Either the call waits for the publication, or the call or the publication
   * rejects with an allowed code.
   */
  const started = async (
    instance: Instance,
    call: () => Promise<unknown>,
    codes: readonly StorageErrorCode[] = ['conflict'],
  ) => {
    let result: Promise<PromiseSettledResult<unknown>[]> | undefined;
    let hasWaited = false;
    const settled = await whilePublishing(instance, async () => {
      result = Promise.allSettled([call()]);
      hasWaited = (await Promise.race([result, delay(MEET_MS)])) === undefined;
    });
    const [called] = await result!;
    for (const each of [called!, settled]) {
      if (each.status === 'rejected') await failsWith(codes, () => Promise.reject(each.reason));
    }
    return { hasWaited, isCalled: called?.status === 'fulfilled', isPublished: settled.status === 'fulfilled' };
  };

  test('ping() resolves', (instance) => during(instance, 'ping()', () => instance.adapter.ping()));

  test('reads return the current version', (instance) =>
    during(instance, 'reads', () =>
      withSnapshot(instance, async (snapshot) => {
        sameValue(snapshot.version, FIRST, 'the version of snapshot()');
        await readsItems(snapshot, rows['items']!);
      }),
    ));

  testVersions('list() returns only the published versions', (instance) =>
    during(instance, 'list()', async () => {
      const listed = (await instance.adapter.versions!.list()).map(({ version, current }) => ({ version, current }));
      sameList(listed, [{ version: FIRST, current: true }], 'list() not to include the publication in progress');
    }),
  );

  testVersions('asOf() returns the version of the time', (instance) =>
    during(instance, 'asOf()', async () => {
      const found = await instance.adapter.versions!.asOf(new Date(FIRST_CREATED));
      sameValue(found?.version, FIRST, 'the version of asOf()');
      await readsItems(found!, rows['items']!);
      found!.release();
    }),
  );

  testVersions('prune() deletes nothing of the publication, waits, or rejects with conflict', async (instance) => {
    await instance.adapter.publish!(anotherDataset());
    const { isCalled, isPublished } = await started(instance, () => instance.adapter.versions!.prune(1));
    sameValue(isPublished, true, 'the publication to succeed');
    await hasItems(instance, itemsOf(THIRD));
    const listed = await namesOf(instance);
    if (!isCalled) return sameList(listed, [THIRD, SECOND, FIRST], 'list() after a prune() that was rejected');
    sameList(listed.slice(0, 1), [THIRD], 'list() to start with the publication');
    sameValue(listed.includes(FIRST), false, 'prune() to delete the oldest version');
  });

  testVersions('activate() of its version waits, or rejects with unknown_version or conflict', async (instance) => {
    const activate = () => instance.adapter.versions!.activate(THIRD);
    const { hasWaited, isCalled, isPublished } = await started(instance, activate, ['unknown_version', 'conflict']);
    sameValue(isPublished, true, 'the publication to succeed');
    assert(!isCalled || hasWaited, 'expected activate() not to find a version that is being published');
    await hasItems(instance, itemsOf(THIRD));
  });

  testVersions(
    'activate() and the publication take effect one after the other, or one is rejected with conflict',
    async (instance) => {
      await instance.adapter.publish!(anotherDataset());
      const before = instance.changes.length;
      const { isCalled, isPublished } = await started(instance, () => instance.adapter.versions!.activate(FIRST));
      assert(isCalled || isPublished, 'expected activate() or publish() to succeed');
      const version = versionOf(instance.adapter);
      const expected = [...(isCalled ? [FIRST] : []), ...(isPublished ? [THIRD] : [])];
      assert(expected.includes(version), `expected ${expected.join(' or ')} to be current, found ${version}`);
      const listed = await namesOf(instance);
      sameList(listed, isPublished ? [THIRD, SECOND, FIRST] : [SECOND, FIRST], 'list() to return what was published');
      if (isCalled && version === THIRD) await wasActive(instance);
      sameList([...instance.changes.slice(before)].sort(), expected.sort(), 'changed() to be called for each change');
    },
  );
};

export const describeRacing = (target: AdapterUnderTest): void => {
  describe('two publications at the same time', () => describeRaces(target));
  describe('during a publication', () => describeMeanwhile(target));

  describe('a failed publication', () => {
    testsOver(target, without(target, 'publish'))(
      'leaves the store unlocked if onProgress() throws',
      async (instance) => {
        const onProgress = () => {
          throw new Error('no terminal');
        };
        const [settled] = await Promise.allSettled([instance.adapter.publish!(anotherDataset(), { onProgress })]);
        if (settled!.status === 'rejected') await instance.adapter.publish!(anotherDataset());
        await hasItems(instance, itemsOf(SECOND));
      },
    );

    testsOver(target, without(target, 'publish'))(
      'rejects with invalid_dataset and the original error, whatever the dataset throws',
      async ({ adapter }) => {
        for (const thrown of THROWN) {
          const whole = anotherDataset();
          const read = (): AsyncIterable<readonly Document[]> => ({
            [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(thrown) }),
          });
          const error = await failsWith('invalid_dataset', () => adapter.publish!({ ...whole, read }));
          assert(Object.is(error.cause, thrown), `expected the cause to be ${thrown}, found ${error.cause}`);
        }
        await adapter.publish!(datasetOf(SECOND, SECOND_CREATED));
      },
    );
  });
};
