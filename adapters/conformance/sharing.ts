/** Tests that modifying a returned document does not affect other callers. */
import type { Dataset, Document } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { readsEvery, readsKeys } from './every-row.js';
import { sameList, sameValue } from './expect.js';
import { find } from './find-rows.js';
import {
  collections,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsOf,
  type Rows,
  rows,
  rowsWithCrowd,
  shapes,
} from './fixture.js';
import { type Instance, startInstance, withSnapshot } from './instance.js';
import { without } from './obstacles.js';
import { testsOver } from './tests-over.js';
import { shapes as cases } from './tricky-values.js';

type Writable = Record<string, unknown>;

/** Each function modifies a document, or throws if the document is frozen. */
const changes: readonly ((document: Writable) => unknown)[] = [
  (document) => Object.assign(document, { id: 'changed' }),
  (document) => Object.assign(document, { added: true }),
  (document) => delete document['list'],
  (document) => (document['list'] as unknown[]).push('added'),
  (document) => Object.assign((document['list'] as Writable[])[2]!, { three: 'changed' }),
  (document) => Object.assign((document['object'] as { x: Writable }).x, { y: 'changed' }),
];

const vandalize = (document: Document | undefined): void => {
  for (const change of changes.toReversed()) {
    try {
      change(document as Writable);
    } catch {
      // Frozen documents cannot be modified.
    }
  }
};

const { document: NESTED } = cases.find(({ document }) => document['id'] === 'nested')!;

export const describeSharing = (instance: () => Instance): void => {
  describe('a returned document that its caller changes', () => {
    const readers = {
      'get()': (of: Instance) => withSnapshot(of, (snapshot) => snapshot.get('shapes', ['nested'])),
      'find()': (of: Instance) =>
        withSnapshot(of, async (snapshot) => (await find(snapshot, shapes, { equal: { id: 'nested' } }))[0]),
      'find() of all': (of: Instance) =>
        withSnapshot(of, async (snapshot) => (await find(snapshot, shapes)).find(({ id }) => id === 'nested')),
    };
    for (const [changed, read] of Object.entries(readers)) {
      it(`does not affect other callers: one of ${changed}`, async () => {
        vandalize(await read(instance()));
        for (const [name, again] of Object.entries(readers)) {
          sameValue(await again(instance()), NESTED, `a later ${name} to return the published document`);
        }
      });
    }

    it('does not affect other callers of the same snapshot, or documents that they already have', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const [mine, theirs] = [await snapshot.get('shapes', ['nested']), await snapshot.get('shapes', ['nested'])];
        vandalize(mine);
        sameValue(theirs, NESTED, 'the document of another caller to stay as it was published');
        sameValue(await snapshot.get('shapes', ['nested']), NESTED, 'get() to return the published document');
      });
    });
  });
};

/** Changes every array, object and value in a JSON value. The arrays and objects stay the same. */
const overwrite = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  const members = value as Writable;
  for (const [name, each] of Object.entries(members)) {
    if (typeof each === 'object' && each !== null) overwrite(each);
    else if (name !== 'id') members[name] = typeof each === 'number' ? each + 1 : 'changed';
  }
  if (Array.isArray(value)) value.push('added');
  else members['added'] = true;
};

/** Rows with nested values in every collection. */
const handedOver = (): Rows =>
  Object.fromEntries(
    Object.entries({ ...rows, nothing: [{ id: 'i01' }], crowd: rowsWithCrowd()['crowd']!.slice(0, 50) }).map(
      ([name, documents]) => [
        name,
        documents.map((document, i) => ({
          ...document,
          list: [i, [i], { three: [i, 'x'] }, []],
          object: { x: { y: { z: [i] } }, none: null, text: `text ${i}` },
        })),
      ],
    ),
  );

/** Tests that modifying documents after `publish()` does not affect the store. */
export const describeHandingOver = (target: AdapterUnderTest): void => {
  describe('documents', () => {
    testsOver(target, without(target, 'publish'))(
      'and the manifest belong to their publisher after publish() has resolved',
      async (instance) => {
        const given: Writable[] = [];
        const content = handedOver();
        const dataset = datasetOf('handed-over', '2024-02-01T00:00:00Z', content, 5);
        const manifest = structuredClone(dataset.manifest) as unknown as { created: string; sources: Writable[] };
        await instance.adapter.publish!({
          ...dataset,
          manifest: manifest as unknown as Dataset['manifest'],
          async *read(name) {
            for await (const batch of dataset.read(name)) {
              given.push(...(batch as Writable[]));
              yield batch;
            }
          },
        });
        const keys = given.map(({ id }) => id);
        for (const [i, document] of given.entries()) {
          overwrite(document);
          if (i % 2) document['id'] = keys[(i + 1) % keys.length];
        }
        manifest.sources[0]!['title'] = 'changed';
        manifest.sources.pop();
        manifest.created = '2000-01-01T00:00:00Z';
        await withSnapshot(instance, async (snapshot) =>
          sameValue(snapshot.manifest, dataset.manifest, 'the manifest as it was published'),
        );
        // Reads by key come first, because a cache can contain the documents of the publisher.
        const readsAll = () =>
          withSnapshot(instance, async (snapshot) => {
            for (const collection of collections.values()) {
              await readsKeys(snapshot, collection, content[collection.name]!);
              await readsEvery(snapshot, collection, content[collection.name]!);
            }
          });
        await readsAll();
        // An adapter that stores only changed rows must not compare them with the documents of the publisher.
        await instance.adapter.publish!(datasetOf('later', '2024-03-01T00:00:00Z', content));
        await readsAll();
        if (!instance.adapter.versions) return;
        await instance.adapter.versions.activate('handed-over');
        await readsAll();
      },
    );
  });

  describe('two stores with the same version', () => {
    it('keep their own documents', async () => {
      const other = itemsOf('of the other store');
      const one = await startInstance(target);
      const two = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, { ...rows, items: other }));
      try {
        for (const [instance, expected] of [
          [one, rows['items']!],
          [two, other],
          [one, rows['items']!],
        ] as const) {
          await withSnapshot(instance, async (snapshot) => {
            sameList(await find(snapshot, items), expected, 'the items of its own store');
            for (const id of ['i02', 'i01']) {
              const item = expected.find((each) => each['id'] === id);
              sameValue(await snapshot.get('items', [id]), item, 'the item of its own store');
            }
          });
        }
      } finally {
        await one.stop();
        await two.stop();
      }
    });
  });
};
