/** Tests that a publication either succeeds completely or changes nothing. */
import assert from 'node:assert/strict';
import type { Collection, Dataset, Document, Scalar, Snapshot } from 'metro-forecast-api/adapter';
import { nothingChanged, observedDataset } from './aborting.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameList, sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import {
  anotherDataset,
  collections,
  crowd,
  datasetOf,
  FIRST,
  items,
  itemsOf,
  nothing,
  readings,
  rows,
  rowsWithCrowd,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
  twins,
} from './fixture.js';
import { hasItems, hasVersion, withSnapshot } from './instance.js';
import { without } from './obstacles.js';
import { answerOf, ordersOf } from './reference.js';
import { testsOfEmpty, testsOver } from './tests-over.js';

/** Collection sizes. Each group of three is published together. */
// biome-ignore format: one group a line
const SIZES = [
  [1, 99, 100], [101, 127, 128], [255, 256, 257], [499, 500, 501], [511, 512, 513], [999, 1000, 1001],
  [1023, 1024, 1025], [2000, 2047, 2048], [2500, 3000, 4095], [4096, 4097, 4999], [5000, 5001, 8000],
  [8191, 8192, 8193], [9999, 10_000, 10_001], [2, 16_384, 3],
];

/** Number of arguments that a JavaScript function cannot have. */
const MANY = 150_000;

/** Row ids in the order of code points. In UTF-16 order, the second half would come before the first one. */
const rowIds = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${n < count / 2 ? '\uffff' : '😀'}${String(n).padStart(5, '0')}`);

/**
 * Asserts that lists and totals of a snapshot include all documents of a collection, and that `get()` finds five of
 * them.
 */
const isWhole = async (snapshot: Snapshot, collection: Collection, expected: readonly Document[]): Promise<void> => {
  const { name, key } = collection;
  const documents = expected.length;
  const orders = ordersOf(collection);
  for (const query of [{ order: key }, { order: key, descending: true }, { order: orders.at(-1)!, descending: true }]) {
    sameSequence(collection, await find(snapshot, collection, query), answerOf(expected, query), {
      documents,
      ...query,
    });
  }
  if (snapshot.findJson) {
    sameSequence(collection, await findJson(snapshot, collection), expected, { documents, findJson: {} });
  }
  const counted = await snapshot.totals?.(name, { where: [], by: [], limit: 1 });
  if (counted) sameValue(counted[0]?.count, documents, `the count of ${documents} documents`);
  for (const at of [0, 1, documents >> 1, documents - 2, documents - 1]) {
    const document = expected[at];
    if (!document) continue;
    const values = key.map((field) => document[field] as Scalar);
    sameValue(await snapshot.get(name, values), document, `get("${name}", ${JSON.stringify(values)}) of ${documents}`);
  }
};

/**
 * A dataset whose methods need `this`. They fail if an adapter calls them without the object, as in `const { read } =
 * dataset`.
 */
class OwnedDataset implements Dataset {
  readonly #whole = anotherDataset();
  get manifest() {
    return this.#whole.manifest;
  }
  read(collection: string) {
    return this.#whole.read(collection);
  }
}

const LAST = [...collections.keys()].at(-1)!;

const brokenDataset = (cause: Error, at = LAST): Dataset => {
  const whole = anotherDataset();
  return {
    ...whole,
    async *read(collection) {
      yield* whole.read(collection);
      if (collection === at) throw cause;
    },
  };
};

export const describePublishing = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'publish');
  const test = testsOver(target, obstacle);

  describe('publish(dataset)', () => {
    test('makes a dataset visible only as a whole', async (instance) => {
      let pauses = 0;
      await instance.adapter.publish!(
        observedDataset(async () => {
          pauses++;
          await nothingChanged(instance);
        }),
      );
      assert(pauses >= collections.size);
      await hasItems(instance, itemsOf(SECOND));
    });

    test('rejects with invalid_dataset if the dataset cannot be read to the end, and changes nothing', async (instance) => {
      const cause = new Error('the file ends too early');
      const error = await failsWith('invalid_dataset', () => instance.adapter.publish!(brokenDataset(cause)));
      assert.equal(error.cause, cause);
      await nothingChanged(instance);
    });

    test('rejects with invalid_dataset wherever the dataset ends too early, and does not call changed()', async (instance) => {
      const before = instance.changes.length;
      for (const name of collections.keys()) {
        await failsWith('invalid_dataset', () => instance.adapter.publish!(brokenDataset(new Error('no more'), name)));
        await nothingChanged(instance);
      }
      sameList(instance.changes.slice(before), [], 'changed() not to be called, since nothing changed');
    });

    test('rejects if read() of the dataset throws, and can be called again', async (instance) => {
      const cause = new Error('no such file');
      for (const at of collections.keys()) {
        const whole = anotherDataset();
        const read = (name: string) => {
          if (name === at) throw cause;
          return whole.read(name);
        };
        const [settled] = await Promise.allSettled([instance.adapter.publish!({ ...whole, read })]);
        sameValue(settled!.status, 'rejected', 'publish() to reject');
        await nothingChanged(instance);
      }
      await instance.adapter.publish!(anotherDataset());
      await hasItems(instance, itemsOf(SECOND));
    });

    test('accepts batches of any size: one document, and all at once', async (instance) => {
      const content = { ...rowsWithCrowd(), crowd: rowsWithCrowd()['crowd']!.slice(0, 12_345) };
      for (const [version, size] of [
        ['one-at-a-time', 1],
        ['all-at-once', Number.POSITIVE_INFINITY],
      ] as const) {
        const created = size === 1 ? SECOND_CREATED : THIRD_CREATED;
        await instance.adapter.publish!(datasetOf(version, created, content, size));
        await withSnapshot(instance, async (snapshot) => {
          for (const collection of [items, readings, crowd]) {
            sameSequence(collection, await find(snapshot, collection), content[collection.name as 'crowd']);
          }
        });
      }
    });

    test('accepts any number of documents, including the sizes of pages and batches', async (instance) => {
      const crowded = rowsWithCrowd()['crowd']!;
      for (const [i, sizes] of SIZES.entries()) {
        const [first = 0, second = 0, third = 0] = sizes;
        const content = {
          crowd: crowded.slice(0, first),
          items_twins: rowIds(second).map((id) => ({ ...rows['items_twins']![0]!, id })),
          nothing: rowIds(third).map((id) => ({ id })),
        };
        const created = new Date(Date.parse(SECOND_CREATED) + i).toISOString();
        await instance.adapter.publish!(datasetOf(`of-${sizes.join('-')}`, created, content, first));
        await withSnapshot(instance, async (snapshot) => {
          for (const collection of [crowd, twins, nothing]) {
            await isWhole(snapshot, collection, content[collection.name as 'crowd']);
          }
        });
      }
    });

    test('accepts a batch of any length', async (instance) => {
      const documents = Array.from({ length: MANY }, (_, i) => ({ id: String(i).padStart(6, '0') }));
      const read = async function* (name: string) {
        if (name === nothing.name) yield documents;
      };
      await instance.adapter.publish!({ ...datasetOf('many', SECOND_CREATED), read });
      await withSnapshot(instance, async (snapshot) => {
        const last = documents.slice(-3);
        const found = await find(snapshot, nothing, { range: { field: 'id', from: last[0]!.id } });
        sameSequence(nothing, found, last);
      });
    });

    test('accepts an instance of a class', async (instance) => {
      await instance.adapter.publish!(new OwnedDataset());
      await hasItems(instance, itemsOf(SECOND));
    });

    test('accepts a dataset without rows', async (instance) => {
      await instance.adapter.publish!(datasetOf('without-rows', SECOND_CREATED, {}));
      await withSnapshot(instance, async (snapshot) => {
        for (const collection of collections.values()) sameList(await find(snapshot, collection), [], 'no rows');
      });
      await instance.adapter.publish!(datasetOf('with-rows', THIRD_CREATED));
      await hasItems(instance, rows['items']!);
    });

    test('works again after a failure, under the same version', async ({ adapter, ...instance }) => {
      await adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(() => {});
      await adapter.publish!(anotherDataset());
      await hasItems({ adapter, ...instance }, itemsOf(SECOND));
    });

    test('rejects with conflict for different content under an existing version, and changes nothing', async (instance) => {
      await failsWith('conflict', () => instance.adapter.publish!(anotherDataset(FIRST, SECOND_CREATED)));
      await nothingChanged(instance);
    });

    test('works again after a conflict of versions', async (instance) => {
      for (const _ of [1, 2]) {
        await failsWith('conflict', () => instance.adapter.publish!(anotherDataset(FIRST, THIRD_CREATED)));
      }
      await instance.adapter.publish!(anotherDataset());
      await hasItems(instance, itemsOf(SECOND));
    });

    test('reports its progress up to the last row of each collection', async ({ adapter }) => {
      const written = new Map<string, number>();
      const content = { ...rows, items: itemsOf(SECOND), crowd: rowsWithCrowd()['crowd']!.slice(0, 12) };
      // The batches are small, so that each collection has several batches.
      await adapter.publish!(datasetOf(SECOND, SECOND_CREATED, content, 5), {
        onProgress: (progress) => {
          const before = written.get(progress.collection) ?? 0;
          assert(
            progress.written >= before,
            `progress of ${progress.collection} from ${before} to ${progress.written}`,
          );
          written.set(progress.collection, progress.written);
        },
      });
      const counts = Object.entries(content).map(([name, { length }]) => [name, length]);
      // Empty collections report no progress.
      const told = counts.map(([name]) => [name, written.get(name as string) ?? 0]);
      sameList(told, counts, 'progress up to the last row of each collection');
    });

    test('does not change the documents that it receives', async ({ adapter }) => {
      const whole = datasetOf(SECOND, SECOND_CREATED);
      const given: Document[] = [];
      const manifest = structuredClone(whole.manifest);
      await adapter.publish!({ read: whole.read, manifest });
      sameValue(manifest, whole.manifest, 'the manifest that publish() received to be unchanged');
      await adapter.publish!({
        ...datasetOf(THIRD, THIRD_CREATED),
        async *read(collection) {
          for await (const batch of whole.read(collection)) {
            if (collection === 'items') given.push(...batch);
            yield batch;
          }
        },
      });
      sameList(given, rows['items']!, 'the documents that publish() received to be unchanged');
    });

    testsOfEmpty(target, obstacle)(
      'creates the first snapshot of an empty store; until then, snapshot() throws unavailable',
      async (instance) => {
        await failsWith('unavailable', () => instance.adapter.snapshot());
        await instance.adapter.open();
        await failsWith('unavailable', () => instance.adapter.snapshot());
        await instance.adapter.publish!(brokenDataset(new Error('the file ends too early'))).catch(() => {});
        await failsWith('unavailable', () => instance.adapter.snapshot());
        await instance.adapter.publish!(datasetOf());
        hasVersion(instance, FIRST);
        await eventually('changed() is called', () => instance.changes.includes(FIRST), 2000);
      },
    );
  });
};
