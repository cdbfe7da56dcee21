import assert from 'node:assert/strict';
import type { Document, Query, Scalar, TotalsQuery } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameItems, sameList, sameSequence, sameSet, sameValue } from './expect.js';
import { shapesOfQueries } from './find-checks.js';
import { find, restOf } from './find-rows.js';
import { allRows, crowd, items, pairs, readings, rows, rowsWithCrowd, spots, twins, words } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { itUnless, without } from './obstacles.js';
import { answerOf, inOrder, ordersOf, totalsIn } from './reference.js';
import { CROWD_BLOCKS, CROWD_SEATS } from './rows.js';

const TOTAL = CROWD_BLOCKS * CROWD_SEATS;
/** Number of concurrent reads. With many more, an adapter may reject reads that wait for a connection. */
const TOGETHER = 16;
/** An integer that no numeric key contains. */
const ABSENT = 999_999;
const [BY_SCORE, BY_NAME] = crowd.orders as readonly [readonly string[], readonly string[]];
/** Common sizes of batches, pages and buffers. */
const EDGES = [100, 128, 256, 500, 512, 1000, 1024, 2000, 2048, 4096, 5000, 8192, 10_000];

/**
 * Returns the sorted characters of a key. Keys that are equal when their values are joined have the same characters.
 */
const charactersOf = (key: readonly Scalar[]): string => [...key.join('')].sort().join('');

export const describeMany = (instance: () => Instance, target: AdapterUnderTest): void => {
  const seats = (query: Partial<Query> = {}): Promise<Document[]> =>
    withSnapshot(instance(), (snapshot) => find(snapshot, crowd, query));
  const expected = (query: Partial<Query> = {}) => answerOf(rowsWithCrowd()['crowd']!, { order: crowd.key, ...query });
  const isSequence = async (query: Partial<Query>): Promise<void> =>
    sameSequence(crowd, await seats(query), expected(query), query);

  let slow: Promise<() => Promise<void>> | undefined;
  /** Reads the first batch of a list. Returns a function that reads the rest. */
  const startSlowly = async () => {
    const snapshot = instance().adapter.snapshot();
    const batches = snapshot.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
    const first = await batches.next();
    return async () => {
      const found = [...(first.value ?? []), ...(await restOf(batches))];
      snapshot.release();
      sameSequence(crowd, found, expected(), {});
    };
  };
  before(() => {
    slow = (async () => startSlowly())();
    slow.catch(() => {});
  });

  describe(`a collection of ${TOTAL.toLocaleString('en')} documents`, () => {
    it('returns each document once and in order', () => isSequence({}));

    it('returns all documents by another order and descending', async () => {
      await isSequence({ order: BY_SCORE });
      await isSequence({ descending: true });
      await isSequence({ order: BY_NAME, descending: true });
    });

    it('returns every document as it was published', async () => {
      const found = await seats({ range: { field: 'block', from: 40 } });
      for (const [i, document] of expected({ range: { field: 'block', from: 40 } }).entries()) {
        sameValue(found[i], document, 'find() to return the published document');
      }
    });

    it('returns part of the documents', async () => {
      await isSequence({ equal: { block: 44 }, range: { field: 'seat', from: 990 } });
      for (const block of [-3, 44]) await isSequence({ equal: { block } });
      await isSequence({ range: { field: 'block', from: 2, to: 4 } });
      await isSequence({ range: { field: 'seat', from: 999 }, descending: true });
    });

    it('returns documents by their keys, also by keys that no document has', async () => {
      // Reads all keys of one block, and a few keys of every block.
      const guests = rowsWithCrowd()['crowd']!.filter((_, i) => i % 23 === 0 || Math.floor(i / CROWD_SEATS) === 40);
      await withSnapshot(instance(), async (snapshot) => {
        for (let start = 0; start < guests.length; start += TOGETHER) {
          const some = guests.slice(start, start + TOGETHER);
          const found = await Promise.all(
            some.map(({ block, seat }) => snapshot.get('crowd', [block as number, seat as number])),
          );
          sameList(found, some, 'get() to return the document of each key');
          const [{ block, seat }] = some as [Record<string, number>];
          const absent = await snapshot.get('crowd', [block!, seat! + 3000]);
          sameValue(absent ?? undefined, undefined, `get("crowd", [${block}, ${seat! + 3000}]) to find nothing`);
        }
      });
    });

    it('returns the documents page by page', async () => {
      const byScore = { order: BY_SCORE, range: { field: 'block', from: 1 }, descending: true };
      for (const query of [{ order: crowd.key }, byScore]) {
        const whole = answerOf(rowsWithCrowd()['crowd']!, query);
        for (let start = 0; start < whole.length; start += 9973) {
          const after = query.order.map((field) => whole[start]![field] as Scalar);
          await isSequence({ ...query, after, limit: 1500 });
        }
      }
    });

    it('returns the documents by another order', async () => {
      await isSequence({ order: BY_SCORE, range: { field: 'score', from: 998 } });
      await isSequence({ order: BY_SCORE, equal: { score: 500 }, descending: true });
      await isSequence({ order: BY_NAME, range: { field: 'score', from: 980 } });
    });

    it('returns documents up to the limit, which counts all batches together', async () => {
      for (const edge of EDGES) for (const limit of [edge - 1, edge, edge + 1]) await isSequence({ limit });
      for (const limit of [16_385, 32_769, TOTAL - 1, TOTAL, TOTAL + 1]) await isSequence({ limit });
    });

    it('returns documents from a bound that equals the first or last document of a page', async () => {
      for (const edge of EDGES) {
        const { block, seat, score } = rowsWithCrowd()['crowd']![edge] as { [field: string]: number };
        const inBlock = { equal: { block: block! } };
        await isSequence({ ...inBlock, range: { field: 'seat', from: seat!, to: seat! + 2 } });
        await isSequence({ ...inBlock, range: { field: 'seat', from: seat! - 3, to: seat! - 1 }, descending: true });
        await isSequence({ order: BY_SCORE, equal: { score: score! }, range: { field: 'block', from: block! } });
      }
    });

    it('returns documents up to the limit with a range, another order and descending', async () => {
      for (const limit of [99, 100, 101, 499, 500, 501, 999, 1000, 1001, 2001, 3999, 4000, 4001]) {
        await isSequence({ limit, descending: true });
        await isSequence({ limit, range: { field: 'block', from: 3, to: 6 }, descending: true });
        await isSequence({ limit, range: { field: 'seat', to: 400 } });
        await isSequence({ limit, order: BY_SCORE, range: { field: 'score', from: 100, to: 500 } });
      }
    });
  });

  describe('totals of many documents', () => {
    const isTotalled = (queries: readonly Omit<TotalsQuery, 'limit'>[]): Promise<void> =>
      withSnapshot(instance(), async (snapshot) => {
        for (const query of queries) {
          const asked = { ...query, limit: TOTAL };
          const found = await snapshot.totals!('crowd', asked);
          if (!found) continue;
          const right = totalsIn(crowd, rowsWithCrowd()['crowd']!, asked);
          sameList(inOrder(found), right, `the groups of ${JSON.stringify(query)}`);
        }
      });

    itUnless(without(target, 'totals'), 'count every document, in any number of groups', () =>
      isTotalled([[], ['block'], ['score'], ['seat']].map((by) => ({ where: [], by }))),
    );

    itUnless(without(target, 'totals'), 'apply conditions to every document, and total every number', () =>
      isTotalled([
        { where: [], by: [], of: 'score' },
        { where: [], by: ['block'], of: 'seat' },
        { where: [{ field: 'block', operator: 'gte', value: 0 }], by: ['seat'] },
        { where: [{ field: 'score', operator: 'lt', value: 900 }], by: [], of: 'score' },
        { where: [{ field: 'name', operator: 'not', value: 'The guest in seat 0' }], by: ['block', 'score'] },
        { where: [{ field: 'seat', operator: 'in', value: [0, 999, 2999] }], by: ['block'], of: 'score' },
        { where: [{ field: 'block', operator: 'eq', value: -3 }], by: [], of: 'seat' },
      ]),
    );
  });

  describe('batches', () => {
    it('do not change after they were yielded', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const batches: (readonly Document[])[] = [];
        for await (const batch of snapshot.find('crowd', { order: crowd.key, limit: 3000 })) batches.push(batch);
        sameSequence(crowd, batches.flat(), expected({ limit: 3000 }), { limit: 3000, kept: 'all batches' });
        const documents: Document[] = [];
        for await (const batch of snapshot.find('words', { order: ['value'] })) documents.push(...batch);
        sameList(documents, allRows()['words']!, 'documents not to change after they were yielded');
      });
    });

    it('are lists of documents, and may be empty', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        for (const limit of [0, 1, 2000]) {
          for await (const batch of snapshot.find('crowd', { order: crowd.key, limit })) {
            assert(Array.isArray(batch), `find() yields lists, not ${typeof batch}`);
          }
        }
      });
    });
  });

  describe('concurrent reads', () => {
    it('return their own results', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const gets = rows['items']!.map((item) => snapshot.get('items', [item['id'] as string]));
        const finds = ['north', 'south', 'west'].map((station) => find(snapshot, readings, { equal: { station } }));
        sameItems((await Promise.all(gets)) as Document[], rows['items']!);
        sameSet(readings, (await Promise.all(finds)).flat(), rows['readings']!);
      });
    });

    it('return the documents of their own keys: present, missing, repeated, and of any collection', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const calls = [pairs, items, spots, twins, words].flatMap(({ name, key }) =>
          allRows()[name]!.flatMap((document) => {
            const values = key.map((field) => document[field] as Scalar);
            const absent = [...values.slice(0, -1), typeof values.at(-1) === 'string' ? `${values.at(-1)}?` : ABSENT];
            return [
              { name, key: values, document },
              { name, key: absent, document: undefined },
            ];
          }),
        );
        // Keys whose joined values are equal are sorted next to each other, so that they are read at the same time.
        const sorted = calls.sort((a, b) => charactersOf(a.key).localeCompare(charactersOf(b.key)));
        // Every third call is made twice.
        const twice = sorted.flatMap((call, i) => (i % 3 === 0 ? [call, call] : [call]));
        for (let start = 0; start < twice.length; start += TOGETHER) {
          const some = twice.slice(start, start + TOGETHER);
          const found = await Promise.all(some.map(({ name, key }) => snapshot.get(name, key)));
          for (const [i, { name, key, document }] of some.entries()) {
            sameValue(found[i] ?? undefined, document, `get("${name}", ${JSON.stringify(key)}) among other reads`);
          }
        }
      });
    });

    it('return their own results, even for many queries that differ only in values', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const blocks = Array.from({ length: 40 }, (_, i) => ({ equal: { block: i }, limit: i + 1 }));
        const found = await Promise.all(blocks.map((query) => find(snapshot, crowd, query)));
        for (const [i, query] of blocks.entries()) sameSequence(crowd, found[i]!, expected(query), query);
      });
    });

    it('do not affect each other when interleaved or left early', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const left = snapshot.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
        await left.next();
        const one = snapshot.find('readings', { order: readings.key })[Symbol.asyncIterator]();
        const other = snapshot.find('items', { order: items.key })[Symbol.asyncIterator]();
        const read = { one: [] as Document[], other: [] as Document[] };
        for (let going = true; going; ) {
          const [a, b] = [await one.next(), await other.next()];
          if (!a.done) read.one.push(...a.value);
          if (!b.done) read.other.push(...b.value);
          going = !a.done || !b.done;
        }
        await left.return?.();
        sameSet(readings, read.one, rows['readings']!);
        sameSet(items, read.other, rows['items']!);
      });
    });

    it('return their own results, even if 40 reads are in progress', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const queries = Array.from({ length: 40 }, (_, i) => ({ order: crowd.key, equal: { block: i - 3 } }));
        const reads = queries.map((query) => snapshot.find('crowd', query)[Symbol.asyncIterator]());
        const starts = await Promise.all(reads.map((read) => read.next()));
        for (const [i, query] of [...queries.entries()].reverse()) {
          const found = [...(starts[i]!.value ?? []), ...(await restOf(reads[i]!))];
          sameSequence(crowd, found, expected(query), query);
        }
      });
    });

    it('of one query do not affect each other when interleaved', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const query = { order: crowd.key, range: { field: 'block', to: -1 } };
        const reads = [0, 1].map(() => ({ documents: [] as Document[], batches: snapshot.find('crowd', query) }));
        const iterators = reads.map(({ batches }) => batches[Symbol.asyncIterator]());
        for (let going = true; going; ) {
          going = false;
          for (const [i, iterator] of iterators.entries()) {
            const batch = await iterator.next();
            if (batch.done) continue;
            going = true;
            reads[i]!.documents.push(...batch.value);
            await snapshot.get('crowd', [0, i]);
          }
        }
        for (const { documents } of reads) sameSequence(crowd, documents, expected(query), query);
      });
    });
  });

  describe('a list whose caller pauses after the first batch', () => {
    it('is complete, also if others were read meanwhile', async () => {
      const readRest = await slow!;
      for (let i = 0; i < 100; i++) await withSnapshot(instance(), (snapshot) => find(snapshot, items, { limit: i }));
      const orders = [spots, pairs, words, twins].flatMap((each) =>
        ordersOf(each).map((order) => [each, { order }] as const),
      );
      for (const [collection, query] of [...shapesOfQueries(), ...orders]) {
        for (const more of [{}, { limit: 2 }]) {
          await withSnapshot(instance(), (snapshot) => find(snapshot, collection, { ...query, ...more }));
        }
      }
      await readRest();
    });
  });
};
