import type { Format, Row } from '../contracts/format.js';
import type { JsonRows } from '../contracts/storage.js';
import { isString, JsonFields, valueIn } from '../data/json-fields.js';
import { forEachText, textOf } from '../data/lazy-rows.js';
import { jsonOf } from './formats.js';

/**
 * Matches text that a spreadsheet would run as a formula: text that starts with a character on OWASP's list, or with
 * the full-width form of such a character. Text with apostrophes before such a character also matches, and gets another
 * apostrophe. Clients can therefore always restore the original text by removing one apostrophe.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

const quote = (value: string): string =>
  value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;

type Cell = (column: string, value: unknown) => string;

const cellWriter =
  (text: (value: string) => string): Cell =>
  (column, value) => {
    if (typeof value === 'string') return text(value);
    const json = value === undefined ? undefined : jsonOf(value, `/${column}`);
    if (json === undefined || json === 'null') return '';
    // Dates are strings in JSON, so they are handled like text.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };

/** Many CSV readers skip empty lines, so a record that consists of one empty field is written as `""`. */
const EMPTY_RECORD = '""';
const record = (cells: readonly string[]): string => `${cells.join(',') || EMPTY_RECORD}\r\n`;

const CR = 0x0d;
const LF = 0x0a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/** Text that starts with a letter or a digit is never a formula. */
const isAlphanumeric = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);

/**
 * Maximum length of a number that is copied without being parsed. `JSON.stringify` does not change numbers of up to 15
 * digits, except for exponents, -0 and trailing zeros.
 */
const MAX_DIGITS = 15;
/** `JSON.stringify` writes numbers below this value with an exponent. */
const LEAST_UNCHANGED = 1e-6;

const isUnchangedNumber = (json: Buffer, start: number, end: number): boolean => {
  const first = json[start] === MINUS ? start + 1 : start;
  if (end - first > MAX_DIGITS) return false;
  let point = end;
  for (let at = first; at < end; at++) {
    const byte = json[at]!;
    if (byte === POINT) point = at;
    else if (byte < ZERO || byte > NINE) return false;
  }
  if (point < end && json[end - 1] === ZERO) return false;
  return (
    json[first] !== ZERO ||
    (first === start && end - first === 1) ||
    Number(json.toString('latin1', first, end)) >= LEAST_UNCHANGED
  );
};

/**
 * Converts rows from their JSON text. Most cells are copied as bytes, without creating a string. Parsing the rows would
 * take three times as long, and would create garbage.
 */
class StoredRecords {
  readonly #columns: readonly string[];
  readonly #cell: Cell;
  readonly #fields: JsonFields;
  #bytes = Buffer.allocUnsafeSlow(16 * 1024);
  #size = 0;

  constructor(columns: readonly string[], cell: Cell) {
    this.#columns = columns;
    this.#cell = cell;
    this.#fields = new JsonFields(columns);
  }

  write(text: readonly JsonRows[]): Buffer {
    this.#size = 0;
    forEachText(text, (json, start) => this.#writeRecord(json, start));
    return Buffer.from(this.#bytes.subarray(0, this.#size));
  }

  #writeRecord(json: Buffer, start: number): void {
    const { starts, ends } = this.#fields;
    this.#fields.find(json, start);
    const recordStart = this.#size;
    for (let i = 0; i < ends.length; i++) {
      if (i > 0) this.#appendByte(COMMA);
      if (ends[i]! > 0) this.#writeCell(json, starts[i]!, ends[i]!, this.#columns[i]!);
    }
    if (this.#size === recordStart) this.#append(EMPTY_RECORD);
    this.#appendByte(CR);
    this.#appendByte(LF);
  }

  #writeCell(json: Buffer, start: number, end: number, column: string): void {
    const first = json[start]!;
    if (first === LETTER_N) return;
    const isCopied = isString(json, start)
      ? isAlphanumeric(json[start + 1]!) && this.#copy(json, start + 1, end - 1)
      : (first === LETTER_T || first === LETTER_F || isUnchangedNumber(json, start, end)) &&
        this.#copy(json, start, end);
    if (!isCopied) this.#append(this.#cell(column, valueIn(json, start, end)));
  }

  /** Copies text unchanged. If it must be unescaped or quoted, copies nothing and returns false. */
  #copy(json: Buffer, start: number, end: number): boolean {
    this.#reserve(end - start);
    const bytes = this.#bytes;
    let size = this.#size;
    for (let at = start; at < end; at++) {
      const byte = json[at]!;
      if (byte === BACKSLASH || byte === COMMA) return false;
      bytes[size++] = byte;
    }
    this.#size = size;
    return true;
  }

  #appendByte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#size++] = byte;
  }

  #append(text: string): void {
    this.#reserve(3 * text.length);
    this.#size += this.#bytes.write(text, this.#size);
  }

  #reserve(size: number): void {
    if (this.#size + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#size + size));
    this.#bytes.copy(larger, 0, 0, this.#size);
    this.#bytes = larger;
  }
}

/**
 * The CSV format: a header and one record per row, each ending with CRLF. Null and missing values become empty fields,
 * and the empty string becomes `""`. Numbers and booleans are written as in JSON. Objects and arrays are written as JSON
 * in a single cell.
 * @param formulaGuard whether to put an apostrophe in front of text that a spreadsheet would run as a formula. Numbers
 * are not changed
 */
export const csvFormat = (formulaGuard: boolean): Format => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = cellWriter(text);
  return {
    name: 'csv',
    mediaTypes: ['text/csv; charset=utf-8; header=present'],
    description: 'RFC 4180, with a header line. The columns are the properties of the rows.',
    async *write(rows, columns) {
      const names = columns.map(({ name }) => name);
      const recordOf = (row: Row): string =>
        record(names.map((name) => cell(name, Object.hasOwn(row, name) ? row[name] : undefined)));
      const stored = new StoredRecords(names, cell);
      yield record(names.map(text));
      for await (const batch of rows) {
        const json = textOf(batch);
        yield json ? stored.write(json) : batch.reduce((text, row) => text + recordOf(row), '');
      }
    },
  };
};
