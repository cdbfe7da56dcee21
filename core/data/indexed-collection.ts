/** Keeps the documents of a collection in memory, in key order, and searches them in every declared order. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Group, JsonRows, Query, Scalar, TotalsQuery } from '../contracts/storage.js';
import { planIn, type ReadPlan } from './conditions.js';
import { JsonFields } from './json-fields.js';
import { jsonRows, PackedDocuments } from './packed-documents.js';
import { SortColumn } from './sort-column.js';
import { fieldsToSortBy, sortedPositions } from './sorted-positions.js';
import type { Ranks } from './value-ranks.js';

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Number of documents per batch. Reading a batch takes 0.1 to 0.2 ms. */
const BATCH = 100;

function* inBatches({ start, end }: Span, descending = false): Generator<Span> {
  for (let done = 0; done < end - start; done += BATCH) {
    if (descending) yield { start: Math.max(start, end - done - BATCH), end: end - done };
    else yield { start: start + done, end: Math.min(end, start + done + BATCH) };
  }
}

interface Bounds {
  readonly from?: readonly Scalar[];
  readonly to?: readonly Scalar[];
}

interface After {
  readonly after: readonly Scalar[];
  readonly descending: boolean;
}

/** The documents that match a query. If `filter` is set, the caller must apply it before the limit of the query. */
interface Selection {
  /** Positions of the documents in sort order. Undefined if documents are sorted by key. */
  readonly positions: Uint32Array | undefined;
  readonly span: Span;
  readonly filter?: NonNullable<Query['range']>;
}

export class IndexedCollection {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #documents = new PackedDocuments();
  /** Extracts the values to sort by, which `#columns` stores until `sort` has run. */
  readonly #sorted: JsonFields;
  readonly #columns: Map<string, SortColumn>;
  readonly #positions = new Map<string, Uint32Array>();
  readonly #fields = new Map<string, JsonFields>();

  constructor({ key, orders = [] }: Collection) {
    this.#key = key;
    this.#orders = orders;
    const names = [...new Set(orders.flatMap((order: readonly string[]) => fieldsToSortBy(order, key)))];
    this.#sorted = new JsonFields(names);
    this.#columns = new Map(names.map((name) => [name, new SortColumn()]));
  }

  static async of(collection: Collection, documents: readonly Document[]): Promise<IndexedCollection> {
    const indexed = new IndexedCollection(collection);
    indexed.add(jsonRows(documents));
    await indexed.sort();
    return indexed;
  }

  get length(): number {
    return this.#documents.length;
  }

  /** Appends copies of the documents, which must be valid and come after all earlier documents in key order. */
  add(rows: JsonRows): void {
    this.#documents.add(rows);
    if (this.#columns.size === 0) return;
    const { starts, ends } = this.#sorted;
    const columns = [...this.#columns.values()];
    let start = 0;
    for (const end of rows.ends) {
      this.#sorted.find(rows.json, start);
      for (let i = 0; i < columns.length; i++) columns[i]!.add(rows.json, starts[i]!, ends[i]!);
      start = end + 1;
    }
  }

  /**
   * Sorts the documents by each order. Must be called after the last document has been added.
   * @param pause awaited after steps of less than a millisecond
   */
  async sort(pause?: () => Promise<unknown>): Promise<void> {
    const run = async <T>(steps: Generator<void, T>): Promise<T> => {
      let step = steps.next();
      for (; !step.done; step = steps.next()) await pause?.();
      return step.value;
    };
    const ranks = new Map<string, Ranks>();
    for (const [name, column] of this.#columns) {
      ranks.set(name, await run(column.rank()));
      this.#columns.delete(name);
    }
    for (const order of this.#orders) {
      const columns = fieldsToSortBy(order, this.#key).map((field) => ranks.get(field)!);
      this.#positions.set(order.join(), await run(sortedPositions(columns, this.length)));
    }
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
    const fields = this.#fieldsOf(this.#key);
    const at = this.#first(undefined, this.#all, fields, key);
    const isFound = at < this.length && this.#documents.compare(at, fields, key) === 0;
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
   * Computes totals that a sort order provides without reading every document: the number of matching documents, in
   * total or for each value of the first field without an `eq` condition. Returns undefined for all other totals.
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
      const next = this.#within(positions, { start: at, end }, [field], { to: [value] }).end;
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
    const positions = order.join() === this.#key.join() ? undefined : this.#positions.get(order.join());
    const fixed = order.slice(0, Object.keys(equal).length);
    const free = order.slice(fixed.length);
    const values = fixed.map((field) => equal[field] as Scalar);
    const equals = this.#within(positions, this.#all, fixed, { from: values, to: values });
    // Within `equals`, documents are sorted by the first field that `equal` does not contain. A range on that field
    // narrows the span. A range on a later field must be tested for each document.
    const ordered = range !== undefined && range.field === free[0];
    const matching = ordered
      ? this.#within(positions, equals, [range.field], {
          ...(range.from !== undefined && { from: [range.from] }),
          ...(range.to !== undefined && { to: [range.to] }),
        })
      : equals;
    const span = after ? this.#after(positions, matching, free, { after, descending }) : matching;
    if (range && !ordered) return { positions, span, filter: range };
    const { start, end } = span;
    const limited = descending
      ? { start: Math.max(start, end - limit), end }
      : { start, end: Math.min(end, start + limit) };
    return { positions, span: limited };
  }

  get #all(): Span {
    return { start: 0, end: this.length };
  }

  #fieldsOf(names: readonly string[]): JsonFields {
    const name = names.join();
    const known = this.#fields.get(name) ?? new JsonFields(names);
    this.#fields.set(name, known);
    return known;
  }

  /** Narrows a span to values within inclusive bounds. The span must be sorted by these fields. */
  #within(positions: Uint32Array | undefined, span: Span, names: readonly string[], { from, to }: Bounds): Span {
    if (names.length === 0) return span;
    const fields = this.#fieldsOf(names);
    const start = from ? this.#first(positions, span, fields, from) : span.start;
    if (!to) return { start, end: span.end };
    // The end is usually near the start, so doubling steps find it faster than a binary search.
    let step = 1;
    while (start + step <= span.end && this.#compare(positions, start + step - 1, fields, to) <= 0) step *= 2;
    const rest = { start: start + (step >> 1), end: Math.min(span.end, start + step) };
    return { start, end: this.#first(positions, rest, fields, to, 1) };
  }

  /** Narrows a span to the documents after these values, in the direction of the query. */
  #after(positions: Uint32Array | undefined, span: Span, names: readonly string[], { after, descending }: After): Span {
    const fields = this.#fieldsOf(names);
    return descending
      ? { start: span.start, end: this.#first(positions, span, fields, after) }
      : { start: this.#first(positions, span, fields, after, 1), end: span.end };
  }

  #compare(positions: Uint32Array | undefined, at: number, fields: JsonFields, values: readonly Scalar[]): number {
    return this.#documents.compare(positions ? positions[at]! : at, fields, values);
  }

  /**
   * Returns the index of the first document in a span whose fields are equal to `values` or sort after them. Returns
   * the end of the span if there is none.
   * @param least 1 to skip documents whose fields are equal to `values`
   */
  #first(
    positions: Uint32Array | undefined,
    span: Span,
    fields: JsonFields,
    values: readonly Scalar[],
    least: 0 | 1 = 0,
  ): number {
    let { start, end } = span;
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (Math.sign(this.#compare(positions, middle, fields, values)) >= least) end = middle;
      else start = middle + 1;
    }
    return start;
  }

  #filter({ field, from, to }: NonNullable<Query['range']>): (position: number) => boolean {
    const fields = this.#fieldsOf([field]);
    return (position) =>
      (from === undefined || this.#documents.compare(position, fields, [from]) >= 0) &&
      (to === undefined || this.#documents.compare(position, fields, [to]) <= 0);
  }
}
