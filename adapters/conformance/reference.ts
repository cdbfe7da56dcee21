/** A reference implementation, which computes the correct result of every query in the simplest way. */
import {
  type Collection,
  type Condition,
  compareBy,
  compareScalars,
  type Document,
  type Group,
  type Query,
  type Scalar,
  type TotalsQuery,
  wordsOf,
} from 'metro-forecast-api/adapter';

/** Caches sorted documents by order, so that large collections are not sorted again for each query. */
const sorted = new WeakMap<readonly Document[], Map<string, readonly Document[]>>();

const sortedBy = (documents: readonly Document[], order: readonly string[]): readonly Document[] => {
  const orders = sorted.get(documents) ?? new Map<string, readonly Document[]>();
  sorted.set(documents, orders);
  const known = orders.get(order.join('\0')) ?? documents.toSorted(compareBy(order));
  orders.set(order.join('\0'), known);
  return known;
};

export const answerOf = (
  documents: readonly Document[],
  { order, equal = {}, range, descending, after, limit }: Query,
): readonly Document[] => {
  const free = order.slice(Object.keys(equal).length);
  const isBehind = (document: Document, after: readonly Scalar[]): boolean => {
    const different = free.findIndex((field, i) => compareScalars(document[field] as Scalar, after[i]!) !== 0);
    if (different < 0) return false;
    const order = compareScalars(document[free[different]!] as Scalar, after[different]!);
    return descending ? order < 0 : order > 0;
  };
  let found = sortedBy(documents, order);
  for (const [field, value] of Object.entries(equal)) found = found.filter((document) => document[field] === value);
  const { field = '', from, to } = range ?? {};
  if (from !== undefined) found = found.filter((document) => compareScalars(document[field] as Scalar, from) >= 0);
  if (to !== undefined) found = found.filter((document) => compareScalars(document[field] as Scalar, to) <= 0);
  if (after) found = found.filter((document) => isBehind(document, after));
  return (descending ? found.toReversed() : found).slice(0, limit);
};

const byKey = new WeakMap<readonly Document[], ReadonlyMap<string, Document>>();

/** Returns a different string for each key. The keys 0 and -0 are equal, and JSON writes both as 0. */
const textOf = (key: readonly unknown[]): string => JSON.stringify(key);

export const documentAt = (
  { key: fields }: Collection,
  documents: readonly Document[],
  key: readonly Scalar[],
): Document | undefined => {
  const index =
    byKey.get(documents) ??
    new Map(documents.map((document) => [textOf(fields.map((field) => document[field])), document]));
  byKey.set(documents, index);
  return index.get(textOf(key));
};

export const ordersOf = ({ key, orders = [] }: Collection): readonly (readonly string[])[] => [key, ...orders];

export const valuesOf = (documents: readonly Document[], field: string): readonly Scalar[] =>
  [...new Set(documents.map((document) => document[field] as Scalar))].sort(compareScalars);

const meets = (document: Document, { field, operator, value }: Condition): boolean => {
  const found = (document[field] ?? null) as Scalar | boolean | null;
  if (operator === 'eq') return found === value;
  if (operator === 'not') return found !== value;
  if (operator === 'in') return (value as readonly unknown[]).includes(found);
  if (operator === 'null') return (found === null) === value;
  if (found === null) return false;
  const order = compareScalars(found as Scalar, value as Scalar);
  return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[operator];
};

const wordsByDocument = new WeakMap<Document, ReadonlySet<string>>();

export const wordsIn = (collection: Collection, document: Document): ReadonlySet<string> => {
  const found =
    wordsByDocument.get(document) ??
    new Set(collection.search!.flatMap((field) => wordsOf(String(document[field] ?? ''))));
  wordsByDocument.set(document, found);
  return found;
};

const contains = (collection: Collection, document: Document, words: readonly string[] = []): boolean =>
  words.every((word) => {
    const found = wordsIn(collection, document);
    return word.endsWith('*') ? [...found].some((each) => each.startsWith(word.slice(0, -1))) : found.has(word);
  });

/** Like `answerOf`, for a query that may contain words. */
export const searchedFor = (
  collection: Collection,
  documents: readonly Document[],
  { words, ...query }: Query,
): readonly Document[] =>
  answerOf(words ? documents.filter((document) => contains(collection, document, words)) : documents, query);

/** Sums of multiples of 1 / SCALE are exact, because these numbers become integers when multiplied by SCALE. */
const SCALE = 2 ** 60;

const sumOf = (numbers: readonly number[]): number => {
  if (numbers.every((number) => Number.isInteger(number * SCALE))) {
    return Number(numbers.reduce((sum, number) => sum + BigInt(number * SCALE), 0n)) / SCALE;
  }
  let [sum, lost] = [0, 0];
  for (const number of numbers) {
    const next = sum + number;
    lost += Math.abs(sum) >= Math.abs(number) ? sum - next + number : number - next + sum;
    sum = next;
  }
  return sum + lost;
};

/** Relative error that the contract allows in a sum: sums must be correct to 15 significant digits. */
const PRECISION = 5e-15;

/**
 * If an adapter's sum is close to the expected sum, replaces it with the expected sum.
 * @param cancels whether large positive and negative numbers may cancel out. The sum may then be less precise.
 */
export const withSumsOf = (
  expected: readonly (Group | undefined)[],
  found: readonly Group[],
  cancels = false,
): readonly Group[] =>
  found.map((group, i) => {
    const [numbers, right] = [group.numbers, expected[i]?.numbers];
    if (!numbers || !right) return group;
    const largest = cancels ? right.count * Math.max(-right.min, right.max) : Math.abs(right.sum);
    const isClose = Math.abs(numbers.sum - right.sum) <= PRECISION * largest;
    // Sums of the largest numbers may overflow.
    if (Number.isFinite(largest) && !isClose) return group;
    return { ...group, numbers: { ...numbers, sum: right.sum } };
  });

/** Returns all groups, regardless of the limit. */
export const totalsIn = (
  collection: Collection,
  documents: readonly Document[],
  { where, words, by, of }: TotalsQuery,
): readonly Group[] => {
  const groups = new Map<string, Document[]>(by.length === 0 ? [['[]', []]] : []);
  for (const document of documents) {
    if (!where.every((condition) => meets(document, condition)) || !contains(collection, document, words)) continue;
    const values = JSON.stringify(by.map((field) => document[field] ?? null));
    const group = groups.get(values);
    if (group) group.push(document);
    else groups.set(values, [document]);
  }
  return inOrder(
    [...groups].map(([values, documents]) => {
      const numbers = documents.flatMap((document) => (of && typeof document[of] === 'number' ? [document[of]] : []));
      const totals = {
        count: numbers.length,
        sum: sumOf(numbers),
        min: Math.min(...numbers),
        max: Math.max(...numbers),
      };
      return { values: JSON.parse(values), count: documents.length, ...(numbers.length > 0 && { numbers: totals }) };
    }),
  );
};

const withPlainZeros = ({ values, count, numbers }: Group): Group => ({
  values: values.map((value) => (value === 0 ? 0 : value)),
  count,
  ...(numbers && { numbers: { count: numbers.count, sum: numbers.sum, min: numbers.min, max: numbers.max } }),
});

/** Sorts groups, and removes differences that the contract allows, such as -0 instead of 0. */
export const inOrder = (groups: readonly Group[]): readonly Group[] =>
  groups
    .map(withPlainZeros)
    .map((group) => ({ group, text: JSON.stringify(group.values) }))
    .sort((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ group }) => group);
