/**
 * Documents kept as the JSON that they came in, and parsed when they are asked for.
 *
 * Parsed documents take as much memory again as their JSON and more, and the garbage collector moves and marks every
 * one of them: with a large dataset, and while a new one is loaded, requests wait for that. It ignores bytes. Parsing a
 * document takes less than a microsecond, and representations are cached, so that few are parsed twice.
 */
import type { Document } from '../contracts/dataset.js';

/** Documents by position. An array is such a list. */
export interface DocumentList {
  readonly length: number;
  at(position: number): Document | undefined;
  /** Those from `start` to before `end`. */
  slice(start: number, end: number): readonly Document[];
}

/** Consecutive documents as one JSON array. */
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
 * What a page holds at least, so that pages are few, and at most where no batch is larger, so that positions have 16
 * bits. What is not used of the last one takes no memory.
 */
const PAGE_BYTES = 64 * 1024;
const COMMA = 0x2c;

const jsonOf = ({ bytes, ends }: Page, from: number, to: number): string =>
  bytes.toString('utf8', from === 0 ? 0 : ends[from - 1]! + 1, ends[to - 1]);

export class PackedDocuments implements DocumentList {
  readonly #pages: Page[] = [];
  #length = 0;
  /**
   * The document that was read last. It keeps the documents' hidden class alive: without any object of it, V8 would
   * discard the code compiled for it, and load the next version with slow code.
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
