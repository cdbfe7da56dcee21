/** A collection in memory: documents in key order, found by binary search in every declared order. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Query, Scalar } from '../contracts/storage.js';
import { compareScalars } from './compare.js';
import { sortedPositions } from './sorted-positions.js';

/** Documents from `start` to before `end` of an order. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export class IndexedCollection {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #documents: readonly Document[];
  /** By order: the documents' positions in it. The order of the key needs none. */
  readonly #positions = new Map<string, Uint32Array>();

  /** @param documents in key order, valid by the collection's schema; kept, not copied */
  constructor({ key, orders = [] }: Collection, documents: readonly Document[]) {
    this.#key = key;
    this.#orders = orders;
    this.#documents = documents;
  }

  get size(): number {
    return this.#documents.length;
  }

  /** Builds the orders that would otherwise be built when first asked for. `pause` is awaited every few milliseconds. */
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
    return start < end ? this.#documents[start] : undefined;
  }

  /** All documents that match, in order. The query has been checked by core. */
  find({ order, equal = {}, range, descending = false, limit = Number.POSITIVE_INFINITY }: Query): readonly Document[] {
    const positions = this.#positionsIn(order);
    const fixed = order.slice(0, Object.keys(equal).length);
    const values = fixed.map((field) => equal[field] as Scalar);
    const equals = this.#equal(positions, fixed, values);
    // A field that is not the first free one is not in order as a whole: its bounds only filter.
    const ordered = range !== undefined && range.field === order[fixed.length];
    const span = ordered ? this.#within(positions, equals, range) : equals;
    return this.#collect(positions, span, ordered ? undefined : range, descending, limit);
  }

  #collect(
    positions: Uint32Array | undefined,
    { start, end }: Span,
    filter: Query['range'],
    descending: boolean,
    limit: number,
  ): readonly Document[] {
    const documents = this.#documents;
    if (!positions && !filter && !descending) return documents.slice(start, Math.min(end, start + limit));
    const found: Document[] = [];
    for (let i = 0; i < end - start && found.length < limit; i++) {
      const at = descending ? end - 1 - i : start + i;
      const document = documents[positions ? positions[at]! : at]!;
      if (!filter || isWithin(document[filter.field] as Scalar, filter)) found.push(document);
    }
    return found;
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
    const all = { start: 0, end: this.#documents.length };
    const start = this.#first(positions, all, (document) => compare(document) >= 0);
    return { start, end: this.#first(positions, { start, end: all.end }, (document) => compare(document) > 0) };
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

  /** Where in a span the condition begins to hold, if it holds for all documents from some point on. */
  #first(positions: Uint32Array | undefined, span: Span, holds: (document: Document) => boolean): number {
    let { start, end } = span;
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (holds(this.#documents[positions ? positions[middle]! : middle]!)) end = middle;
      else start = middle + 1;
    }
    return start;
  }
}

const isWithin = (value: Scalar, { from, to }: NonNullable<Query['range']>): boolean =>
  (from === undefined || compareScalars(value, from) >= 0) && (to === undefined || compareScalars(value, to) <= 0);
