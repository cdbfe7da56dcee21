/** A collection in memory: documents in key order, found by binary search in every declared order. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { JsonRows, Query, Scalar } from '../contracts/storage.js';
import { type DocumentList, jsonRows } from './packed-documents.js';
import { compareScalars } from './scalars.js';
import { type OrderSorter, sortedPositions } from './sorted-positions.js';

/** Documents of an order from `start` up to, but not including, `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Documents in a batch: reading one takes 0.1 to 0.2 ms. */
const BATCH = 100;

/** Parts of a span, the last one first if `descending`. */
function* inBatches({ start, end }: Span, descending = false): Generator<Span> {
  for (let done = 0; done < end - start; done += BATCH) {
    if (descending) yield { start: Math.max(start, end - done - BATCH), end: end - done };
    else yield { start: start + done, end: Math.min(end, start + done + BATCH) };
  }
}

interface Selection {
  readonly positions: Uint32Array | undefined;
  readonly span: Span;
  readonly filter?: NonNullable<Query['range']>;
}

export class IndexedCollection {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #documents: DocumentList;
  /** Positions of the documents in each order. Key order needs none. */
  readonly #positions = new Map<string, Uint32Array>();

  /** @param documents valid, and in key order; kept, not copied */
  constructor({ key, orders = [] }: Collection, documents: DocumentList) {
    this.#key = key;
    this.#orders = orders;
    this.#documents = documents;
  }

  /**
   * Builds all orders now instead of at their first use. Calls `pause` between steps.
   * @param sorters one for each order, with all documents; without them, the documents are read again
   */
  async prepare(pause: () => Promise<void>, sorters?: readonly OrderSorter[]): Promise<void> {
    for (const [i, order] of this.#orders.entries()) {
      const steps = sorters?.[i]?.positions() ?? sortedPositions(this.#documents, this.#key, order);
      let step = steps.next();
      for (; !step.done; step = steps.next()) await pause();
      this.#positions.set(order.join(), step.value);
    }
  }

  /** The document with this key. */
  get(key: readonly Scalar[]): Document | undefined {
    const { start, end } = this.#equal(undefined, this.#key, key);
    return start < end ? this.#documents.at(start) : undefined;
  }

  /** All documents that match, in order. `checkedSnapshot` has checked the query. */
  find(query: Query): readonly Document[] {
    return [...this.batches(query)].flat();
  }

  /** Like `find`, in batches that are parsed one by one. */
  batches(query: Query): Iterable<readonly Document[]> {
    const { positions, span, filter } = this.#select(query);
    const { descending = false, limit = Number.POSITIVE_INFINITY } = query;
    const documents = this.#inOrder(positions, span, descending);
    return filter ? filtered(documents, filter, limit) : documents;
  }

  /** Like `batches`, as JSON text. Parses no row, unless a range must be checked row by row. */
  *json(query: Query): Generator<JsonRows> {
    const { positions, span, filter } = this.#select(query);
    const documents = this.#documents;
    if (filter || !documents.json) {
      for (const batch of this.batches(query)) yield jsonRows(batch);
      return;
    }
    for (const { start, end } of inBatches(span, query.descending)) {
      const batch = positions?.subarray(start, end) ?? Uint32Array.from({ length: end - start }, (_, i) => start + i);
      yield documents.json(query.descending ? batch.toReversed() : batch);
    }
  }

  /** Where the documents of a query are. `filter` is left to be checked for each of them, and then the limit. */
  #select({ order, equal = {}, range, descending = false, after, limit = Number.POSITIVE_INFINITY }: Query): Selection {
    const positions = this.#positionsIn(order);
    const fixed = order.slice(0, Object.keys(equal).length);
    const values = fixed.map((field) => equal[field] as Scalar);
    const equals = this.#equal(positions, fixed, values);
    // Within the span, documents are sorted by the first field that `equal` does not fix. A range on that field narrows
    // the span; a range on another field filters documents.
    const ordered = range !== undefined && range.field === order[fixed.length];
    const matching = ordered ? this.#within(positions, equals, range) : equals;
    const free = order.slice(fixed.length);
    const span = after ? this.#behind(positions, matching, comparisonWith(free, after), descending) : matching;
    if (range && !ordered) return { positions, span, filter: range };
    const { start, end } = span;
    const limited = descending
      ? { start: Math.max(start, end - limit), end }
      : { start, end: Math.min(end, start + limit) };
    return { positions, span: limited };
  }

  /** The documents of a span, in order or in reverse. */
  *#inOrder(positions: Uint32Array | undefined, span: Span, descending: boolean): Generator<readonly Document[]> {
    const documents = this.#documents;
    for (const { start, end } of inBatches(span, descending)) {
      const batch = positions
        ? Array.from(positions.subarray(start, end), (position) => documents.at(position)!)
        : documents.slice(start, end);
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
    const compare = comparisonWith(fields, values);
    const { length } = this.#documents;
    const start = this.#first(positions, { start: 0, end: length }, (document) => compare(document) >= 0);
    // The end is usually close: doubling steps find it faster than a binary search over the rest.
    let step = 1;
    while (start + step <= length && compare(this.#at(positions, start + step - 1)) === 0) step *= 2;
    const rest = { start: start + (step >> 1), end: Math.min(length, start + step) };
    return { start, end: this.#first(positions, rest, (document) => compare(document) > 0) };
  }

  /** The part of a span within the bounds of the range. The span is sorted by the range's field. */
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

  /** The part of a span after the values of `compare`, in reading direction. */
  #behind(
    positions: Uint32Array | undefined,
    span: Span,
    compare: (document: Document) => number,
    descending: boolean,
  ): Span {
    return descending
      ? { start: span.start, end: this.#first(positions, span, (document) => compare(document) >= 0) }
      : { start: this.#first(positions, span, (document) => compare(document) > 0), end: span.end };
  }

  #at(positions: Uint32Array | undefined, index: number): Document {
    return this.#documents.at(positions ? positions[index]! : index)!;
  }

  /** The first index of a span where `holds` is true, if it is true for all later ones too. */
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

/** Compares the fields of a document with values: negative, 0 or positive, as in `Array.sort`. */
const comparisonWith =
  (fields: readonly string[], values: readonly Scalar[]) =>
  (document: Document): number => {
    for (let i = 0; i < fields.length; i++) {
      const order = compareScalars(document[fields[i]!] as Scalar, values[i]!);
      if (order !== 0) return order;
    }
    return 0;
  };

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
