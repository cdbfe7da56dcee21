import { OperatorError } from '../../errors.js';
import { isJsonObject } from '../../validation/json.js';
import type { Cell } from './column-guess.js';
import { textOf } from './text.js';

interface JsonText {
  readonly text: string;
  readonly line: number;
}

const MAX_OBJECT = 16 * 1024 * 1024;
const STEP = /["\\[\]{}\n]/g;

/** Splits text into JSON objects. Brackets, commas and white space between objects are ignored. */
class ObjectSplitter {
  #rest = '';
  #line = 1;
  #openArrays = 0;

  push(part: string): JsonText[] {
    const text = this.#rest + part;
    const found: JsonText[] = [];
    let start = -1;
    let depth = 0;
    let isString = false;
    let after = 0;
    let line = this.#line;
    let startLine = line;
    STEP.lastIndex = 0;
    for (let match = STEP.exec(text); match; match = STEP.exec(text)) {
      const { index } = match;
      const sign = text[index]!;
      if (sign === '\n') line++;
      else if (isString) {
        if (sign === '\\') STEP.lastIndex = index + 2;
        else if (sign === '"') isString = false;
      } else if (depth === 0) {
        this.#assertBetween(text.slice(after, index), sign, line);
        if (sign === '{') {
          depth = 1;
          start = index;
          startLine = line;
        } else this.#openArrays += sign === '[' ? 1 : -1;
        after = index + 1;
      } else if (sign === '"') isString = true;
      else if (sign === '{' || sign === '[') depth++;
      else if (sign === '}' || sign === ']') {
        depth--;
        if (depth > 0) continue;
        found.push({ text: text.slice(start, index + 1), line: startLine });
        after = index + 1;
        start = -1;
      }
    }
    this.#rest = start === -1 ? text.slice(after) : text.slice(start);
    this.#line = start === -1 ? line : startLine;
    if (start === -1) this.#line -= this.#rest.split('\n').length - 1;
    if (this.#rest.length > MAX_OBJECT)
      throw new OperatorError(`line ${this.#line}: an object is not closed or is too long`);
    return found;
  }

  end(): void {
    const rest = this.#rest.replace(/^[\s,]+/, '');
    if (rest !== '' && !rest.startsWith('{')) this.#assertBetween(rest, '', this.#line);
    const open = rest !== '' ? 'an object' : this.#openArrays > 0 ? 'an array' : undefined;
    if (open) throw new OperatorError(`line ${this.#line}: the file ends within ${open}: it was cut short`);
  }

  #assertBetween(text: string, sign: string, line: number): void {
    if (/^[\s,]*$/.test(text) && /[[\]{]/.test(sign)) return;
    throw new OperatorError(`line ${line}: must be an object; a table is an array of objects, or one object per line`);
  }
}

/** Matches strings, and numbers of at least 16 characters. Numbers that parsing would change become strings. */
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]{15,}/g;
const HAS_LONG_NUMBER = /\d[\d.]{15}/;

const parse = ({ text, line }: JsonText): Readonly<Record<string, unknown>> => {
  const safe = HAS_LONG_NUMBER.test(text)
    ? text.replace(LONG_NUMBER, (found) =>
        found.startsWith('"') || String(Number(found)) === found ? found : `"${found}"`,
      )
    : text;
  try {
    const value: unknown = JSON.parse(safe);
    if (isJsonObject(value)) return value;
  } catch (cause) {
    throw new OperatorError(`line ${line}: is not JSON: ${(cause as Error).message}`, [], { cause });
  }
  throw new OperatorError(`line ${line}: must be a JSON object`);
};

export interface JsonRow {
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @throws OperatorError that names the line with the error */
export async function* jsonRows(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<readonly JsonRow[]> {
  const splitter = new ObjectSplitter();
  /** The first object. If it is the only one, it contains the whole table. */
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
