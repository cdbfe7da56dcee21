import type { Document } from '../contracts/dataset.js';
import type { JsonRows, Scalar } from '../contracts/storage.js';
import { Arena } from './arena.js';
import type { JsonFields } from './json-fields.js';

export const jsonRows = (documents: readonly Document[]): JsonRows =>
  joinedRows(documents.map((document) => JSON.stringify(document)));

/** @param texts the documents as JSON */
export const joinedRows = (texts: readonly string[]): JsonRows => {
  let end = -1;
  const ends = texts.map((text) => {
    end += 1 + Buffer.byteLength(text);
    return end;
  });
  return { json: Buffer.from(texts.join()), ends };
};

interface Page {
  readonly first: number;
  readonly bytes: Buffer;
  used: number;
  ends: number[] | Uint32Array;
}

/**
 * The size of a page, unless a single batch needs more. With large pages, the list of pages is short enough for the CPU
 * cache. The first pages are smaller, so that small collections need little memory.
 */
const PAGE_BYTES = 1024 * 1024;
const FIRST_PAGE_BYTES = 16 * 1024;
/** Each of the first pages is this many times as large as the previous one. */
const GROWTH = 4;
const COMMA = 0x2c;

const startIn = ({ first, ends }: Page, position: number): number =>
  position === first ? 0 : ends[position - first - 1]! + 1;

/**
 * A list of documents, stored as JSON outside the JavaScript heap. Parsed documents would need more memory and slow
 * down garbage collection. Parsing a document takes less than a microsecond.
 */
export class PackedDocuments {
  readonly #arena: Arena;
  readonly #pages: Page[] = [];
  readonly #firsts: number[] = [];
  #length = 0;
  /**
   * Keeps the last parsed document alive. If no document of its hidden class existed, V8 would discard the code that is
   * optimised for this class.
   */
  readonly #last: { document?: Document | undefined } = {};

  /** Returns the approximate memory for documents of this size, in bytes. */
  static memoryOf(rows: number, bytes: number): number {
    // The end of each page is unused.
    return 1.02 * bytes + Math.min(PAGE_BYTES, 3 * bytes) + 4 * rows;
  }

  constructor(arena = new Arena()) {
    this.#arena = arena;
  }

  get length(): number {
    return this.#length;
  }

  add({ json, ends }: JsonRows): void {
    if (ends.length === 0) return;
    const page = this.#pageFor(json.length + 1);
    json.copy(page.bytes, page.used);
    for (const end of ends) {
      page.bytes[page.used + end] = COMMA;
      (page.ends as number[]).push(page.used + end);
    }
    page.used += json.length + 1;
    this.#length += ends.length;
  }

  read(positions: Iterable<number>): readonly Document[] {
    const documents = JSON.parse(`[${this.json(positions).json}]`) as readonly Document[];
    this.#last.document = documents.at(-1);
    return documents;
  }

  json(positions: Iterable<number>): JsonRows {
    const parts: { readonly page: Page; readonly from: number; to: number }[] = [];
    const ends: number[] = [];
    let size = 0;
    for (const position of positions) {
      const page = this.#pageOf(position);
      const from = startIn(page, position);
      const to = page.ends[position - page.first]! + 1;
      const last = parts.at(-1);
      if (last?.page === page && last.to === from) last.to = to;
      else parts.push({ page, from, to });
      size += to - from;
      ends.push(size - 1);
    }
    const buffers = parts.map(({ page, from, to }) => page.bytes.subarray(from, to));
    // The rows are copied, because their memory may be used again after the arena has been garbage collected.
    return { json: Buffer.concat(buffers, size).subarray(0, -1), ends };
  }

  compare(position: number, fields: JsonFields, values: readonly Scalar[]): number {
    const page = this.#pageOf(position);
    return fields.compare(page.bytes, startIn(page, position), values);
  }

  #pageFor(bytes: number): Page {
    const last = this.#pages.at(-1);
    if (last && last.bytes.length - last.used >= bytes) return last;
    if (last) this.#packEnds(last);
    const usual = Math.min(PAGE_BYTES, FIRST_PAGE_BYTES * GROWTH ** this.#pages.length);
    const page = {
      first: this.#length,
      bytes: this.#arena.bytes(Math.max(bytes, usual)),
      used: 0,
      ends: [],
    };
    this.#pages.push(page);
    this.#firsts.push(page.first);
    return page;
  }

  #packEnds(page: Page): void {
    const ends = this.#arena.integers(page.ends.length);
    ends.set(page.ends);
    page.ends = ends;
  }

  #pageOf(position: number): Page {
    let start = 0;
    let end = this.#pages.length;
    while (end - start > 1) {
      const middle = (start + end) >>> 1;
      if (this.#firsts[middle]! <= position) start = middle;
      else end = middle;
    }
    return this.#pages[start]!;
  }
}
