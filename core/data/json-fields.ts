/** Finds scalar fields in JSON text without parsing the text. */
import type { Document } from '../contracts/dataset.js';
import type { Scalar } from '../contracts/storage.js';
import { compareScalars } from './scalars.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const FIRST_NON_ASCII = 0x80;

const skipSpace = (json: Buffer, from: number): number => {
  let at = from;
  while (json[at]! <= SPACE) at++;
  return at;
};

const stringEnd = (json: Buffer, start: number): number => {
  let at = start + 1;
  while (json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
};

const isClosing = (byte: number): boolean => byte === CLOSING_BRACE || byte === CLOSING_BRACKET;
const isOpening = (byte: number): boolean => byte === OPENING_BRACE || byte === OPENING_BRACKET;

const nestedEnd = (json: Buffer, start: number): number => {
  let depth = 0;
  for (let at = start; ; at++) {
    const byte = json[at]!;
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (isOpening(byte)) depth++;
    else if (isClosing(byte) && --depth === 0) return at + 1;
  }
};

const valueEnd = (json: Buffer, start: number): number => {
  const first = json[start]!;
  if (first === QUOTE) return stringEnd(json, start);
  if (isOpening(first)) return nestedEnd(json, start);
  let at = start + 1;
  while (json[at] !== COMMA && json[at]! > SPACE && !isClosing(json[at]!)) at++;
  return at;
};

const isEqual = (json: Buffer, at: number, name: Buffer): boolean => {
  for (let i = 0; i < name.length; i++) if (json[at + i] !== name[i]) return false;
  return true;
};

type Span = readonly [start: number, end: number];

interface Member {
  readonly name: Buffer;
  /** The index of the field with this name, or -1 if the field is not searched for. */
  readonly field: number;
}

const MOST_CACHED = 1024;
const LONGEST_CACHED = 24;

/**
 * Caches short strings, so that a frequent string is decoded only once. All documents then contain the same string
 * object, which a `Map` finds faster than a copy.
 */
class StringCache {
  readonly #texts: (string | undefined)[] = [];
  readonly #bytes: Buffer[] = [];

  /** @returns the text between these offsets, which must be UTF-8 without escapes */
  decode(json: Buffer, start: number, end: number): string {
    if (end - start > LONGEST_CACHED) return json.toString('utf8', start, end);
    let hash = 0;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + json[at]!) | 0;
    const place = (hash ^ (hash >>> 10)) & (MOST_CACHED - 1);
    const bytes = this.#bytes[place];
    const text = this.#texts[place];
    if (text !== undefined && bytes!.length === end - start && isEqual(json, start, bytes!)) return text;
    this.#bytes[place] = Buffer.from(json.subarray(start, end));
    const decoded = json.toString('utf8', start, end);
    this.#texts[place] = decoded;
    return decoded;
  }
}

/**
 * Finds fields in the JSON of documents. Documents of one collection usually have the same fields in the same order, so
 * each name is first compared with the name at the same index in the previous document.
 */
export class JsonFields {
  /** For each field, the offset at which its value starts in the most recently searched document. */
  readonly starts: number[];
  /**
   * For each field of the document, the offset at which its value ends, or 0 if the document does not contain the
   * field.
   */
  readonly ends: number[];
  readonly #fields: readonly string[];
  readonly #members: Member[] = [];
  readonly #strings = new StringCache();

  constructor(fields: readonly string[]) {
    this.#fields = fields;
    this.starts = fields.map(() => 0);
    this.ends = fields.map(() => 0);
  }

  find(json: Buffer, start: number): void {
    for (let i = 0; i < this.ends.length; i++) this.ends[i] = 0;
    let left = this.#fields.length;
    let at = skipSpace(json, skipSpace(json, start) + 1);
    for (let i = 0; left > 0 && json[at] === QUOTE; i++) {
      const { name, field } = this.#member(i, json, at);
      at = skipSpace(json, skipSpace(json, at + name.length) + 1);
      const end = valueEnd(json, at);
      if (field >= 0) {
        this.starts[field] = at;
        this.ends[field] = end;
        left--;
      }
      at = skipSpace(json, end);
      if (json[at] === COMMA) at = skipSpace(json, at + 1);
    }
  }

  compare(json: Buffer, start: number, values: readonly Scalar[]): number {
    this.find(json, start);
    for (let i = 0; i < values.length; i++) {
      const order = compareWith(json, this.starts[i]!, this.ends[i]!, values[i]!);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Compares two documents in the same buffer. `find` must have found all fields of both documents. */
  compareFound(json: Buffer, other: JsonFields): number {
    for (let i = 0; i < this.#fields.length; i++) {
      const order = compareValues(json, [this.starts[i]!, this.ends[i]!], [other.starts[i]!, other.ends[i]!]);
      if (order !== 0) return order;
    }
    return 0;
  }

  document(json: Buffer, start: number): Document {
    this.find(json, start);
    const document: Record<string, unknown> = {};
    for (let i = 0; i < this.ends.length; i++) {
      const [start, end] = [this.starts[i]!, this.ends[i]!];
      if (end > 0)
        document[this.#fields[i]!] = isPlainString(json, start, end)
          ? this.#strings.decode(json, start + 1, end - 1)
          : valueIn(json, start, end);
    }
    return document;
  }

  #member(i: number, json: Buffer, at: number): Member {
    const last = this.#members[i];
    if (last && isEqual(json, at, last.name)) return last;
    const name = Buffer.from(json.subarray(at, stringEnd(json, at)));
    const member = { name, field: this.#fields.indexOf(JSON.parse(name.toString())) };
    this.#members[i] = member;
    return member;
  }
}

export const hasEscape = (json: Buffer, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) if (json[at] === BACKSLASH) return true;
  return false;
};

export const isString = (json: Buffer, start: number): boolean => json[start] === QUOTE;

const isPlainString = (json: Buffer, start: number, end: number): boolean =>
  isString(json, start) && !hasEscape(json, start, end);

const MAX_DIGITS = 15;
const POWERS = Array.from({ length: MAX_DIGITS + 1 }, (_, exponent) => 10 ** exponent);

/**
 * Parses a number several times as fast as `Number`. A number with at most 15 characters and no exponent is the
 * quotient of two exact doubles, so the result is rounded correctly.
 */
export const numberIn = (json: Buffer, start: number, end: number): number => {
  const isNegative = json[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  let digits = 0;
  let decimals = 0;
  for (let at = first; at < end; at++) {
    const digit = json[at]! - ZERO;
    if (json[at] === POINT) decimals = end - at - 1;
    else if (end - first <= MAX_DIGITS && digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else return Number(json.toString('latin1', start, end));
  }
  const value = digits / POWERS[decimals]!;
  return isNegative ? -value : value;
};

const isNumber = (json: Buffer, start: number): boolean =>
  json[start] === MINUS || (json[start]! >= ZERO && json[start]! <= NINE);

/**
 * Parses a single value. If `JSON.parse` parsed the whole document, V8 would keep every string of up to ten characters
 * until the next full garbage collection.
 */
export const valueIn = (json: Buffer, start: number, end: number): unknown => {
  if (isNumber(json, start)) return numberIn(json, start, end);
  return isPlainString(json, start, end)
    ? json.toString('utf8', start + 1, end - 1)
    : JSON.parse(json.toString('utf8', start, end));
};

/** UTF-8 bytes have the same order as code points. */
const compareBytes = (json: Buffer, [start, end]: Span, [otherStart, otherEnd]: Span): number => {
  const size = Math.min(end - start, otherEnd - otherStart);
  for (let i = 0; i < size; i++) {
    const difference = json[start + i]! - json[otherStart + i]!;
    if (difference !== 0) return difference;
  }
  return end - start - (otherEnd - otherStart);
};

const compareValues = (json: Buffer, a: Span, b: Span): number =>
  isPlainString(json, ...a) && isPlainString(json, ...b)
    ? compareBytes(json, [a[0] + 1, a[1] - 1], [b[0] + 1, b[1] - 1])
    : compareScalars(scalarIn(json, ...a), scalarIn(json, ...b));

/** Decodes a string only if an escape or a character other than ASCII comes before the first difference. */
const compareWith = (json: Buffer, start: number, end: number, value: Scalar): number => {
  if (typeof value === 'string' && isString(json, start)) {
    const size = end - start - 2;
    for (let i = 0; ; i++) {
      if (i === size || i === value.length) return size - value.length;
      const byte = json[start + 1 + i]!;
      const unit = value.charCodeAt(i);
      if (byte >= FIRST_NON_ASCII || unit >= FIRST_NON_ASCII || byte === BACKSLASH) break;
      if (byte !== unit) return byte - unit;
    }
  }
  return compareScalars(scalarIn(json, start, end), value);
};

export const scalarIn = valueIn as (json: Buffer, start: number, end: number) => Scalar;
