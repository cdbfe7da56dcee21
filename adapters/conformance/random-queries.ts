/**
 * Makes random queries for a collection. Each part of a query has its own seed, so that a test can change one part
 * only.
 */
import type * as FastCheck from 'fast-check';
import {
  type Collection,
  type Condition,
  type Document,
  filterColumns,
  type Query,
  type Scalar,
  type TotalsQuery,
} from 'metro-forecast-api/adapter';
import type { Check } from './property.js';
import { absentFrom, Random, similarTo } from './random-values.js';
import { answerOf, ordersOf, searchedFor, totalsIn, wordsIn } from './reference.js';

/** The seed of each part of a query. A seed of 0 omits the part, or selects its simplest form. */
export type Seeds = Readonly<Record<Part, number>>;

export const FIND_PARTS = ['way', 'order', 'equal', 'range', 'descending', 'after', 'limit', 'words'] as const;
export const TOTALS_PARTS = ['where', 'by', 'of', 'limit', 'words'] as const;
export const KEY_PARTS = ['keys'] as const;
export const PARTS = [
  'method',
  'collection',
  'version',
  'signal',
  ...FIND_PARTS,
  'where',
  'by',
  'of',
  ...KEY_PARTS,
] as const;
export type Part = (typeof PARTS)[number];

/**
 * Without `noBias`, fast-check prefers small numbers, which would select the first methods and collections more often.
 */
export const anySeed = ({ nat, noBias }: Check): FastCheck.Arbitrary<number> => noBias(nat(1_000_000));

export const seedsOf = (check: Check): FastCheck.Arbitrary<Seeds> => {
  const { constantFrom, oneof, record } = check;
  const always: readonly Part[] = ['method', 'collection', 'version'];
  const seed = anySeed(check);
  const orNone = oneof(constantFrom(0), seed);
  return record(
    Object.fromEntries(PARTS.map((part) => [part, always.includes(part) ? seed : orNone])) as Record<Part, typeof seed>,
  );
};

const LIMITS = [
  0,
  1,
  2,
  3,
  7,
  10,
  50,
  99,
  100,
  101,
  200,
  250,
  256,
  500,
  512,
  1000,
  1001,
  2 ** 31,
  2 ** 32,
  Number.MAX_SAFE_INTEGER,
];
/** Lengths of lists. Some stores split longer lists, or limit the parameters of a statement. */
export const LIST_LENGTHS: readonly number[] = [
  ...[5, 10, 16, 30, 64, 99, 100, 101, 127, 128, 129, 150, 199, 200, 201, 250, 255, 256, 257, 499, 500, 501, 512],
  ...[999, 1000, 1001, 1024, 1025, 1999, 2000, 2001, 2099, 2100, 2101, 2500, 4097],
];
/** Random queries use only these lengths, because making long lists takes time. */
const SHORT_LENGTHS = LIST_LENGTHS.slice(0, 12);
const OPERATORS = ['eq', 'not', 'in', 'gt', 'gte', 'lt', 'lte', 'null'] as const;
const FALSE_OR_NULL = ['eq', 'not', 'null'] as const;
/** Sums of these fields are exact. */
export const SUMMED: readonly string[] = ['share', 'part'];

type Types = Readonly<Record<string, { readonly type?: unknown }>>;

const known = new WeakMap<Collection, Types>();

const typesOf = (collection: Collection): Types => {
  const types = known.get(collection) ?? (filterColumns(collection) as Types);
  known.set(collection, types);
  return types;
};

/**
 * Usually returns the value of a field in a random document. Sometimes returns a similar value, or a value that
 * documents rarely contain.
 */
const valueFrom = (random: Random, documents: readonly Document[], field: string, types: Types): Scalar | boolean => {
  const type = String(types[field]!.type);
  const found = documents.length > 0 ? random.pick(documents)[field] : undefined;
  if (type === 'boolean') return typeof found === 'boolean' ? found : random.oneIn(2);
  if (found === undefined || found === null || random.oneIn(8)) return absentFrom(random, type);
  if (random.oneIn(6)) {
    const similar = similarTo(random, found as Scalar);
    if (typeof similar === 'string' || (type === 'integer' ? Number.isSafeInteger : Number.isFinite)(similar)) {
      return similar;
    }
  }
  return found as Scalar;
};

const wordsFor = (random: Random, collection: Collection, documents: readonly Document[]): readonly string[] =>
  Array.from({ length: 1 + random.below(3) }, () => {
    const found = documents.length > 0 ? [...wordsIn(collection, random.pick(documents))] : [];
    const word = found.length > 0 ? random.pick(found) : 'none';
    if (random.oneIn(6)) return [word, `${word}*`];
    if (random.oneIn(3)) return `${[...word].slice(0, 1 + random.below(4)).join('')}*`;
    return random.oneIn(6) ? `${word}x` : word;
  }).flat();

const limitOf = (seed: number): number => new Random(seed).pick(LIMITS);

/** Returns a random document, but more often the first or the last one, where a list starts or ends. */
const documentNear = (random: Random, documents: readonly Document[]): Document =>
  random.oneIn(6) ? documents.at(random.oneIn(2) ? 0 : -1)! : random.pick(documents);

/** Returns a limit that is one less than a number of documents or groups, equal to it, or one more. */
const countNear = (seed: number, count: number): number => Math.max(1, count + new Random(seed).pick([-1, 0, 1]));

/** @param searches whether the query may contain words */
export const findQueryOf = (
  seeds: Seeds,
  collection: Collection,
  documents: readonly Document[],
  searches = false,
): Query => {
  const types = typesOf(collection);
  const orders = ordersOf(collection);
  const order = orders[seeds.order % orders.length]!;
  const from = (part: Part) => new Random(seeds[part]);
  const equal: Record<string, Scalar> = {};
  const isEmptyEqual = seeds.equal % 10 === 1;
  if (seeds.equal > 0 && !isEmptyEqual && documents.length > 0) {
    const random = from('equal');
    const document = random.pick(documents);
    for (const field of order.slice(0, 1 + random.below(order.length))) {
      equal[field] = (random.oneIn(12) ? valueFrom(random, documents, field, types) : document[field]) as Scalar;
    }
  }
  const free = order.slice(Object.keys(equal).length);
  const matching = answerOf(documents, { order, equal });
  const near = matching.length > 0 ? matching : documents;
  const query: { -readonly [Name in keyof Query]: Query[Name] } = { order };
  if (free.length < order.length || isEmptyEqual) query.equal = equal;
  if (seeds.range > 0 && free.length > 0) {
    const random = from('range');
    const field = free[random.oneIn(2) ? 0 : random.below(free.length)]!;
    const bound = () =>
      (random.oneIn(6) && near.length > 0
        ? documentNear(random, near)[field]
        : valueFrom(random, near, field, types)) as Scalar;
    const kind = random.below(8);
    const [hasFrom, hasTo] = [kind > 2, kind !== 0 && kind < 6];
    query.range = { field, ...(hasFrom && { from: bound() }), ...(hasTo && { to: bound() }) };
  }
  if (seeds.descending > 0) query.descending = seeds.descending % 4 > 0;
  if (seeds.after > 0 && free.length > 0 && near.length > 0) {
    const random = from('after');
    const document = documentNear(random, near);
    query.after = free.map((field) =>
      random.oneIn(8) ? (valueFrom(random, near, field, types) as Scalar) : (document[field] as Scalar),
    );
  }
  if (seeds.words > 0 && searches) query.words = wordsFor(from('words'), collection, documents);
  if (seeds.limit > 0) {
    const isNear = seeds.limit % 3 === 0;
    query.limit = isNear
      ? countNear(seeds.limit, searchedFor(collection, documents, query).length)
      : limitOf(seeds.limit);
  }
  return query;
};

const conditionFrom = (random: Random, documents: readonly Document[], types: Types, field: string): Condition => {
  const operator = random.pick(types[field]!.type === 'boolean' ? FALSE_OR_NULL : OPERATORS);
  const value = () => valueFrom(random, documents, field, types);
  if (operator === 'null') return { field, operator, value: random.oneIn(2) };
  if (operator === 'in') {
    const length = random.oneIn(3) ? random.pick(SHORT_LENGTHS) : random.below(5);
    return { field, operator, value: Array.from({ length }, value) as Scalar[] };
  }
  return { field, operator, value: value() };
};

/** Returns one to three conditions. In a quarter of the lists, all conditions are on the same field. */
const conditionsFrom = (random: Random, documents: readonly Document[], types: Types): readonly Condition[] => {
  const fields = Object.keys(types);
  const only = random.oneIn(4) ? random.pick(fields) : undefined;
  return Array.from({ length: 1 + random.below(3) }, () =>
    conditionFrom(random, documents, types, only ?? random.pick(fields)),
  );
};

export const totalsQueryOf = (
  seeds: Seeds,
  collection: Collection,
  documents: readonly Document[],
  searches: boolean,
): TotalsQuery => {
  const types = typesOf(collection);
  const from = (part: Part) => new Random(seeds[part]);
  const fields = Object.keys(types);
  const numbers = fields.filter((field) => types[field]!.type === 'number' || types[field]!.type === 'integer');
  const numeric = [...SUMMED.filter((field) => numbers.includes(field)), ...numbers];
  const by = seeds.by === 0 ? [] : [from('by').pick(fields)];
  const other = from('by').below(2 * fields.length);
  if (by.length > 0 && other < fields.length && !by.includes(fields[other]!)) by.push(fields[other]!);
  const query = {
    where: seeds.where === 0 ? [] : conditionsFrom(from('where'), documents, types),
    by,
    ...(seeds.of > 0 && numeric.length > 0 && { of: from('of').pick(numeric) }),
    ...(seeds.words > 0 && searches && { words: wordsFor(from('words'), collection, documents) }),
    limit: 10_000,
  };
  if (seeds.limit === 0) return query;
  if (seeds.limit % 3 > 0) return { ...query, limit: 1 + (limitOf(seeds.limit) % 300) };
  return { ...query, limit: countNear(seeds.limit, totalsIn(collection, documents, query).length) };
};

/** Returns keys for concurrent reads. Some keys are repeated, and some belong to no document. */
export const keysOf = (seed: number, collection: Collection, documents: readonly Document[]): readonly Scalar[][] => {
  const random = new Random(seed);
  const types = typesOf(collection);
  // With many more keys, an adapter may reject reads that wait for a connection.
  const count = seed === 0 ? 1 : 1 + random.below(16);
  return Array.from({ length: count }, () => {
    const document = documents.length > 0 ? documentNear(random, documents) : {};
    const key = collection.key.map((field) => (document[field] ?? valueFrom(random, [], field, types)) as Scalar);
    if (!random.oneIn(3)) return key;
    const at = random.below(key.length);
    return key.with(at, valueFrom(random, documents, collection.key[at]!, types) as Scalar);
  });
};
