/** Where the documents of a collection stand in an order other than that of their key. */
import type { Document } from '../contracts/dataset.js';
import type { Scalar } from '../contracts/storage.js';
import { compareScalars } from './compare.js';

/** Documents between two pauses: a few milliseconds of work. */
const STEP = 50_000;

/**
 * The leading fields that have to be sorted by. The documents are in key order already, so that a stable sort
 * by these leaves the remaining ones in order where they are the rest of the key.
 */
const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (order.slice(count).join() === rest.join()) return leading;
  }
  return order;
};

/** Each document's rank by one field, from 0, equal values sharing one; and the number of ranks. */
function* ranksBy(documents: readonly Document[], field: string): Generator<void, { of: Uint32Array; count: number }> {
  const numbers = new Map<Scalar, number>();
  const of = new Uint32Array(documents.length);
  let last: Scalar | undefined;
  let lastNumber = 0;
  for (let i = 0; i < documents.length; i++) {
    const value = documents[i]![field] as Scalar;
    if (value !== last || i === 0) {
      const known = numbers.get(value);
      lastNumber = known ?? numbers.size;
      if (known === undefined) numbers.set(value, lastNumber);
      last = value;
    }
    of[i] = lastNumber;
    if (i % STEP === STEP - 1) yield;
  }
  const rankOfNumber = new Uint32Array(numbers.size);
  const sorted = [...numbers.keys()].sort(compareScalars);
  for (const [rank, value] of sorted.entries()) rankOfNumber[numbers.get(value)!] = rank;
  for (let i = 0; i < of.length; i++) of[i] = rankOfNumber[of[i]!]!;
  return { of, count: numbers.size };
}

/**
 * The positions of `documents` in `order`: a stable counting sort by each field, the last one first. That takes
 * time in proportion to the documents, plus the sorting of each field's distinct values.
 * @param documents in key order
 * @param order its fields must hold scalars
 * @yields every few milliseconds, so that a caller may let others run
 */
export function* sortedPositions(
  documents: readonly Document[],
  key: readonly string[],
  order: readonly string[],
): Generator<void, Uint32Array> {
  let positions = new Uint32Array(documents.length);
  for (let i = 0; i < positions.length; i++) positions[i] = i;
  for (const field of fieldsToSortBy(order, key).toReversed()) {
    const ranks = yield* ranksBy(documents, field);
    const next = new Uint32Array(ranks.count + 1);
    for (const rank of ranks.of) next[rank + 1]!++;
    for (let rank = 0; rank < ranks.count; rank++) next[rank + 1]! += next[rank]!;
    const sorted = new Uint32Array(documents.length);
    for (const position of positions) sorted[next[ranks.of[position]!]!++] = position;
    positions = sorted;
    yield;
  }
  return positions;
}
