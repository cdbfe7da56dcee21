/** Sorts the documents of a collection by the fields of an order, without moving them. */
import type { Document } from '../contracts/dataset.js';
import type { Scalar } from '../contracts/storage.js';
import type { DocumentList } from './packed-documents.js';
import { compareScalars } from './scalars.js';

/** Documents read, and positions moved, between two yields: 0.1 to 0.2 ms of work. */
const DOCUMENTS = 250;
const POSITIONS = 20_000;

/** Calls `work` for each position below `length`. Yields after every POSITIONS calls. */
function* forEach(length: number, work: (at: number) => void): Generator<void, void> {
  for (let start = 0; start < length; start += POSITIONS) {
    const end = Math.min(length, start + POSITIONS);
    for (let at = start; at < end; at++) work(at);
    yield;
  }
}

/**
 * The leading fields of an order that must be sorted. If the other fields are the rest of the key in key order, a
 * stable sort of documents in key order keeps them sorted.
 */
const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (order.slice(count).join() === rest.join()) return leading;
  }
  return order;
};

/** The values of one field, ranked from 0. Equal values share a rank. */
class Ranks {
  readonly #numbers = new Map<Scalar, number>();
  /** The number of the value at each position; the end is unused. */
  #numberOf = new Uint32Array(1024);
  #length = 0;

  add(value: Scalar): void {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(value, number);
    }
    if (this.#length === this.#numberOf.length) {
      const larger = new Uint32Array(2 * this.#length);
      larger.set(this.#numberOf);
      this.#numberOf = larger;
    }
    this.#numberOf[this.#length++] = number;
  }

  /** Sorts positions by rank with a counting sort, which is stable. */
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
 * Sorts documents by an order: one stable counting sort for each field, starting with the last field. The time is
 * linear in the number of documents, plus the sort of the distinct values of each field.
 */
export class OrderSorter {
  readonly #ranks: readonly { readonly field: string; readonly of: Ranks }[];
  #length = 0;

  /** @param order fields that contain scalars */
  constructor(key: readonly string[], order: readonly string[]) {
    this.#ranks = fieldsToSortBy(order, key).map((field) => ({ field, of: new Ranks() }));
  }

  /** Adds the next documents, in key order. They are not kept. */
  add(documents: readonly Document[]): void {
    for (const document of documents) {
      for (const { field, of } of this.#ranks) of.add(document[field] as Scalar);
    }
    this.#length += documents.length;
  }

  /**
   * The positions of the documents in this order.
   * @yields after a fraction of a millisecond, so that the caller can let other work run
   */
  *positions(): Generator<void, Uint32Array> {
    let positions: Uint32Array = new Uint32Array(this.#length);
    yield* forEach(this.#length, (at) => {
      positions[at] = at;
    });
    for (const { of } of this.#ranks.toReversed()) positions = yield* of.sort(positions);
    return positions;
  }
}

/** Reads all documents of a list, which are in key order, and sorts them. Yields as `OrderSorter` does. */
export function* sortedPositions(
  documents: DocumentList,
  key: readonly string[],
  order: readonly string[],
): Generator<void, Uint32Array> {
  const sorter = new OrderSorter(key, order);
  for (let start = 0; start < documents.length; start += DOCUMENTS) {
    sorter.add(documents.slice(start, start + DOCUMENTS));
    yield;
  }
  return yield* sorter.positions();
}
