/** Keeps the documents of a collection in memory, in key order, and searches them in every declared order. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Group, JsonRows, Query, Scalar, TotalsQuery } from '../contracts/storage.js';
import { Arena } from './arena.js';
import type { BufferPool } from './buffer-pool.js';
import { planIn, type ReadPlan } from './conditions.js';
import { JsonFields } from './json-fields.js';
import { joinedRows, PackedDocuments } from './packed-documents.js';
import { rowJson } from './publishing.js';
import { compareScalars } from './scalars.js';
import { orderName } from './sorted-positions.js';
import { Sorter } from './sorter.js';

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The number of documents in a batch. Reading a batch of 100 takes 0.1 to 0.2 ms. */
const BATCH = 100;

function* inBatches({ start, end }: Span, descending = false): Generator<Span> {
  for (let done = 0; done < end - start; done += BATCH) {
    if (descending) yield { start: Math.max(start, end - done - BATCH), end: end - done };
    else yield { start: start + done, end: Math.min(end, start + done + BATCH) };
  }
}

/** A boundary in a sort order, between documents with lower and documents with higher values. */
interface Edge {
  readonly fields: JsonFields;
  readonly values: readonly Scalar[];
  /** 0 if the boundary is before the documents with equal values, 1 if it is after them. */
  readonly least: 0 | 1;
}

interface Selection {
  /** Positions of the documents in sort order. Undefined if documents are sorted by key. */
  readonly positions: Uint32Array | undefined;
  readonly span: Span;
  /** A range that `span` does not cover. It must be applied before the limit of the query. */
  readonly filter?: NonNullable<Query['range']>;
}

/** The approximate size of a collection. */
export interface CollectionSize {
  readonly rows: number;
  /** The length of the JSON of all documents in bytes. */
  readonly bytes: number;
}

export class IndexedCollection {
  readonly #collection: Collection;
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  /** Stores the documents and their positions. */
  readonly #arena: Arena;
  readonly #documents: PackedDocuments;
  /** Undefined after the documents have been sorted. */
  #sorter: Sorter | undefined;
  #positions: ReadonlyMap<string, Uint32Array> = new Map();
  readonly #fields = new Map<string, JsonFields>();

  /**
   * @param size the approximate size, for which memory is reserved
   * @param pool provides the memory, and gets it back when the collection is no longer used
   */
  constructor(collection: Collection, { rows, bytes }: CollectionSize = { rows: 0, bytes: 0 }, pool?: BufferPool) {
    const { key, orders = [] } = collection;
    this.#collection = collection;
    this.#key = key;
    this.#orders = orders;
    this.#arena = new Arena(PackedDocuments.memoryOf(rows, bytes) + 4 * rows * orders.length, pool);
    this.#documents = new PackedDocuments(this.#arena);
    this.#sorter = new Sorter(collection, rows, pool);
  }

  static async of(collection: Collection, documents: readonly Document[]): Promise<IndexedCollection> {
    const indexed = new IndexedCollection(collection);
    indexed.addDocuments(documents);
    await indexed.sort();
    return indexed;
  }

  get length(): number {
    return this.#documents.length;
  }

  /**
   * Adds valid documents in key order.
   * @throws StorageError `invalid_dataset` for a number that JSON cannot represent
   */
  addDocuments(documents: readonly Document[]): void {
    this.add(joinedRows(documents.map((document) => rowJson(this.#collection, document))));
  }

  /** The documents must be valid, and come after all earlier documents in key order. */
  add(rows: JsonRows): void {
    this.#documents.add(rows);
    this.#sorter!.add(rows);
  }

  /**
   * Sorts the documents. Must be called after the last document has been added.
   * @param pause awaited after steps of less than a millisecond
   */
  async sort(pause?: () => Promise<unknown>): Promise<void> {
    const steps = this.#sorter!.sort(this.#arena);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await pause?.();
    this.#positions = step.value;
    this.#sorter = undefined;
  }

  get(key: readonly Scalar[]): Document | undefined {
    const at = this.#positionOf(key);
    return at === undefined ? undefined : this.#documents.read([at])[0];
  }

  getJson(key: readonly Scalar[]): string | undefined {
    const at = this.#positionOf(key);
    return at === undefined ? undefined : this.#documents.json([at]).json.toString();
  }

  #positionOf(key: readonly Scalar[]): number | undefined {
    const edge = this.#edge(this.#key, key, 0);
    const at = this.#first(undefined, { start: 0, end: this.length }, edge);
    const isFound = at < this.length && this.#documents.compare(at, edge.fields, key) === 0;
    return isFound ? at : undefined;
  }

  find(query: Query): readonly Document[] {
    return [...this.batches(query)].flat();
  }

  *batches(query: Query): Generator<readonly Document[]> {
    for (const positions of this.#matching(query)) yield this.#documents.read(positions);
  }

  *json(query: Query): Generator<JsonRows> {
    for (const positions of this.#matching(query)) yield this.#documents.json(positions);
  }

  /**
   * Returns the number of documents in each group if a sort order suffices to count them. Returns undefined if every
   * document must be read.
   */
  totals({ where, words, by, of }: TotalsQuery): Iterable<Group> | undefined {
    const [field, ...others] = by;
    if (words || of !== undefined || others.length > 0) return undefined;
    for (const order of [this.#key, ...this.#orders]) {
      const { plan } = planIn(order, where);
      const free = order.slice(Object.keys(plan.equal).length);
      const isCovered = plan.rest.length === 0 && (plan.range === undefined || plan.range.field === free[0]);
      if (isCovered && !plan.values && (field === undefined || field === free[0])) return this.#groups(plan, field);
    }
    return undefined;
  }

  *#groups({ order, equal, range }: ReadPlan, field: string | undefined): Generator<Group> {
    const { positions, span } = this.#select({ order, equal, ...(range && { range }) });
    const { start, end } = span;
    if (field === undefined) yield { values: [], count: end - start };
    for (let at = start; field !== undefined && at < end; ) {
      const [document] = this.#documents.read([positions ? positions[at]! : at]);
      const value = document![field] as Scalar;
      const next = this.#firstFromStart(positions, { start: at, end }, this.#edge([field], [value], 1));
      yield { values: [value], count: next - at };
      at = next;
    }
  }

  *#matching(query: Query): Generator<readonly number[]> {
    const { descending = false, limit = Number.POSITIVE_INFINITY } = query;
    const { positions, span, filter } = this.#select(query);
    const isWithin = filter && this.#filter(filter);
    let left = limit;
    for (const { start, end } of inBatches(span, descending)) {
      const batch: number[] = [];
      for (let at = start; at < end; at++) batch.push(positions ? positions[at]! : at);
      if (descending) batch.reverse();
      const found = isWithin ? batch.filter(isWithin).slice(0, left) : batch;
      left -= found.length;
      if (found.length > 0) yield found;
      if (left <= 0) return;
    }
  }

  #select({ order, equal = {}, range, descending = false, after, limit = Number.POSITIVE_INFINITY }: Query): Selection {
    const positions = this.#positions.get(orderName(order));
    const fixed = order.slice(0, Object.keys(equal).length).map((field) => equal[field] as Scalar);
    // The span covers a range on the first field of `order` that is not in `equal`. A range on any other field is
    // tested for each document.
    const ordered = range?.field === order[fixed.length] ? range : undefined;
    const edge = (least: 0 | 1, ...next: readonly Scalar[]) => this.#edge(order, [...fixed, ...next], least);
    let from = ordered?.from === undefined ? edge(0) : edge(0, ordered.from);
    let to = ordered?.to === undefined ? edge(1) : edge(1, ordered.to);
    if (after) {
      const bound = descending ? ordered?.to : ordered?.from;
      const distance = bound === undefined ? 0 : compareScalars(after[0]!, bound);
      if (descending && distance <= 0) to = edge(0, ...after);
      if (!descending && distance >= 0) from = edge(1, ...after);
    }
    const filter = ordered ? undefined : range;
    const most = filter ? Number.POSITIVE_INFINITY : limit;
    const all = { start: 0, end: this.length };
    const found = this.#first(positions, all, descending ? to : from);
    const span = descending
      ? { start: this.#firstFromEnd(positions, { start: Math.max(0, found - most), end: found }, from), end: found }
      : {
          start: found,
          end: this.#firstFromStart(positions, { start: found, end: Math.min(this.length, found + most) }, to),
        };
    return { positions, span, ...(filter && { filter }) };
  }

  #fieldsOf(names: readonly string[]): JsonFields {
    const name = orderName(names);
    const known = this.#fields.get(name) ?? new JsonFields(names);
    this.#fields.set(name, known);
    return known;
  }

  #edge(order: readonly string[], values: readonly Scalar[], least: 0 | 1): Edge {
    return { fields: this.#fieldsOf(order.slice(0, values.length)), values, least };
  }

  #isAfter(positions: Uint32Array | undefined, at: number, { fields, values, least }: Edge): boolean {
    return Math.sign(this.#documents.compare(positions ? positions[at]! : at, fields, values)) >= least;
  }

  #first(positions: Uint32Array | undefined, span: Span, edge: Edge): number {
    let { start, end } = span;
    if (edge.values.length === 0) return edge.least === 0 ? start : end;
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (this.#isAfter(positions, middle, edge)) end = middle;
      else start = middle + 1;
    }
    return start;
  }

  /** Doubling steps are faster than a binary search if the document is near the start of the span. */
  #firstFromStart(positions: Uint32Array | undefined, { start, end }: Span, edge: Edge): number {
    let step = 1;
    while (start + step <= end && !this.#isAfter(positions, start + step - 1, edge)) step *= 2;
    return this.#first(positions, { start: start + (step >> 1), end: Math.min(end, start + step) }, edge);
  }

  #firstFromEnd(positions: Uint32Array | undefined, { start, end }: Span, edge: Edge): number {
    let step = 1;
    while (end - step >= start && this.#isAfter(positions, end - step, edge)) step *= 2;
    return this.#first(positions, { start: Math.max(start, end - step), end: end - (step >> 1) }, edge);
  }

  #filter({ field, from, to }: NonNullable<Query['range']>): (position: number) => boolean {
    const fields = this.#fieldsOf([field]);
    return (position) =>
      (from === undefined || this.#documents.compare(position, fields, [from]) >= 0) &&
      (to === undefined || this.#documents.compare(position, fields, [to]) <= 0);
  }
}
