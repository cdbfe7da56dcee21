import type { Scalar } from '../../contracts/storage.js';

/** Rows that are written together. Their bytes are valid only until the next block is requested. */
export interface RowBlock {
  /** The JSON of the rows. A line feed follows each row. */
  readonly bytes: Buffer;
  /** The end of each row in `bytes`, before its line feed. */
  readonly ends: readonly number[];
  /** The values of the requested fields, row after row. */
  readonly values: readonly unknown[];
}

export interface KeyedBlock extends RowBlock {
  /** The values of the key columns, row after row. */
  readonly keys: readonly Scalar[];
  readonly lines: readonly number[];
}

const MAX_ROWS = 1000;
const MAX_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
export const MAX_BYTES_PER_CHARACTER = 3;

/** Collects rows. The bytes of all blocks share one buffer, because strings would create more garbage. */
export class BlockWriter {
  bytes = Buffer.allocUnsafe(MAX_BYTES);
  /** The number of bytes that have been written. */
  end = 0;
  values: unknown[] = [];
  #ends: number[] = [];
  #keys: Scalar[] = [];
  #lines: number[] = [];

  get isFull(): boolean {
    return this.#ends.length >= MAX_ROWS || this.end >= MAX_BYTES;
  }

  reserve(length: number): void {
    if (this.end + length <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.end + length));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }

  append(text: string): void {
    this.reserve(text.length * MAX_BYTES_PER_CHARACTER);
    this.end += this.bytes.write(text, this.end);
  }

  copy(source: Uint8Array, start = 0, end = source.length): void {
    this.reserve(end - start);
    const target = this.bytes;
    let to = this.end;
    for (let at = start; at < end; at++) target[to++] = source[at]!;
    this.end = to;
  }

  addKey(value: Scalar): void {
    this.#keys.push(value);
  }

  endRow(line: number): void {
    this.reserve(1);
    this.#ends.push(this.end);
    this.bytes[this.end++] = LINE_FEED;
    this.#lines.push(line);
  }

  /** Returns the collected rows, and starts a new block. */
  take(): KeyedBlock {
    const bytes = this.bytes.subarray(0, this.end);
    const block = { bytes, ends: this.#ends, values: this.values, keys: this.#keys, lines: this.#lines };
    this.end = 0;
    this.values = [];
    this.#ends = [];
    this.#keys = [];
    this.#lines = [];
    return block;
  }
}
