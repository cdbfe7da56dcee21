/** A reference implementation, which computes the correct result of every query in the simplest way. */
import {
  type Collection,
  compareBy,
  compareScalars,
  type Document,
  type Query,
  type Scalar,
} from 'metro-forecast-api/adapter';

/** Caches sorted documents by order, so that large collections are not sorted again for each query. */
const sorted = new WeakMap<readonly Document[], Map<string, readonly Document[]>>();

const inOrder = (documents: readonly Document[], order: readonly string[]): readonly Document[] => {
  const orders = sorted.get(documents) ?? new Map<string, readonly Document[]>();
  sorted.set(documents, orders);
  const known = orders.get(order.join()) ?? documents.toSorted(compareBy(order));
  orders.set(order.join(), known);
  return known;
};

export const answerOf = (
  documents: readonly Document[],
  { order, equal = {}, range, descending, after, limit }: Query,
): readonly Document[] => {
  const equals = Object.entries(equal);
  const free = order.slice(equals.length);
  const isBehind = (document: Document): boolean => {
    if (!after) return true;
    const different = free.findIndex((field, i) => compareScalars(document[field] as Scalar, after[i]!) !== 0);
    if (different < 0) return false;
    const order = compareScalars(document[free[different]!] as Scalar, after[different]!);
    return descending ? order < 0 : order > 0;
  };
  const found = inOrder(documents, order).filter((document) => {
    const compare = (field: string, value: Scalar) => compareScalars(document[field] as Scalar, value);
    return (
      equals.every(([field, value]) => compare(field, value) === 0) &&
      (range?.from === undefined || compare(range.field, range.from) >= 0) &&
      (range?.to === undefined || compare(range.field, range.to) <= 0) &&
      isBehind(document)
    );
  });
  return (descending ? found.reverse() : found).slice(0, limit);
};

export const ordersOf = ({ key, orders = [] }: Collection): readonly (readonly string[])[] => [key, ...orders];

export const valuesOf = (documents: readonly Document[], field: string): readonly Scalar[] =>
  [...new Set(documents.map((document) => document[field] as Scalar))].sort(compareScalars);
