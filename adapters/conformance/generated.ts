/**
 * Compares the adapter with a reference in thousands of generated queries and datasets, and shrinks the examples that
 * fail.
 */
import type * as FastCheck from 'fast-check';
import { type Collection, compareBy, type Document, type Query, type Scalar } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import { allRows, inBatches, items, numbers, pairs, readings, spots, words } from './fixture.js';
import { type Instance, makeCurrent, startInstance, withSnapshot } from './instance.js';
import { manifestOf } from './manifest.js';
import { cannotChange, itUnless } from './obstacles.js';
import { type Check, fc, holds, WITHOUT_FAST_CHECK } from './property.js';
import { answerOf, ordersOf } from './reference.js';
import { absentNumbers, absentWords, numbers as someNumbers, words as someWords } from './tricky-values.js';

const QUERIES = 3000;
const DATASETS = 150;

/** Values that documents rarely contain, by type of field. */
const NEIGHBOURS: Readonly<Record<string, readonly Scalar[]>> = {
  string: ['', ...absentWords],
  number: [0, -0, ...absentNumbers],
  integer: [0, -0, ...absentNumbers.filter(Number.isSafeInteger)],
};

const typeOf = (collection: Collection, field: string): string =>
  (collection.schema['properties'] as Record<string, { type: string }>)[field]!.type;

/** Selects a value for a query: usually from a document, and sometimes from `NEIGHBOURS`. */
interface ValueRecipe {
  readonly pick: number;
  readonly odd: number;
}

/**
 * Describes a query on any collection. Each number selects an option modulo the number of options, so that fast-check
 * can shrink the query and the documents independently.
 */
interface QueryRecipe {
  readonly order: number;
  readonly fixed: number;
  readonly like: number;
  readonly equal: readonly ValueRecipe[];
  readonly range: { readonly field: number; readonly from: ValueRecipe | null; readonly to: ValueRecipe | null } | null;
  readonly descending: boolean;
  readonly after: { readonly like: number; readonly odd: readonly (ValueRecipe | null)[] } | null;
  readonly limit: number | null;
}

const ODD = 5;

const queryRecipe = ({ array, boolean, nat, option, record }: Check): FastCheck.Arbitrary<QueryRecipe> => {
  const value = record({ pick: nat(500), odd: nat(ODD) });
  return record({
    order: nat(10),
    fixed: nat(11),
    like: nat(500),
    equal: array(value, { maxLength: 4 }),
    range: option(record({ field: nat(10), from: option(value), to: option(value) })),
    descending: boolean(),
    after: option(record({ like: nat(500), odd: array(option(value), { maxLength: 4 }) })),
    limit: option(nat(100)),
  });
};

const queryOf = (recipe: QueryRecipe, collection: Collection, documents: readonly Document[]): Query => {
  const among = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!;
  const orders = ordersOf(collection);
  const order = among(orders, recipe.order);
  const fixed = recipe.fixed % (order.length + 1);
  const valueFor = (field: string, { pick, odd }: ValueRecipe): Scalar =>
    odd === ODD || documents.length === 0
      ? among(NEIGHBOURS[typeOf(collection, field)]!, pick)
      : (among(documents, pick)[field] as Scalar);
  const placeFor = (field: string, { like, odd }: NonNullable<QueryRecipe['after']>, i: number): Scalar =>
    valueFor(field, odd[i] ?? { pick: like, odd: 0 });
  // Most values come from the same document. With values from different documents, most queries would find nothing.
  const equal = order.slice(0, fixed).map((field, i) => {
    const other = recipe.equal[i];
    return [field, valueFor(field, other?.odd === ODD ? other : { pick: recipe.like, odd: 0 })] as const;
  });
  const free = order.slice(fixed);
  const { field = 0, from = null, to = null } = free.length > 0 ? (recipe.range ?? {}) : {};
  const bounded = among(free, field);
  return {
    order,
    ...(fixed > 0 && { equal: Object.fromEntries(equal) }),
    ...((from || to) && {
      range: {
        field: bounded,
        ...(from && { from: valueFor(bounded, from) }),
        ...(to && { to: valueFor(bounded, to) }),
      },
    }),
    ...(recipe.descending && { descending: true }),
    ...(recipe.after && free.length > 0 && { after: free.map((field, i) => placeFor(field, recipe.after!, i)) }),
    ...(recipe.limit !== null && { limit: recipe.limit % (documents.length + 3) }),
  };
};

const answersRightly = async (
  instance: Instance,
  collection: Collection,
  documents: readonly Document[],
  query: Query,
) =>
  withSnapshot(instance, async (snapshot) => {
    const expected = answerOf(documents, query);
    sameSequence(collection, await find(snapshot, collection, query), expected, query);
    if (!snapshot.findJson) return;
    sameSequence(collection, await findJson(snapshot, collection, query), expected, { findJson: query });
  });

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
  const inOrder = documents.map((list) => (list as Document[]).toSorted(compareBy(generated.key)));
  return check.tuple(inOrder, check.array(queryRecipe(check), { maxLength: 8 }));
};

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const describeGeneratedQueries = (instance: () => Instance): void => {
  describe('generated queries', () => {
    for (const collection of [items, readings, pairs, spots, words, numbers]) {
      itUnless(WITHOUT_FAST_CHECK, `of "${collection.name}" return what the reference returns`, async () => {
        const documents = allRows()[collection.name]!;
        await holds(
          queryRecipe(fc!),
          QUERIES / 6,
          (recipe) => answersRightly(instance(), collection, documents, queryOf(recipe, collection, documents)),
          (recipe) => `  find("${collection.name}", ${JSON.stringify(queryOf(recipe, collection, documents))})`,
        );
      });
    }
  });
};

export const describeGeneratedDatasets = (target: AdapterUnderTest): void => {
  const obstacle = WITHOUT_FAST_CHECK || cannotChange(target);
  const named = new Map([[generated.name, generated]]);
  const datasetOf = (version: number, documents: readonly Document[]) => ({
    manifest: manifestOf(`generated-${version}`, new Date(Date.UTC(2024, 0, 1) + version).toISOString()),
    read: () => inBatches(documents, 3),
  });

  describe('generated datasets', () => {
    itUnless(obstacle, 'are returned as they were published, by get() and by any query', async () => {
      let version = 0;
      const instance = await startInstance(target, datasetOf(version, []), named);
      type Example = readonly [readonly Document[], readonly QueryRecipe[]];
      const isRight = async ([documents, recipes]: Example): Promise<void> => {
        await makeCurrent(target, instance, datasetOf(++version, documents));
        await withSnapshot(instance, async (snapshot) => {
          const found = plain(await find(snapshot, generated));
          const stored = snapshot.findJson && plain(await findJson(snapshot, generated));
          for (const [i, document] of documents.entries()) {
            const key = generated.key.map((field) => document[field] as Scalar);
            sameValue(found[i], plain(document), 'find() to return the published document');
            const got = await snapshot.get(generated.name, key);
            sameValue(got && plain(got), plain(document), 'get() to return the published document');
            if (stored) sameValue(stored[i], plain(document), 'findJson() to return the published document');
          }
        });
        for (const recipe of recipes) {
          await answersRightly(instance, generated, documents, queryOf(recipe, generated, documents));
        }
      };
      const shown = ([documents, recipes]: Example): string => {
        const asked = recipes.map((recipe) => JSON.stringify(queryOf(recipe, generated, documents))).join(' ');
        return `  published: ${JSON.stringify(documents)}\n  asked: ${asked}`;
      };
      try {
        await holds(datasetAnd(fc!), DATASETS, isRight, shown);
      } finally {
        await instance.stop();
      }
    });
  });
};
