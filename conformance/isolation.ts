/** Proves that a snapshot stays as it is while others are made current. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import type { Snapshot } from '../core/contracts/storage.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameItems, sameList, sameSequence, sameValue } from './expect.js';
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
  find,
  itUnless,
  makeCurrent,
  startInstance,
  withInstance,
  withSnapshot,
} from './instance.js';

const about = ({ version, publishedAt, manifest }: Snapshot) => ({ version, publishedAt, manifest });
const aboutDataset = (version: string, created: string) => ({
  version,
  publishedAt: new Date(created),
  manifest: manifestOf(version, created),
});

export const describeIsolation = (target: AdapterUnderTest): void => {
  const obstacle = cannotChange(target);

  it('the factory gives every test a store of its own', async () => {
    const one = await startInstance(target);
    const other = await startInstance(target, anotherDataset());
    try {
      assert.equal(currentVersion(one), FIRST);
      assert.equal(currentVersion(other), SECOND);
      sameItems(await withSnapshot(one, (snapshot) => find(snapshot, items)), rows['items']!);
      sameItems(await withSnapshot(other, (snapshot) => find(snapshot, items)), itemsOf(SECOND));
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
          sameValue(about(snapshot), aboutDataset(FIRST, FIRST_CREATED), 'the snapshot to tell of its dataset');
        }),
      ),
    );

    itUnless(
      obstacle,
      'answers with the new version once there is one, and its rows replace all earlier ones',
      withInstance(target, async (instance) => {
        await makeCurrent(target, instance, anotherDataset());
        await withSnapshot(instance, async (snapshot) => {
          sameValue(about(snapshot), aboutDataset(SECOND, SECOND_CREATED), 'the snapshot to tell of its new dataset');
          sameItems(await find(snapshot, items), itemsOf(SECOND));
          assert(!(await snapshot.get('items', ['i01'])));
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
          sameValue(about(held), before, 'the held snapshot to tell what it told before');
          sameItems(await find(held, items), rows['items']!);
          assert.equal((await held.get('items', ['i01']))?.['label'], 'Item 1');
          assert(!(await held.get('items', ['i99'])));
        }),
      ),
    );

    itUnless(obstacle, 'lets a find() that began before the change end as it began', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd()));
      try {
        await withSnapshot(instance, async (held) => {
          const seats: Document[] = [];
          const batches = held.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
          const first = await batches.next();
          seats.push(...(first.value ?? []));
          await makeCurrent(target, instance, anotherDataset());
          const before = seats.length;
          for (let batch = await batches.next(); !batch.done; batch = await batches.next()) seats.push(...batch.value);
          // How many there are in all is the subject of another test.
          const expected = rowsWithCrowd()['crowd']!;
          assert(seats.length > before || before === expected.length, 'rows follow after the change');
          sameSequence(crowd, seats, expected.slice(0, seats.length));
        });
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
              const expected = snapshot.version === FIRST ? rows['items']! : itemsOf(snapshot.version);
              sameItems(await find(snapshot, items), expected);
              await new Promise(setImmediate);
              sameItems(await find(snapshot, items, { limit: 100 }), expected);
            });
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
      await eventually('changed() is called', () => instance.changes.length > before, 2000);
      const seen = new Set(instance.changes.slice(before));
      sameList([...seen], [SECOND], 'changed() to be called once snapshot() has the new version');
    }),
  );
};
