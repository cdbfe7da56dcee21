/** Lists of rows that stay JSON text until code reads them, so that core can send them as stored. */
import type { Document } from '../contracts/dataset.js';
import type { JsonRows } from '../contracts/storage.js';

/** The property that contains the text of a list. */
const TEXT = Symbol('text');

const isIndex = (property: string | symbol): boolean => typeof property === 'string' && /^\d/.test(property);

/**
 * Parses the text at the first access to a row. From then on the text is not used, since rows may have been changed.
 */
class ParsedWhenRead implements ProxyHandler<Document[]> {
  #text: readonly JsonRows[] | undefined;

  constructor(text: readonly JsonRows[]) {
    this.#text = text;
  }

  get(rows: Document[], property: string | symbol): unknown {
    if (property === TEXT) return this.#text;
    if (property === 'length' && this.#text) return countOf(this.#text);
    if (isIndex(property)) return Reflect.get(this.read(rows), property);
    // `await` reads `then`, and core looks for an async iterator. Neither needs a row.
    const value: unknown = Reflect.get(rows, property);
    // A method of the parsed array does not go through this handler for each row.
    return typeof value === 'function' && property !== 'constructor' ? value.bind(this.read(rows)) : value;
  }

  has(rows: Document[], property: string | symbol): boolean {
    return Reflect.has(isIndex(property) ? this.read(rows) : rows, property);
  }

  read(rows: Document[]): Document[] {
    const text = this.#text ?? [];
    this.#text = undefined;
    for (const { json } of text) for (const row of JSON.parse(`[${json}]`) as Document[]) rows.push(row);
    return rows;
  }
}

const TRAPS = [
  'defineProperty',
  'deleteProperty',
  'getOwnPropertyDescriptor',
  'ownKeys',
  'preventExtensions',
  'set',
] as const;
for (const trap of TRAPS) {
  const operation = Reflect[trap] as (rows: Document[], ...rest: unknown[]) => unknown;
  Object.defineProperty(ParsedWhenRead.prototype, trap, {
    value(this: ParsedWhenRead, rows: Document[], ...rest: unknown[]): unknown {
      return operation(this.read(rows), ...rest);
    },
  });
}

const countOf = (text: readonly JsonRows[]): number => text.reduce((count, { ends }) => count + ends.length, 0);

/** A list of the documents, which is parsed at the first access to a row. */
export const lazyRows = (...text: readonly JsonRows[]): readonly Document[] =>
  new Proxy<Document[]>([], new ParsedWhenRead(text));

/** The text of a list that has not been parsed. Undefined for any other list. */
export const textOf = (rows: readonly object[]): readonly JsonRows[] | undefined =>
  (rows as { readonly [TEXT]?: readonly JsonRows[] })[TEXT];

/** All rows of the lists, still as text if none has been parsed. */
export const joinRows = <T extends object>(lists: readonly (readonly T[])[]): T[] => {
  const texts = lists.map(textOf);
  return texts.every((text) => text !== undefined)
    ? (lazyRows(...texts.flat()) as T[])
    : lists.flatMap((list) => [...list]);
};

/** The rows in batches: the parts of the text, or slices of `size` rows. */
export function* inBatches<T extends object>(rows: readonly T[], size: number): Generator<readonly T[]> {
  const text = textOf(rows);
  if (text) for (const part of text) yield lazyRows(part) as readonly T[];
  else for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/** Longer lists are parsed batch by batch. Parsing one at once would block the process for too long. */
const MOST_LAZY = 1000;

/** All rows of the batches. Up to `MOST_LAZY` rows stay text if none has been parsed. */
export const collectRows = async <T extends object>(batches: AsyncIterable<readonly T[]>): Promise<T[]> => {
  const lists: (readonly T[])[] = [];
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    lists.push(count > MOST_LAZY ? [...batch] : batch);
  }
  return joinRows(lists);
};

const startOf = ({ ends }: JsonRows, row: number): number => (row === 0 ? 0 : ends[row - 1]! + 1);

/** The first rows of a list, without parsing them. @param count from 1 to the number of rows */
export const firstRows = <T extends object>(rows: readonly T[], count: number): readonly T[] => {
  const text = textOf(rows);
  if (!text) return rows.slice(0, count);
  const kept: JsonRows[] = [];
  let left = count;
  for (const part of text) {
    const ends = part.ends.slice(0, left);
    if (ends.length > 0) kept.push({ json: part.json.subarray(0, ends.at(-1)), ends });
    left -= ends.length;
  }
  return lazyRows(...kept) as readonly T[];
};

/** The last row of a list that is not empty. Parses only this row. */
export const lastRow = <T extends object>(rows: readonly T[]): T => {
  const last = textOf(rows)?.findLast(({ ends }) => ends.length > 0);
  if (!last) return rows.at(-1)!;
  return JSON.parse(last.json.toString('utf8', startOf(last, last.ends.length - 1), last.ends.at(-1))) as T;
};
