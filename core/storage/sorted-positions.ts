/** Where the documents of a collection stand in an order other than that of their key. */
import type { Scalar } from '../contracts/storage.js';
import { compareScalars } from './compare.js';
import type { DocumentList } from './document-list.js';

/** Documents that are read between two pauses, and positions that are moved: a tenth of a millisecond of work or two. */
const STEP = 250;
const POSITIONS = 20_000;

/** Calls `work` for each of so many positions. */
function* forEach(length: number, work: (at: number) => void): Generator<void, void> {
  for (let start = 0; start < length; start += POSITIONS) {
    const end = Math.min(length, start + POSITIONS);
    for (let at = start; at < end; at++) work(at);
    yield;
  }
}

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

/** Ranks values in the sequence in which they come: from 0, equal ones sharing one. */
class Ranks {
  readonly #numbers = new Map<Scalar, number>();
  readonly #numberOf: Uint32Array;

  constructor(length: number) {
    this.#numberOf = new Uint32Array(length);
  }

  set(position: number, value: Scalar): void {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(value, number);
    }
    this.#numberOf[position] = number;
  }

  /** The positions, which are in some order already, in the order of the ranks: a stable counting sort. */
  *sort(positions: Uint32Array): Generator<void, Uint32Array> {
    const numbers = this.#numbers;
    const numberOf = this.#numberOf;
    const { length } = positions;
    const rankOf = new Uint32Array(numbers.size);
    for (const [rank, value] of [...numbers.keys()].sort(compareScalars).entries()) rankOf[numbers.get(value)!] = rank;
    const next = new Uint32Array(numbers.size + 1);
    yield* forEach(length, (at) => {
      next[rankOf[numberOf[at]!]! + 1]!++;
    });
    for (let rank = 0; rank < numbers.size; rank++) next[rank + 1]! += next[rank]!;
    const sorted = new Uint32Array(length);
    yield* forEach(length, (at) => {
      const position = positions[at]!;
      sorted[next[rankOf[numberOf[position]!]!]!++] = position;
    });
    return sorted;
  }
}

/**
 * The positions of `documents` in `order`: a stable counting sort by each field, the last one first. That takes
 * time in proportion to the documents, plus the sorting of each field's distinct values.
 * @param documents in key order; read once
 * @param order its fields must hold scalars
 * @yields every fraction of a millisecond, so that a caller may let others run
 */
export function* sortedPositions(
  documents: DocumentList,
  key: readonly string[],
  order: readonly string[],
): Generator<void, Uint32Array> {
  const { length } = documents;
  const ranks = fieldsToSortBy(order, key).map((field) => ({ field, of: new Ranks(length) }));
  for (let start = 0; start < length; start += STEP) {
    const batch = documents.slice(start, start + STEP);
    for (const [i, document] of batch.entries()) {
      for (const { field, of } of ranks) of.set(start + i, document[field] as Scalar);
    }
    yield;
  }
  let positions: Uint32Array = new Uint32Array(length);
  yield* forEach(length, (at) => {
    positions[at] = at;
  });
  for (const { of } of ranks.toReversed()) positions = yield* of.sort(positions);
  return positions;
}
