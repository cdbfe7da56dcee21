/** Stores the values of one field as bytes that have the same order as the values. */
import type { Arena } from './arena.js';
import { hasEscape, isString, numberIn, scalarIn } from './json-fields.js';
import { sortableBytes } from './scalars.js';

/** A chunk contains 2^14 values. Only the last chunk grows, so adding a value never copies much memory. */
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
/** The first chunk starts with room for this many values, so that small collections need little memory. */
const LEAST = 64;
const LEAST_BYTES = 8 * LEAST;

interface Chunk {
  bytes: Buffer;
  ends: Uint32Array;
}

export const KEY_BYTES = 6;
/** The low three bits of a key contain the length of the value in bytes, or HAS_MORE if the value is longer. */
const HAS_MORE = KEY_BYTES + 1;

export const hasMore = (key: number): boolean => key % 8 === HAS_MORE;

export class ValueColumn {
  readonly #arena: Arena;
  readonly #chunks: Chunk[] = [];
  #length = 0;

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  get length(): number {
    return this.#length;
  }

  add(json: Buffer, start: number, end: number): number {
    if (!isString(json, start)) this.#addNumber(numberIn(json, start, end));
    else if (hasEscape(json, start, end)) this.#addBytes(Buffer.from(scalarIn(json, start, end) as string));
    else this.#addBytes(json, start + 1, end - 1);
    return this.#length - 1;
  }

  #addBytes(bytes: Uint8Array, start = 0, end = bytes.length): void {
    let at = this.#append(end - start);
    const chunk = this.#chunks[this.#chunks.length - 1]!.bytes;
    for (let from = start; from < end; from++) chunk[at++] = bytes[from]!;
  }

  #addNumber(value: number): void {
    const bytes = sortableBytes(value);
    // Trailing zeros are dropped, because a shorter value sorts as if it were padded with zeros.
    let size = 8;
    while (bytes[size - 1] === 0) size--;
    this.#addBytes(bytes, 0, size);
  }

  #append(size: number): number {
    const index = this.#length++ & (CHUNK - 1);
    if (index === 0) this.#addChunk();
    const chunk = this.#chunks[this.#chunks.length - 1]!;
    const start = index === 0 ? 0 : chunk.ends[index - 1]!;
    const end = start + size;
    if (index === chunk.ends.length) {
      const larger = this.#arena.integers(2 * index);
      larger.set(chunk.ends);
      chunk.ends = larger;
    }
    chunk.ends[index] = end;
    if (end > chunk.bytes.length) {
      const larger = this.#arena.bytes(2 * end);
      chunk.bytes.copy(larger, 0, 0, start);
      chunk.bytes = larger;
    }
    return start;
  }

  #addChunk(): void {
    const last = this.#chunks.at(-1);
    const bytes = last ? Math.ceil(1.1 * last.ends.at(-1)!) : LEAST_BYTES;
    this.#chunks.push({ bytes: this.#arena.bytes(bytes), ends: this.#arena.integers(last ? CHUNK : LEAST) });
  }

  /** Packs up to KEY_BYTES bytes of a value, starting at `depth`, into a number. These numbers sort like the bytes. */
  key(value: number, depth: number): number {
    const { bytes, ends } = this.#chunks[value >>> CHUNK_BITS]!;
    const index = value & (CHUNK - 1);
    const start = (index === 0 ? 0 : ends[index - 1]!) + depth;
    const size = ends[index]! - start;
    if (size >= KEY_BYTES) {
      const high = (bytes[start]! << 16) | (bytes[start + 1]! << 8) | bytes[start + 2]!;
      const low = (bytes[start + 3]! << 16) | (bytes[start + 4]! << 8) | bytes[start + 5]!;
      return (high * 0x1000000 + low) * 8 + (size > KEY_BYTES ? HAS_MORE : KEY_BYTES);
    }
    let key = 0;
    for (let i = 0; i < KEY_BYTES; i++) key = key * 256 + (i < size ? bytes[start + i]! : 0);
    return key * 8 + size;
  }

  compare(a: number, b: number, depth: number): number {
    const left = this.#chunks[a >>> CHUNK_BITS]!;
    const right = this.#chunks[b >>> CHUNK_BITS]!;
    const i = a & (CHUNK - 1);
    const j = b & (CHUNK - 1);
    let from = (i === 0 ? 0 : left.ends[i - 1]!) + depth;
    let to = (j === 0 ? 0 : right.ends[j - 1]!) + depth;
    const [leftEnd, rightEnd] = [left.ends[i]!, right.ends[j]!];
    while (from < leftEnd && to < rightEnd) {
      const difference = left.bytes[from++]! - right.bytes[to++]!;
      if (difference !== 0) return difference;
    }
    return leftEnd - from - (rightEnd - to);
  }
}
