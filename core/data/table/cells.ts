import type { Scalar } from '../../contracts/storage.js';
import type { Cell } from './column-guess.js';
import type { ReadColumn } from './first-pass.js';
import { withoutMarks } from './marked-numbers.js';
import type { MissingMarkers } from './missing-markers.js';
import { isIsoDay, mayBeBlank, NOTATIONS, type NotationName, plainDigits } from './notations.js';
import { CellBounds } from './plain-line.js';
import { BlockWriter, type KeyedBlock, MAX_BYTES_PER_CHARACTER } from './row-block.js';
import type { Row } from './rows.js';
import type { KeyedRows } from './sort-rows.js';

export interface Key {
  readonly columns: readonly string[];
  /** True if the key is the number of the row, which is not a column of the file. */
  readonly isNumbered: boolean;
}

type Value = Scalar | boolean | null;

const jsonOf = (notation: NotationName, cell: Exclude<Cell, null>): string => {
  if (notation === 'text') return String(cell).trim() === '' ? 'null' : JSON.stringify(String(cell));
  if (typeof cell !== 'string') return JSON.stringify(cell);
  const { type, read } = NOTATIONS[notation];
  const text = cell.trim();
  return JSON.stringify(read(type === 'integer' || type === 'number' ? withoutMarks(text) : text) ?? null);
};

interface WrittenColumn {
  readonly at: number;
  readonly notation: NotationName;
  /** The JSON before the value. */
  readonly prefix: Uint8Array;
  /** True if the value is also returned, because it belongs to the key or to a requested field. */
  readonly isReturned: boolean;
}

const NULL = Buffer.from('null');
const CLOSE = Buffer.from('}');
const [QUOTE, BACKSLASH, ZERO, POINT, DASH] = [0x22, 0x5c, 0x30, 0x2e, 0x2d];
const POWERS = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
/** `JSON.stringify` writes smaller numbers with an exponent. */
const LEAST_PLAIN = 1e-6;

interface WriterOptions {
  /** The number of cells in a row of the file. */
  readonly width: number;
  readonly key: Key;
  /** Fields whose values are returned in addition to the JSON of each row. */
  readonly fields: readonly string[];
  readonly missing: MissingMarkers;
}

/** Converts rows to JSON. */
export class RowWriter {
  readonly #columns: readonly WrittenColumn[];
  readonly #missing: MissingMarkers;
  readonly #bounds: CellBounds;
  readonly #values: Value[];
  /** The positions of the key columns and of the requested fields in `#values`. */
  readonly #key: readonly number[];
  readonly #fields: readonly number[];
  /** The JSON before the row number. Undefined if the row number is not the key. */
  readonly #numberPrefix: Uint8Array | undefined;
  readonly #out = new BlockWriter();

  constructor(columns: readonly ReadColumn[], { width, key, fields, missing }: WriterOptions) {
    const names = [...columns.map(({ name }) => name), ...(key.isNumbered ? key.columns : [])];
    const prefixOf = (name: string, isFirst: boolean) => Buffer.from(`${isFirst ? '{' : ','}${JSON.stringify(name)}:`);
    this.#columns = columns.map(({ name, at, notation }, i) => ({
      at,
      notation,
      prefix: prefixOf(name, i === 0 && !key.isNumbered),
      isReturned: key.columns.includes(name) || fields.includes(name),
    }));
    this.#missing = missing;
    this.#bounds = new CellBounds(width);
    this.#values = names.map(() => null);
    this.#key = key.columns.map((name) => names.indexOf(name));
    this.#fields = fields.map((name) => names.indexOf(name));
    this.#numberPrefix = key.isNumbered ? prefixOf(key.columns[0]!, true) : undefined;
  }

  write(row: Row, number: number): void {
    const [out, values, bounds] = [this.#out, this.#values, this.#bounds];
    if (this.#numberPrefix) {
      out.copy(this.#numberPrefix);
      out.append(String(number));
      values[this.#columns.length] = number;
    }
    const cells = bounds.read(row) ? undefined : row.cells;
    for (let i = 0; i < this.#columns.length; i++) {
      const column = this.#columns[i]!;
      out.copy(column.prefix);
      values[i] = cells
        ? this.#cell(column, cells[column.at] ?? null)
        : this.#part(column, bounds.text, bounds.start(column.at), bounds.end(column.at));
    }
    out.copy(CLOSE);
    for (const at of this.#key) out.addKey(values[at] as Scalar);
    for (const at of this.#fields) out.values.push(values[at]);
    out.endRow(row.line);
  }

  get isFull(): boolean {
    return this.#out.isFull;
  }

  /** Returns the rows that have been written since the last call. */
  take(): KeyedBlock {
    return this.#out.take();
  }

  #cell(column: WrittenColumn, cell: Cell): Value {
    if (typeof cell === 'string') return this.#part(column, cell, 0, cell.length);
    return cell === null || this.#missing.has(cell) ? this.#null() : this.#converted(column, cell);
  }

  /** Writes the cell between two offsets in a string. */
  #part(column: WrittenColumn, text: string, start: number, end: number): Value {
    if (start === end) return this.#null();
    if (!this.#missing.isEmpty && this.#missing.has(text.slice(start, end))) return this.#null();
    const before = this.#out.end;
    this.#out.reserve((end - start) * MAX_BYTES_PER_CHARACTER + 2);
    const { notation } = column;
    const isNumber = notation === 'integer' || notation === 'number';
    const value = isNumber
      ? this.#number(text, start, end)
      : notation === 'text' || (notation === 'iso' && isIsoDay(text, start, end))
        ? this.#string(text, start, end, column.isReturned)
        : undefined;
    if (value !== undefined) return value;
    this.#out.end = before;
    return this.#converted(column, text.slice(start, end));
  }

  /** Writes text that needs no escaping in JSON. Returns undefined for other text, and for text that might be blank. */
  #string(text: string, start: number, end: number, isReturned: boolean): string | undefined {
    if (mayBeBlank(text.charCodeAt(start))) return undefined;
    const { bytes } = this.#out;
    let to = this.#out.end;
    bytes[to++] = QUOTE;
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code < 0x80) {
        if (code < 0x20 || code === QUOTE || code === BACKSLASH) return undefined;
        bytes[to++] = code;
        continue;
      }
      if (code < 0x800) bytes[to++] = 0xc0 | (code >> 6);
      else {
        // JSON escapes unpaired surrogates.
        if (code >= 0xd800 && code < 0xe000) return undefined;
        bytes[to++] = 0xe0 | (code >> 12);
        bytes[to++] = 0x80 | ((code >> 6) & 0x3f);
      }
      bytes[to++] = 0x80 | (code & 0x3f);
    }
    bytes[to++] = QUOTE;
    this.#out.end = to;
    return isReturned ? text.slice(start, end) : '';
  }

  /** Writes a plain number. Returns undefined for a number that `JSON.stringify` would write differently. */
  #number(text: string, start: number, end: number): number | undefined {
    const digits = plainDigits(text, start, end);
    if (digits === 0) return undefined;
    const { bytes } = this.#out;
    let to = this.#out.end;
    let integer = 0;
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at);
      bytes[to++] = code;
      if (code >= ZERO) integer = 10 * integer + code - ZERO;
    }
    const isNegative = text.charCodeAt(start) === DASH;
    const decimals = digits > 0 ? 0 : end - start - (isNegative ? 1 : 0) + digits - 1;
    // The quotient is exact, because a double can represent the dividend and the divisor.
    const value = integer / POWERS[decimals]!;
    if (value < LEAST_PLAIN && (value !== 0 || isNegative)) return undefined;
    if (decimals > 0) {
      while (bytes[to - 1] === ZERO) to--;
      if (bytes[to - 1] === POINT) to--;
    }
    this.#out.end = to;
    return isNegative ? -value : value;
  }

  #converted({ notation, isReturned }: WrittenColumn, cell: Exclude<Cell, null>): Value {
    const json = jsonOf(notation, cell);
    this.#out.append(json);
    return isReturned ? (JSON.parse(json) as Value) : null;
  }

  #null(): null {
    this.#out.copy(NULL);
    return null;
  }
}

/** @param writer for the key columns */
export async function* keyedRows(batches: AsyncIterable<readonly Row[]>, writer: RowWriter): AsyncGenerator<KeyedRows> {
  for await (const rows of batches) {
    for (const row of rows) writer.write(row, 0);
    yield { rows, keys: writer.take().keys };
  }
}

export async function* blocksOf(batches: AsyncIterable<readonly Row[]>, writer: RowWriter): AsyncGenerator<KeyedBlock> {
  let number = 0;
  for await (const rows of batches) {
    for (const row of rows) {
      writer.write(row, ++number);
      if (writer.isFull) yield writer.take();
    }
  }
  const rest = writer.take();
  if (rest.ends.length > 0) yield rest;
}
