/** A collection in memory: documents in key order, found by binary search in every declared order. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Query, Scalar } from '../contracts/storage.js';
import { compareScalars } from './compare.js';
import type { DocumentList } from './document-list.js';
import { sortedPositions } from './sorted-positions.js';

/** Documents from `start` to before `end` of an order. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Documents that are read at once: so few that whoever reads on in between holds others up for some tenths of a millisecond. */
const BATCH = 100;

export class IndexedCollection {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #documents: DocumentList;
  /** By order: the documents' positions in it. The order of the key needs none. */
  readonly #positions = new Map<string, Uint32Array>();

  /** @param documents in key order, valid by the collection's schema; kept, not copied */
  constructor({ key, orders = [] }: Collection, documents: DocumentList) {
    this.#key = key;
    this.#orders = orders;
    this.#documents = documents;
  }

  /** Builds the orders that would otherwise be built when first asked for. `pause` is awaited in between. */
  async prepare(pause: () => Promise<void>): Promise<void> {
    for (const order of this.#orders) {
      const steps = sortedPositions(this.#documents, this.#key, order);
      let step = steps.next();
      for (; !step.done; step = steps.next()) await pause();
      this.#positions.set(order.join(), step.value);
    }
  }

  /** The document with these values in its key's fields. */
  get(key: readonly Scalar[]): Document | undefined {
    const { start, end } = this.#equal(undefined, this.#key, key);
    return start < end ? this.#documents.at(start) : undefined;
  }

  /** All documents that match, in order. The query has been checked by core. */
  find(query: Query): readonly Document[] {
    return [...this.batches(query)].flat();
  }

  /** The same in batches, each read when it is asked for. */
  batches({
    order,
    equal = {},
    range,
    descending = false,
    limit = Number.POSITIVE_INFINITY,
  }: Query): Iterable<readonly Document[]> {
    const positions = this.#positionsIn(order);
    const fixed = order.slice(0, Object.keys(equal).length);
    const values = fixed.map((field) => equal[field] as Scalar);
    const equals = this.#equal(positions, fixed, values);
    // A field that is not the first free one is not in order as a whole: its bounds only filter.
    const ordered = range !== undefined && range.field === order[fixed.length];
    const span = ordered ? this.#within(positions, equals, range) : equals;
    if (range && !ordered) return filtered(this.#inOrder(positions, span, descending), range, limit);
    const { start, end } = span;
    const limited = descending
      ? { start: Math.max(start, end - limit), end }
      : { start, end: Math.min(end, start + limit) };
    return this.#inOrder(positions, limited, descending);
  }

  /** The documents of a span, the last one first where that is wanted. */
  *#inOrder(
    positions: Uint32Array | undefined,
    { start, end }: Span,
    descending: boolean,
  ): Generator<readonly Document[]> {
    const documents = this.#documents;
    for (let done = 0; done < end - start; done += BATCH) {
      const from = descending ? Math.max(start, end - done - BATCH) : start + done;
      const to = descending ? end - done : Math.min(end, from + BATCH);
      const batch = positions
        ? Array.from(positions.subarray(from, to), (position) => documents.at(position)!)
        : documents.slice(from, to);
      yield descending ? batch.toReversed() : batch;
    }
  }

  #positionsIn(order: readonly string[]): Uint32Array | undefined {
    const name = order.join();
    if (name === this.#key.join()) return undefined;
    const known = this.#positions.get(name);
    if (known) return known;
    const steps = sortedPositions(this.#documents, this.#key, order);
    let step = steps.next();
    while (!step.done) step = steps.next();
    this.#positions.set(name, step.value);
    return step.value;
  }

  /** The span whose documents have these values in the leading fields of the order. */
  #equal(positions: Uint32Array | undefined, fields: readonly string[], values: readonly Scalar[]): Span {
    const compare = (document: Document): number => {
      for (let i = 0; i < fields.length; i++) {
        const order = compareScalars(document[fields[i]!] as Scalar, values[i]!);
        if (order !== 0) return order;
      }
      return 0;
    };
    const { length } = this.#documents;
    const start = this.#first(positions, { start: 0, end: length }, (document) => compare(document) >= 0);
    // The end is near, mostly: steps of double length find it sooner than halving all that is left.
    let step = 1;
    while (start + step <= length && compare(this.#at(positions, start + step - 1)) === 0) step *= 2;
    const rest = { start: start + (step >> 1), end: Math.min(length, start + step) };
    return { start, end: this.#first(positions, rest, (document) => compare(document) > 0) };
  }

  /** The part of a span, ordered by the range's field, that is within its bounds. */
  #within(positions: Uint32Array | undefined, span: Span, { field, from, to }: NonNullable<Query['range']>): Span {
    const start =
      from === undefined
        ? span.start
        : this.#first(positions, span, (document) => compareScalars(document[field] as Scalar, from) >= 0);
    const rest = { start, end: span.end };
    const end =
      to === undefined
        ? span.end
        : this.#first(positions, rest, (document) => compareScalars(document[field] as Scalar, to) > 0);
    return { start, end };
  }

  #at(positions: Uint32Array | undefined, index: number): Document {
    return this.#documents.at(positions ? positions[index]! : index)!;
  }

  /** Where in a span the condition begins to hold, if it holds for all documents from some point on. */
  #first(positions: Uint32Array | undefined, span: Span, holds: (document: Document) => boolean): number {
    let { start, end } = span;
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (holds(this.#at(positions, middle))) end = middle;
      else start = middle + 1;
    }
    return start;
  }
}

function* filtered(
  batches: Iterable<readonly Document[]>,
  range: NonNullable<Query['range']>,
  limit: number,
): Generator<readonly Document[]> {
  let left = limit;
  for (const batch of batches) {
    if (left <= 0) return;
    const found = batch.filter((document) => isWithin(document[range.field] as Scalar, range)).slice(0, left);
    left -= found.length;
    if (found.length > 0) yield found;
  }
}

const isWithin = (value: Scalar, { from, to }: NonNullable<Query['range']>): boolean =>
  (from === undefined || compareScalars(value, from) >= 0) && (to === undefined || compareScalars(value, to) <= 0);
