/** Proves that a snapshot stays as it is while others are made current. */
import assert from 'node:assert/strict';
import type { Snapshot } from '../core/contracts/storage.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import {
  anotherDataset,
  crowd,
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
  currentVersion,
  eventually,
  find,
  itUnless,
  makeCurrent,
  startInstance,
  withInstance,
  withSnapshot,
} from './instance.js';

const about = ({ version, publishedAt, manifest }: Snapshot) => ({ version, publishedAt, manifest });

export const describeIsolation = (target: AdapterUnderTest): void => {
  const obstacle = cannotChange(target);

  it('the factory gives every test a store of its own', async () => {
    const one = await startInstance(target);
    const other = await startInstance(target, anotherDataset());
    try {
      assert.deepEqual([currentVersion(one), currentVersion(other)], [FIRST, SECOND]);
      assert.deepEqual(await withSnapshot(one, (snapshot) => find(snapshot, items)), rows['items']);
      assert.deepEqual(await withSnapshot(other, (snapshot) => find(snapshot, items)), itemsOf(SECOND));
    } finally {
      await one.stop();
      await other.stop();
    }
  });

  describe('snapshot()', () => {
    it(
      'tells the version, the manifest and, as publication time, when the dataset was created',
      withInstance(target, (instance) =>
        withSnapshot(instance, async (snapshot) => {
          assert.deepEqual(about(snapshot), {
            version: FIRST,
            publishedAt: new Date(FIRST_CREATED),
            manifest: manifestOf(FIRST, FIRST_CREATED),
          });
        }),
      ),
    );

    itUnless(
      obstacle,
      'answers with the new version once there is one, and its rows replace all earlier ones',
      withInstance(target, async (instance) => {
        await makeCurrent(target, instance, anotherDataset());
        await withSnapshot(instance, async (snapshot) => {
          assert.deepEqual(about(snapshot), {
            version: SECOND,
            publishedAt: new Date(SECOND_CREATED),
            manifest: manifestOf(SECOND, SECOND_CREATED),
          });
          assert.deepEqual(await find(snapshot, items), itemsOf(SECOND));
          assert.equal(await snapshot.get('items', ['i01']), undefined);
        });
      }),
    );

    itUnless(
      obstacle,
      'that is held stays as it was after another became current',
      withInstance(target, (instance) =>
        withSnapshot(instance, async (held) => {
          const before = about(held);
          await makeCurrent(target, instance, anotherDataset());
          assert.deepEqual(about(held), before);
          assert.deepEqual(await find(held, items), rows['items']);
          assert.deepEqual(await held.get('items', ['i01']), rows['items']![0]);
          assert.equal(await held.get('items', ['i99']), undefined);
        }),
      ),
    );

    itUnless(obstacle, 'lets a find() that began before the change end as it began', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd()));
      try {
        const seats = await withSnapshot(instance, async (held) => {
          const batches = held.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
          let count = 0;
          for (let batch = await batches.next(); !batch.done; batch = await batches.next()) {
            if (count === 0) await makeCurrent(target, instance, anotherDataset());
            count += batch.value.length;
          }
          return count;
        });
        assert.equal(seats, rowsWithCrowd()['crowd']!.length);
      } finally {
        await instance.stop();
      }
    });

    itUnless(
      obstacle,
      'never mixes two versions, however many readers there are meanwhile',
      withInstance(target, async (instance) => {
        let changing = true;
        const reader = async (): Promise<void> => {
          while (changing) {
            await withSnapshot(instance, async (snapshot) => {
              const expected = snapshot.version === FIRST ? rows['items'] : itemsOf(snapshot.version);
              assert.deepEqual(await find(snapshot, items), expected);
              assert.equal(
                (await snapshot.get('items', ['i05']))?.['label'],
                expected![snapshot.version === FIRST ? 4 : 3]!['label'],
              );
            });
            await new Promise(setImmediate);
          }
        };
        const readers = Promise.all(Array.from({ length: 8 }, reader));
        try {
          for (const month of ['02', '03', '04', '05']) {
            await makeCurrent(target, instance, anotherDataset(`v-${month}`, `2024-${month}-01T00:00:00.000Z`));
          }
        } finally {
          changing = false;
        }
        await readers;
      }),
    );
  });

  itUnless(
    obstacle,
    'changed() is called once snapshot() answers with another version',
    withInstance(target, async (instance) => {
      const before = instance.changes.length;
      await makeCurrent(target, instance, anotherDataset());
      await eventually('changed() is called', () => instance.changes.length > before);
      assert.deepEqual(new Set(instance.changes.slice(before)), new Set([SECOND]));
    }),
  );
};
