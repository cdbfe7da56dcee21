import { OperatorError } from '../../errors.js';
import { isJsonObject } from '../../validation/json.js';
import type { Cell } from './column-guess.js';
import { hasEscape } from './csv.js';
import { lossOf } from './notations.js';
import { textOf } from './text.js';

interface JsonText {
  readonly text: string;
  readonly line: number;
}

const MAX_OBJECT = 16 * 1024 * 1024;
const MAX_DEPTH = 1000;
const STEP = /["\\[\]{}\n]/g;

/** Splits text into JSON objects. Brackets, commas and white space between objects are ignored. */
class ObjectSplitter {
  #rest = '';
  #next = 0;
  #line = 1;
  #startLine = 1;
  #depth = 0;
  #isString = false;
  #openArrays = 0;

  push(part: string): JsonText[] {
    const text = this.#rest + part;
    const found: JsonText[] = [];
    let from = 0;
    STEP.lastIndex = this.#next;
    let next = text.length;
    for (let match = STEP.exec(text); match; match = STEP.exec(text)) {
      const { index } = match;
      const sign = text[index]!;
      if (sign === '\n') this.#line++;
      else if (this.#isString) {
        if (sign === '\\') {
          STEP.lastIndex = index + 2;
          next = Math.max(next, index + 2);
        } else if (sign === '"') this.#isString = false;
      } else if (this.#depth === 0) {
        this.#assertBetween(text.slice(from, index), sign, this.#line);
        from = index + 1;
        if (sign === '{') {
          this.#depth = 1;
          this.#startLine = this.#line;
          from = index;
        } else this.#openArrays += sign === '[' ? 1 : -1;
      } else if (sign === '"') this.#isString = true;
      else if (sign === '{' || sign === '[') this.#open();
      else if ((sign === '}' || sign === ']') && --this.#depth === 0) {
        found.push({ text: text.slice(from, index + 1), line: this.#startLine });
        from = index + 1;
      }
    }
    this.#rest = text.slice(from);
    this.#next = next - from;
    if (this.#rest.length > MAX_OBJECT)
      throw new OperatorError(`line ${this.#startLine}: an object is not closed or is too long`);
    return found;
  }

  #open(): void {
    if (++this.#depth > MAX_DEPTH)
      throw new OperatorError(`line ${this.#line}: an object has more than ${MAX_DEPTH} levels`);
  }

  end(): void {
    const rest = this.#rest.replace(/^[\s,]+/, '');
    const line = this.#depth > 0 ? this.#startLine : this.#line - rest.split('\n').length + 1;
    if (rest !== '' && this.#depth === 0) this.#assertBetween(rest, '', line);
    const open = rest !== '' ? 'an object' : this.#openArrays > 0 ? 'an array' : undefined;
    if (open) throw new OperatorError(`line ${line}: the file ends within ${open}: it was cut short`);
  }

  #assertBetween(text: string, sign: string, line: number): void {
    if (/^[\s,]*$/.test(text) && /[[\]{]/.test(sign)) return;
    throw new OperatorError(`line ${line}: must be an object; a table is an array of objects, or one object per line`);
  }
}

/** Matches numbers that parsing might change because of their length or exponent. */
const RISKY_NUMBER = /-?\d[\d.eE+-]{15,}|-?\d[\d.]*[eE][+-]?\d{3,}/g;
const HAS_RISKY_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;
/** Python writes NaN and Infinity, which are not valid JSON. */
const NOT_A_NUMBER = /-?\b(NaN|Infinity)\b/g;

const keepDigits = (found: string): string =>
  String(Number(found)) === found || lossOf(found) === undefined ? found : `"${found}"`;

/** A regular expression for strings would overflow its stack on long strings. */
const changeOutsideStrings = (text: string, change: (part: string) => string): string => {
  const parts: string[] = [];
  let from = 0;
  for (let open = text.indexOf('"'); open !== -1; open = text.indexOf('"', from)) {
    let close = text.indexOf('"', open + 1);
    while (hasEscape(text, open + 1, close)) close = text.indexOf('"', close + 1);
    if (close === -1) break;
    parts.push(change(text.slice(from, open)), text.slice(open, close + 1));
    from = close + 1;
  }
  return [...parts, change(text.slice(from))].join('');
};

const toJson = (text: string): string =>
  HAS_RISKY_NUMBER.test(text) || /NaN|Infinity/.test(text)
    ? changeOutsideStrings(text, (part) => part.replace(RISKY_NUMBER, keepDigits).replace(NOT_A_NUMBER, '"$&"'))
    : text;

const parse = ({ text, line }: JsonText): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(toJson(text));
    if (isJsonObject(value)) return value;
  } catch (cause) {
    throw new OperatorError(`line ${line}: is not JSON: ${(cause as Error).message}`, [], { cause });
  }
  throw new OperatorError(`line ${line}: must be a JSON object`);
};

interface JsonRow {
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @throws OperatorError that names the line with the error */
export async function* jsonRows(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<readonly JsonRow[]> {
  const splitter = new ObjectSplitter();
  let first: JsonRow | undefined;
  let count = 0;
  for await (const text of textOf(bytes, encoding)) {
    const rows = splitter.push(text).map((found) => ({ line: found.line, fields: parse(found) }));
    count += rows.length;
    if (count === 1) first ??= rows[0];
    else {
      yield first ? [first, ...rows] : rows;
      first = undefined;
    }
  }
  splitter.end();
  if (first) yield rowsOfOnly(first);
}

/**
 * Returns the rows of a file with a single JSON object. The object contains one list of rows, one list per column, one
 * object per column (the default of pandas), or a single row.
 */
const rowsOfOnly = (only: JsonRow): readonly JsonRow[] => {
  const columns = Object.entries(only.fields);
  const lists = columns.filter((column): column is [string, unknown[]] => Array.isArray(column[1]));
  const length = lists[0]?.[1].length ?? 0;
  if (columns.length === 1 && length > 0 && lists[0]?.[1].every(isJsonObject)) {
    return lists[0][1].map((fields, i) => ({ line: i + 1, fields: fields as JsonRow['fields'] }));
  }
  if (length > 0 && lists.length === columns.length && lists.every(([, values]) => values.length === length)) {
    return Array.from({ length }, (_, i) => ({
      line: i + 1,
      fields: Object.fromEntries(lists.map(([name, values]) => [name, values[i]])),
    }));
  }
  const indexed = columns.map(([, values]) => (isJsonObject(values) ? Object.keys(values).join() : ''));
  if (columns.length > 0 && /^\d+(,\d+)*$/.test(indexed[0]!) && indexed.every((keys) => keys === indexed[0])) {
    const index = Object.keys(columns[0]![1] as object);
    const isRowNumber = index.every((key, i) => key === String(i));
    return index.map((key, i) => ({
      line: i + 1,
      fields: {
        ...(!isRowNumber && { index: Number(key) }),
        ...Object.fromEntries(columns.map(([name, values]) => [name, (values as JsonRow['fields'])[key]])),
      },
    }));
  }
  const long = lists.find(([, values]) => values.length > 1 || values.some(isJsonObject));
  if (!long) return [only];
  throw new OperatorError(
    `it is one object, and its field ${JSON.stringify(long[0])} is an array; a table is an array of objects, one object ` +
      `per line, or an object of arrays of equal length; extract the array, such as with jq '.${long[0]}'`,
  );
};

export const cellOf = (value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
};
