/** Tests of `getJson` and `findJson`, which return the same rows as `get` and `find`, but as JSON text. */
import type { Collection, Document, JsonRows, Query, Scalar } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameList, sameValue } from './expect.js';
import { equalities, shapesOfQueries, small } from './find-checks.js';
import { find, findJson, parseRow, parseRows } from './find-rows.js';
import {
  allCollections,
  allRows,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  largeRows,
  nothing,
  type Rows,
  records,
  shapes,
} from './fixture.js';
import { type Instance, startInstance, withSnapshot } from './instance.js';
import { itUnless, without } from './obstacles.js';
import { answerOf } from './reference.js';
import { testsOver } from './tests-over.js';

function* queries(): Generator<[Collection, Partial<Query>]> {
  yield [nothing, {}];
  for (const collection of [shapes, records]) yield [collection, {}];
  for (const collection of small) {
    yield [collection, {}];
    for (const { order, equal } of equalities(collection)) {
      yield [collection, { order, equal: Object.fromEntries(Object.entries(equal!).reverse()) }];
    }
  }
  for (const [collection, query] of shapesOfQueries()) {
    for (const limit of [0, 1, 3, 100]) yield [collection, { ...query, limit }];
  }
  yield [items, { after: ['i03'], limit: 2 }];
  yield [items, { after: ['i03'], descending: true }];
  yield [crowd, {}];
  yield [crowd, { order: crowd.orders![0]!, descending: true, limit: 5000 }];
  yield [crowd, { range: { field: 'seat', to: 400 } }];
}

/** JSON has no -0. */
const asJson = (value: Document | Rows): unknown => JSON.parse(JSON.stringify(value));

export const describeFindJson = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'json');

  describe('findJson(collection, query)', () => {
    let instance: Instance;
    let stored: Rows;
    before(async () => {
      if (obstacle) return;
      const content = { ...allRows(), crowd: largeRows()['crowd']! };
      stored = { ...(asJson(allRows()) as Rows), crowd: content.crowd };
      instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, content), allCollections);
    });
    after(() => instance?.stop());

    itUnless(obstacle, 'yields the JSON text of the documents that find() yields, in the same order', () =>
      withSnapshot(instance, async (snapshot) => {
        for (const [collection, query] of queries()) {
          const documents = stored[collection.name]!;
          const expected = answerOf(documents, { order: collection.key, ...query });
          const found = await findJson(snapshot, collection, query);
          sameList(found, expected, `findJson("${collection.name}", ${JSON.stringify(query)})`);
        }
      }),
    );

    itUnless(obstacle, 'yields text that does not change after it was yielded', () =>
      withSnapshot(instance, async (snapshot) => {
        const kept: JsonRows[] = [];
        for await (const rows of snapshot.findJson!('crowd', { order: crowd.key, limit: 3000 })) {
          kept.push(rows);
          // An adapter could reuse the buffer of the previous batch for this text.
          await snapshot.getJson!('items', ['i01']);
        }
        await findJson(snapshot, crowd, { descending: true });
        const expected = await find(snapshot, crowd, { limit: 3000 });
        sameList(kept.flatMap(parseRows), expected, 'the text of all batches to be unchanged');
      }),
    );

    itUnless(obstacle, 'yields the rows of each query when 40 queries overlap, and some are left early', () =>
      withSnapshot(instance, async (snapshot) => {
        const blocks = Array.from({ length: 40 }, (_, block) => ({ equal: { block: block % 20 } }));
        const reads = blocks.map((query) =>
          snapshot.findJson!('crowd', { order: crowd.key, ...query })[Symbol.asyncIterator](),
        );
        const starts = await Promise.all(reads.map((read) => read.next()));
        for (const [i, read] of reads.entries()) {
          if (i % 4 === 0) await read.return?.();
          else {
            const found = starts[i]!.done ? [] : parseRows(starts[i]!.value);
            for await (const rows of { [Symbol.asyncIterator]: () => read }) found.push(...parseRows(rows));
            sameList(found, await find(snapshot, crowd, blocks[i]), `the rows of ${JSON.stringify(blocks[i])}`);
          }
        }
      }),
    );

    itUnless(obstacle, 'rejects with unknown_collection for an undeclared collection', () =>
      withSnapshot(instance, async (snapshot) => {
        for (const name of ['no_such', 'constructor', '__proto__']) {
          await failsWith('unknown_collection', () => findJson(snapshot, { ...items, name }));
        }
      }),
    );

    itUnless(obstacle, 'rejects with aborted before its next batch when the signal is aborted', () =>
      withSnapshot(instance, async (snapshot) => {
        await failsWith('aborted', () => findJson(snapshot, items, {}, AbortSignal.abort()));
        const controller = new AbortController();
        const batches = snapshot.findJson!('crowd', { order: crowd.key }, controller.signal)[Symbol.asyncIterator]();
        const first = await batches.next();
        controller.abort();
        const isWhole = !first.done && first.value.ends.length === stored['crowd']!.length;
        if (!isWhole) await failsWith('aborted', () => batches.next());
      }),
    );
  });

  describe('getJson(collection, key)', () => {
    const test = testsOver(target, obstacle);

    itUnless(obstacle, 'resolves with the JSON text of the document that get() returns', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, allRows()), allCollections);
      try {
        await withSnapshot(instance, async (snapshot) => {
          for (const { name, key: fields } of allCollections.values()) {
            for (const document of allRows()[name] ?? []) {
              const key = fields.map((field) => document[field] as Scalar);
              const json = await snapshot.getJson!(name, key);
              sameValue(parseRow(json!), asJson(document), `getJson("${name}", ${JSON.stringify(key)})`);
            }
          }
          const zero = await snapshot.getJson!('numbers', [-0]);
          sameValue(zero && parseRow(zero)['value'], 0, 'getJson("numbers", [-0]) to return the document of 0');
          sameValue(await snapshot.getJson!('items', ['zz']), undefined, 'getJson("items", ["zz"]) to find nothing');
        });
      } finally {
        await instance.stop();
      }
    });

    test('rejects like get(): with unknown_collection and aborted', async ({ adapter }) => {
      const snapshot = adapter.snapshot();
      await failsWith('unknown_collection', () => snapshot.getJson!('no_such', ['i01']));
      await failsWith('aborted', () => snapshot.getJson!('items', ['i01'], AbortSignal.abort()));
      snapshot.release();
    });
  });
};
