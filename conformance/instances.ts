/** Proves that several adapters over one store, in this process, serve the same and follow one another. */
import assert from 'node:assert/strict';
import { StorageError } from '../core/errors.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameItems, sameList, sameValue } from './expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsOf,
  manifestOf,
  rows,
  rowsWithCrowd,
  SECOND,
  SECOND_CREATED,
} from './fixture.js';
import {
  cannotChange,
  changedTo,
  currentVersion,
  find,
  type Instance,
  isCurrent,
  itUnless,
  makeCurrent,
  needsStore,
  type Opened,
  standsAlone,
  withInstance,
  withSnapshot,
} from './instance.js';

const THIRD = 'third-3';
const THIRD_CREATED = '2024-03-01T12:34:56.789Z';

/** That an adapter serves this version, whole. */
export const serves = (opened: Pick<Opened, 'adapter'>, version: string, created: string): Promise<void> =>
  withSnapshot(opened, async (snapshot) => {
    const about = { version: snapshot.version, publishedAt: snapshot.publishedAt, manifest: snapshot.manifest };
    const expected = { version, publishedAt: new Date(created), manifest: manifestOf(version, created) };
    sameValue(about, expected, 'the other adapter to tell of the dataset as the one that published it');
    const documents = version === FIRST ? rows['items']! : itemsOf(version);
    sameList(await find(snapshot, items), documents, 'the other adapter to find what was published');
    for (const id of ['i01', 'i02', 'i99']) {
      const found = (await snapshot.get('items', [id])) ?? undefined;
      sameValue(
        found,
        documents.find((item) => item['id'] === id),
        `get("items", ["${id}"]) of the other adapter`,
      );
    }
  });

export const describeInstances = (target: AdapterUnderTest): void => {
  const { publish, versions, follows } = target.capabilities;
  const alone = standsAlone(target);
  const silent = alone || cannotChange(target) || (follows === false && 'the adapter declares that it does not follow');
  const publishes = alone || (!publish && 'the adapter does not declare the capability "publish"');
  const withVersions = (obstacle: string | false) =>
    obstacle || (!versions && 'the adapter does not declare the capability "versions"');

  const withStore = (test: (instance: Instance) => Promise<void>) =>
    withInstance(target, async (instance, context) => {
      await needsStore(target, instance, context);
      await test(instance);
    });

  describe('another adapter over the same store', () => {
    itUnless(
      alone,
      'finds what was published, the whole of it',
      withStore(async (instance) => serves(await instance.another(), FIRST, FIRST_CREATED)),
    );

    itUnless(
      alone,
      'finds what was published after every adapter has been closed',
      withStore(async (instance) => {
        if (publish) await instance.adapter.publish!(anotherDataset());
        await instance.adapter.close();
        const [version, created] = publish ? ([SECOND, SECOND_CREATED] as const) : ([FIRST, FIRST_CREATED] as const);
        await serves(await instance.another(), version, created);
      }),
    );

    itUnless(
      alone,
      'is left as it is when the first one is closed',
      withStore(async (instance) => {
        const other = await instance.another();
        await withSnapshot(other, async (held) => {
          await instance.adapter.close();
          sameItems(await find(held, items), rows['items']!);
        });
        await other.adapter.ping();
        await serves(other, FIRST, FIRST_CREATED);
      }),
    );

    itUnless(
      silent,
      'notices what the first one publishes, calls changed(), and keeps what it holds',
      withStore(async (instance) => {
        const other = await instance.another();
        await withSnapshot(other, async (held) => {
          const before = other.changes.length;
          await makeCurrent(target, instance, anotherDataset());
          await isCurrent(other, SECOND);
          await serves(other, SECOND, SECOND_CREATED);
          sameItems(await find(held, items), rows['items']!);
          await changedTo(SECOND, other, before);
        });
      }),
    );

    itUnless(
      silent,
      'notices each of several publications',
      withStore(async (instance) => {
        const other = await instance.another();
        for (const [version, created] of [
          [SECOND, SECOND_CREATED],
          [THIRD, THIRD_CREATED],
        ] as const) {
          await makeCurrent(target, instance, anotherDataset(version, created));
          await isCurrent(other, version);
          await serves(other, version, created);
        }
      }),
    );

    itUnless(
      publishes || silent,
      'publishes after the first one, which notices it',
      withStore(async (instance) => {
        const other = await instance.another();
        await instance.adapter.publish!(anotherDataset());
        await isCurrent(other, SECOND);
        await failsWith('conflict', () => other.adapter.publish!(datasetOf(SECOND, THIRD_CREATED)));
        await other.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        await serves(other, THIRD, THIRD_CREATED);
        await isCurrent(instance, THIRD);
        await serves(instance, THIRD, THIRD_CREATED);
        if (!versions) return;
        for (const { adapter } of [instance, other]) {
          const listed = (await adapter.versions!.list()).map(({ version }) => version);
          sameList(listed, [THIRD, SECOND, FIRST], 'list() to tell of what both have published');
        }
      }),
    );

    itUnless(
      publishes,
      'sees nothing of a publication that is under way, or that failed',
      withStore(async (instance) => {
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
        // What the first of the collections found is the error's cause.
        sameValue(
          (error.cause as Error)?.message,
          'the file ends too early',
          'another adapter to serve what was current',
        );
        await serves(await instance.another(), FIRST, FIRST_CREATED);
        await instance.adapter.publish!(anotherDataset());
        await serves(await instance.another(), SECOND, SECOND_CREATED);
      }),
    );

    itUnless(
      publishes,
      'that publishes at the same time leaves a whole version behind',
      withStore(async (instance) => {
        const other = await instance.another();
        const created = { left: '2024-05-01T00:00:00Z', right: '2024-06-01T00:00:00Z' };
        const settled = await Promise.allSettled([
          instance.adapter.publish!(anotherDataset('left', created.left)),
          other.adapter.publish!(anotherDataset('right', created.right)),
        ]);
        for (const each of settled) {
          if (each.status === 'rejected') assert(each.reason instanceof StorageError, `got ${each.reason}`);
        }
        const published = (['left', 'right'] as const).filter((_, i) => settled[i]!.status === 'fulfilled');
        const last = await instance.another();
        const version = currentVersion(last);
        const whole: readonly string[] = published.length > 0 ? published : [FIRST];
        assert(whole.includes(version), `expected the version ${whole.join(' or ')} to be current, found ${version}`);
        if (version === FIRST) return serves(last, FIRST, FIRST_CREATED);
        sameItems(await withSnapshot(last, (snapshot) => find(snapshot, items)), itemsOf(version));
      }),
    );

    itUnless(
      withVersions(publishes),
      'knows every version: it lists them, reads them as of their times, and removes them',
      withStore(async (instance) => {
        await instance.adapter.publish!(anotherDataset());
        await instance.adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
        await instance.adapter.versions!.activate(SECOND);
        const listOf = async ({ adapter }: Opened | Instance) =>
          (await adapter.versions!.list()).map(({ version, publishedAt, current }) => ({
            version,
            publishedAt,
            current,
          }));
        const expected = [
          { version: THIRD, publishedAt: new Date(THIRD_CREATED), current: false },
          { version: SECOND, publishedAt: new Date(SECOND_CREATED), current: true },
          { version: FIRST, publishedAt: new Date(FIRST_CREATED), current: false },
        ];
        const asOf = async ({ adapter }: Opened, time: string | number) => {
          const snapshot = await adapter.versions!.asOf(new Date(time));
          snapshot?.release();
          return snapshot?.version;
        };
        const other = await instance.another();
        await instance.adapter.close();
        sameList(await listOf(other), expected, 'list() of another adapter');
        sameValue(currentVersion(other), SECOND, 'the version of snapshot()');
        const times = [FIRST_CREATED, SECOND_CREATED, '2024-03-01T12:34:56.788Z', THIRD_CREATED, Date.now() + 5000];
        const current = await Promise.all(times.map((time) => asOf(other, time)));
        sameList(current, [FIRST, SECOND, SECOND, THIRD, SECOND], 'asOf() of another adapter, after activate()');
        await failsWith('conflict', () => other.adapter.publish!(anotherDataset(FIRST, '2024-04-01T00:00:00Z')));
        sameList([...(await other.adapter.versions!.prune(1))].sort(), [FIRST], 'prune(1) of another adapter');
        await other.adapter.versions!.activate(THIRD);
        sameValue(currentVersion(other), THIRD, 'the version of snapshot()');
      }),
    );

    itUnless(
      withVersions(publishes || silent),
      'notices what the first one activates',
      withStore(async (instance) => {
        await instance.adapter.publish!(anotherDataset());
        const other = await instance.another();
        const before = other.changes.length;
        await instance.adapter.versions!.activate(FIRST);
        await isCurrent(other, FIRST);
        await eventually('changed() is called', () => other.changes.length > before, 2000);
        sameItems(await withSnapshot(other, (snapshot) => find(snapshot, items)), rows['items']!);
      }),
    );

    itUnless(
      publishes,
      'finds a large collection whole',
      withStore(async (instance) => {
        await instance.adapter.publish!(datasetOf(SECOND, SECOND_CREATED, rowsWithCrowd()));
        await withSnapshot(await instance.another(), async (snapshot) => {
          const crowd = { name: 'crowd', key: ['block', 'seat'], schema: {} };
          sameList(
            await find(snapshot, crowd),
            rowsWithCrowd()['crowd']!,
            'another adapter to find all that was published',
          );
        });
      }),
    );
  });
};
