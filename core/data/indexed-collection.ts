/** A dataset in memory: documents in key order, found by binary search in every declared order, and its snapshots. */
import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { Query, Scalar, Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { compareScalars } from './scalars.js';

/** Documents by position. An array is such a list. */
interface DocumentList {
  readonly length: number;
  at(position: number): Document | undefined;
  /** Those from `start` to before `end`. */
  slice(start: number, end: number): readonly Document[];
}

/** Consecutive documents, the lines of a file, as one JSON array. */
export interface JsonLines {
  readonly bytes: Buffer;
  /** Where each document ends in `bytes`: the positions of the commas, and of the closing bracket. */
  readonly ends: readonly number[];
}

interface Page {
  /** The position of its first document. */
  readonly first: number;
  /** Documents, a comma after each. */
  readonly bytes: Buffer;
  used: number;
  ends: number[] | Uint16Array | Uint32Array;
}

/**
 * Bytes of a page, unless a batch is larger: enough that pages are few, and few enough that offsets fit into 16 bits.
 * The unused end of the last page is never written, so the system need not back it with memory.
 */
const PAGE_BYTES = 64 * 1024;
const COMMA = 0x2c;

const jsonOf = ({ bytes, ends }: Page, from: number, to: number): string =>
  bytes.toString('utf8', from === 0 ? 0 : ends[from - 1]! + 1, ends[to - 1]);

/**
 * Documents kept as the JSON that they came in, and parsed when they are asked for.
 *
 * Parsed documents would take more memory than their JSON, and the garbage collector would mark and move each of them
 * while requests wait; it does not look into buffers. Parsing a document takes less than a microsecond, and
 * representations are cached, so that few are parsed twice.
 */
export class PackedDocuments implements DocumentList {
  readonly #pages: Page[] = [];
  #length = 0;
  /**
   * The document read last, kept so that the documents' hidden class stays alive; otherwise V8 would discard the code
   * that it has optimised for it, and the next version would be loaded slowly.
   */
  readonly #last: { document?: Document | undefined } = {};

  get length(): number {
    return this.#length;
  }

  /** Adds documents at the end, copying them. */
  add({ bytes, ends }: JsonLines): void {
    const added = bytes.subarray(1);
    const page = this.#pageFor(added.length);
    const shift = page.used - 1;
    added.copy(page.bytes, page.used);
    page.used += added.length;
    page.bytes[page.used - 1] = COMMA;
    for (const end of ends) (page.ends as number[]).push(end + shift);
    this.#length += ends.length;
  }

  at(position: number): Document | undefined {
    const page = this.#pages[this.#pageOf(position)];
    const index = position - (page?.first ?? 0);
    if (!page || index >= page.ends.length) return undefined;
    const document = JSON.parse(jsonOf(page, index, index + 1)) as Document;
    this.#last.document = document;
    return document;
  }

  slice(start: number, end: number): readonly Document[] {
    const found: Document[][] = [];
    for (let at = this.#pageOf(start); at < this.#pages.length && this.#pages[at]!.first < end; at++) {
      const page = this.#pages[at]!;
      const from = Math.max(0, start - page.first);
      const to = Math.min(page.ends.length, end - page.first);
      if (from < to) found.push(JSON.parse(`[${jsonOf(page, from, to)}]`));
    }
    if (found.length > 0) this.#last.document = found.at(-1)!.at(-1);
    return found.length === 1 ? found[0]! : found.flat();
  }

  #pageFor(bytes: number): Page {
    const last = this.#pages.at(-1);
    if (last && last.bytes.length - last.used >= bytes) return last;
    if (last) last.ends = last.used <= PAGE_BYTES ? Uint16Array.from(last.ends) : Uint32Array.from(last.ends);
    const page = {
      first: this.#length,
      bytes: Buffer.allocUnsafeSlow(Math.max(bytes, PAGE_BYTES)),
      used: 0,
      ends: [],
    };
    this.#pages.push(page);
    return page;
  }

  /** The page of this position. */
  #pageOf(position: number): number {
    let start = 0;
    let end = this.#pages.length;
    while (end - start > 1) {
      const middle = (start + end) >>> 1;
      if (this.#pages[middle]!.first <= position) start = middle;
      else end = middle;
    }
    return start;
  }
}

/** Documents from `start` to before `end` of an order. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Documents in a batch: so few that reading one blocks the event loop for tenths of a millisecond. */
const BATCH = 100;

export class IndexedCollection {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #documents: DocumentList;
  /** The documents' positions in each order. The order of the key needs none. */
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

  /** All documents that match, in order. `checkedSnapshot` has checked the query. */
  find(query: Query): readonly Document[] {
    return [...this.batches(query)].flat();
  }

  /** All documents that match, in order, in batches that are read as they are asked for. */
  batches({
    order,
    equal = {},
    range,
    descending = false,
    after,
    limit = Number.POSITIVE_INFINITY,
  }: Query): Iterable<readonly Document[]> {
    const positions = this.#positionsIn(order);
    const fixed = order.slice(0, Object.keys(equal).length);
    const values = fixed.map((field) => equal[field] as Scalar);
    const equals = this.#equal(positions, fixed, values);
    // Within the span only the first order field that `equal` does not fix is sorted: a range on it narrows the span, a
    // range on another field filters documents.
    const ordered = range !== undefined && range.field === order[fixed.length];
    const matching = ordered ? this.#within(positions, equals, range) : equals;
    const free = order.slice(fixed.length);
    const span = after ? this.#behind(positions, matching, comparisonWith(free, after), descending) : matching;
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
    const compare = comparisonWith(fields, values);
    const { length } = this.#documents;
    const start = this.#first(positions, { start: 0, end: length }, (document) => compare(document) >= 0);
    // The end is mostly near: steps of double length find it sooner than a binary search over the rest.
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

  /** The part of a span that follows, in the direction of reading, the values that `compare` tests. */
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

/** Whether a document comes before, with or after these values of its fields: negative, 0 or positive. */
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

export interface IndexedDataset {
  readonly manifest: Manifest;
  readonly publishedAt: Date;
  readonly collections: ReadonlyMap<string, IndexedCollection>;
}

/**
 * Declared once, not in each snapshot: every generator function gives its results a hidden class of their own, so V8
 * would recompile the code that reads them for every version.
 */
async function* batchesOf(readable: () => IndexedCollection, query: Query): AsyncGenerator<readonly Document[]> {
  for (const batch of readable().batches(query)) {
    readable();
    yield batch;
  }
}

/**
 * A snapshot of collections in memory.
 * @param assertOpen throws `closed` once the adapter is closed
 */
export const indexedSnapshot = (
  { manifest, publishedAt, collections }: IndexedDataset,
  assertOpen: () => void,
): Snapshot => {
  const readable = (name: string, signal?: AbortSignal): IndexedCollection => {
    assertOpen();
    if (signal?.aborted) throw new StorageError('aborted', `The read of "${name}" was aborted.`);
    const collection = collections.get(name);
    if (!collection) throw new StorageError('unknown_collection', `There is no collection "${name}".`);
    return collection;
  };
  return {
    version: manifest.version,
    publishedAt,
    manifest,
    get: async (name, key, signal) => readable(name, signal).get(key),
    find: (name, query, signal) => batchesOf(() => readable(name, signal), query),
    release: () => {},
  };
};

/**
 * Documents read (STEP) or positions moved (POSITIONS) between two pauses: one or two tenths of a millisecond of work.
 */
const STEP = 250;
const POSITIONS = 20_000;

/** Calls `work` for each position below `length`, and yields after every POSITIONS. */
function* forEach(length: number, work: (at: number) => void): Generator<void, void> {
  for (let start = 0; start < length; start += POSITIONS) {
    const end = Math.min(length, start + POSITIONS);
    for (let at = start; at < end; at++) work(at);
    yield;
  }
}

/**
 * The leading fields of an order that must be sorted: if the other fields are the rest of the key in its sequence, a
 * stable sort of documents in key order keeps those sorted.
 */
const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (order.slice(count).join() === rest.join()) return leading;
  }
  return order;
};

/** Ranks values in order, from 0; equal values share a rank. */
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

  /** Sorts positions by rank with a stable counting sort; equal ranks keep their sequence. */
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
function* sortedPositions(
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
