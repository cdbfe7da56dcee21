/** Compares an adapter with the reference over thousands of generated queries and datasets, and shrinks what differs. */
import assert from 'node:assert/strict';
import type * as FastCheck from 'fast-check';
import type { Collection, Document } from '../core/contracts/dataset.js';
import type { Query, Scalar } from '../core/contracts/storage.js';
import { compareBy } from '../core/storage/compare.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameSequence, sameValue } from './expect.js';
import { allRows, inBatches, items, manifestOf, numbers, pairs, readings, spots, words } from './fixture.js';
import { cannotChange, find, type Instance, itUnless, makeCurrent, startInstance, withSnapshot } from './instance.js';
import { answerOf, ordersOf } from './reference.js';
import { absentNumbers, absentWords, numbers as someNumbers, words as someWords } from './tricky-values.js';

const QUERIES = 3000;
const DATASETS = 150;
/** What slow adapters get, so that the suite ends in time: they are asked less. */
const LIMIT_MS = 4000;
/** The same queries at every run, so that an adapter passes or fails by what it does. */
const SEED = 24;

/** An optional peer dependency: undefined where an author has not installed it. */
const fc: typeof FastCheck | undefined = await import('fast-check').catch((error: NodeJS.ErrnoException) => {
  if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
});

/** Values that documents may not have, by the type of a field. */
const NEIGHBOURS: Readonly<Record<string, readonly Scalar[]>> = {
  string: ['', ...absentWords],
  number: [0, -0, ...absentNumbers],
  integer: [0, -0, ...absentNumbers.filter(Number.isSafeInteger)],
};

const typeOf = (collection: Collection, field: string): string =>
  (collection.schema['properties'] as Record<string, { type: string }>)[field]!.type;

const WITHOUT = !fc && 'fast-check is not installed: npm install --save-dev fast-check';

type Check = typeof FastCheck;

/** Values that a query may name: those that documents have, and neighbours of them. */
const valueFor = (
  { constantFrom, oneof }: Check,
  collection: Collection,
  documents: readonly Document[],
  field: string,
) => {
  const there = documents.map((document) => document[field] as Scalar);
  const near = NEIGHBOURS[typeOf(collection, field)]!;
  const known = constantFrom(...(there.length > 0 ? there : near));
  return oneof({ arbitrary: known, weight: 4 }, { arbitrary: constantFrom(...near), weight: 1 });
};

/** Any query that core lets pass. It shrinks to one of fewer parts. */
const queryOf = (check: Check, collection: Collection, documents: readonly Document[]): FastCheck.Arbitrary<Query> => {
  const { boolean, constantFrom, nat, option, record, tuple } = check;
  const given = (field: string) => valueFor(check, collection, documents, field);
  return constantFrom(...ordersOf(collection)).chain((order) =>
    nat(order.length).chain((fixed) => {
      const free = order.slice(fixed);
      const range =
        free.length === 0
          ? check.constant(null)
          : option(
              constantFrom(...free).chain((field) =>
                tuple(option(given(field)), option(given(field))).map(([from, to]) => ({
                  field,
                  ...(from !== null && { from }),
                  ...(to !== null && { to }),
                })),
              ),
            );
      return record({
        equal: tuple(...order.slice(0, fixed).map(given)),
        // Mostly those of one document, or hardly anything would be found.
        like: nat(Math.max(0, documents.length - 1)),
        odd: nat(9),
        range,
        descending: boolean(),
        limit: option(nat(documents.length + 2)),
      }).map(({ equal, like, odd, range, descending, limit }): Query => {
        const values =
          odd === 9 ? equal : order.slice(0, fixed).map((field, i) => (documents[like]?.[field] as Scalar) ?? equal[i]);
        const bounded = range && ('from' in range || 'to' in range);
        return {
          order,
          ...(fixed > 0 && { equal: Object.fromEntries(values.map((value, i) => [order[i]!, value as Scalar])) }),
          ...(bounded && { range }),
          ...(descending && { descending }),
          ...(limit !== null && { limit }),
        };
      });
    }),
  );
};

const answersRightly = async (
  instance: Instance,
  collection: Collection,
  documents: readonly Document[],
  query: Query,
) =>
  withSnapshot(instance, async (snapshot) =>
    sameSequence(collection, await find(snapshot, collection, query), answerOf(documents, query), query),
  );

/** What datasets are generated of: a key of two types, orders by both, and documents with any field. */
const generated: Collection = {
  name: 'generated',
  key: ['name', 'part'],
  orders: [
    ['part', 'name'],
    ['rank', 'group', 'name', 'part'],
    ['group', 'rank', 'part', 'name'],
  ],
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      part: { type: 'integer' },
      rank: { type: 'number' },
      group: { type: 'string' },
      note: { type: ['string', 'null'] },
    },
    required: ['name', 'part', 'rank', 'group'],
  },
};

const integers = someNumbers.filter(Number.isSafeInteger);

/** Any documents with keys of their own, in key order, and some queries of them. They shrink to fewer and simpler ones. */
const datasetAnd = (check: Check) => {
  const { constantFrom, oneof, string, integer, double, option, jsonValue, dictionary } = check;
  const text = oneof(
    constantFrom(...someWords.slice(0, 60)),
    string({ unit: 'grapheme', maxLength: 5 }),
    string({ unit: 'binary', maxLength: 3 }),
  );
  const number = oneof(constantFrom(...someNumbers), double({ noNaN: true, noDefaultInfinity: true }), integer());
  const document = check.record(
    {
      name: text,
      part: oneof(integer({ min: -2, max: 2 }), constantFrom(...integers)),
      rank: oneof(integer({ min: -1, max: 1 }), number),
      group: oneof(constantFrom('', 'a', 'B', 'b'), text),
      note: option(text),
      extra: jsonValue({ maxDepth: 3 }),
      more: dictionary(
        text.filter((name) => name !== '__proto__' && !name.includes('\0')),
        oneof(number, text),
        { maxKeys: 3 },
      ),
    },
    { requiredKeys: ['name', 'part', 'rank', 'group'] },
  );
  const documents = check.uniqueArray(document, {
    maxLength: 8,
    selector: ({ name, part }) => JSON.stringify([name, part + 0]),
  });
  return documents.chain((list) => {
    const inOrder = (list as Document[]).toSorted(compareBy(generated.key));
    return check.tuple(
      check.constant(inOrder),
      check.array(queryOf(check, generated, inOrder), { minLength: 1, maxLength: 8 }),
    );
  });
};

/** As JSON carries it: -0 becomes 0. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Runs a property, and fails with the smallest example that breaks it. */
const holds = async <T>(
  check: Check,
  arbitrary: FastCheck.Arbitrary<T>,
  runs: number,
  test: (value: T) => Promise<void>,
  shown: (value: T) => string,
): Promise<void> => {
  let failure: Error | undefined;
  const property = check.asyncProperty(arbitrary, async (value) => {
    try {
      await test(value);
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  });
  const result = await check.check(property, {
    numRuns: runs,
    seed: SEED,
    interruptAfterTimeLimit: LIMIT_MS,
    markInterruptAsFailure: false,
  });
  if (!result.failed) return;
  const [smallest] = result.counterexample as [T];
  const found = `found by ${result.numRuns} examples, made smaller ${result.numShrinks} times`;
  assert.fail(`${failure?.message}\n  the smallest example, ${found}:\n${shown(smallest)}\n`);
};

/** By queries of the suite's own documents. */
export const describeGeneratedQueries = (instance: () => Instance): void => {
  describe('generated queries', () => {
    for (const collection of [items, readings, pairs, spots, words, numbers]) {
      itUnless(WITHOUT, `of "${collection.name}" are answered as the reference answers them`, async function () {
        this.timeout(60_000);
        const documents = allRows()[collection.name]!;
        await holds(
          fc!,
          queryOf(fc!, collection, documents),
          QUERIES / 6,
          (query) => answersRightly(instance(), collection, documents, query),
          (query) => `  find("${collection.name}", ${JSON.stringify(query)})`,
        );
      });
    }
  });
};

/** By datasets that are made up, published and read. */
export const describeGeneratedDatasets = (target: AdapterUnderTest): void => {
  const obstacle = WITHOUT || cannotChange(target);
  const named = new Map([[generated.name, generated]]);
  const datasetOf = (version: number, documents: readonly Document[]) => ({
    manifest: manifestOf(`generated-${version}`, new Date(Date.UTC(2024, 0, 1) + version).toISOString()),
    read: () => inBatches(documents, 3),
  });

  describe('generated datasets', function () {
    this.timeout(60_000);

    itUnless(obstacle, 'come back as they were published, and are found by any query', async () => {
      let version = 0;
      const instance = await startInstance(target, datasetOf(version, []), named);
      const isRight = async ([documents, queries]: readonly [readonly Document[], readonly Query[]]): Promise<void> => {
        await makeCurrent(target, instance, datasetOf(++version, documents));
        await withSnapshot(instance, async (snapshot) => {
          const found = plain(await find(snapshot, generated));
          for (const [i, document] of documents.entries()) {
            const key = generated.key.map((field) => document[field] as Scalar);
            sameValue(found[i], plain(document), 'find() to answer with the published document');
            const got = await snapshot.get(generated.name, key);
            sameValue(got && plain(got), plain(document), 'get() to answer with the published document');
          }
        });
        for (const query of queries) await answersRightly(instance, generated, documents, query);
      };
      const shown = ([documents, queries]: readonly [readonly Document[], readonly Query[]]): string => {
        const asked = queries.map((query) => JSON.stringify(query)).join(' ');
        return `  published: ${JSON.stringify(documents)}\n  asked: ${asked}`;
      };
      try {
        await holds(fc!, datasetAnd(fc!), DATASETS, isRight, shown);
      } finally {
        await instance.stop();
      }
    });
  });
};
