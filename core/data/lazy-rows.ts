/** Rows and lists of rows that remain JSON text until they are accessed. Responses can then send the rows as stored. */
import { inspect } from 'node:util';
import type { Document } from '../contracts/dataset.js';
import type { JsonRows } from '../contracts/storage.js';
import type { JsonFields } from './json-fields.js';
import { lastDocument } from './positions.js';

const TEXT = Symbol('text');
const ROW_TEXT = Symbol('row text');

/** Makes `console.log` print the parsed rows instead of the empty target of the proxy. */
const PRINTED = {
  [inspect.custom](this: object): object {
    return Array.isArray(this) ? [...this] : { ...this };
  },
};

const isIndex = (property: string | symbol): boolean => typeof property === 'string' && /^\d/.test(property);

/** After the first read, the text is dropped: the caller might modify the parsed rows, and the text would be outdated. */
class ParsedWhenRead implements ProxyHandler<Document[]> {
  #text: readonly JsonRows[] | undefined;

  constructor(text: readonly JsonRows[]) {
    this.#text = text;
  }

  get(rows: Document[], property: string | symbol): unknown {
    if (property === TEXT) return this.#text;
    if (property === 'length' && this.#text) return countOf(this.#text);
    if (isIndex(property)) return Reflect.get(this.read(rows), property);
    // Other properties do not need the rows. For example, `await` reads `then`.
    const value: unknown = Reflect.get(rows, property);
    // Methods are bound to the parsed array. They then read rows directly, without a call to the proxy handler for each
    // row.
    return typeof value === 'function' && property !== 'constructor' ? value.bind(this.read(rows)) : value;
  }

  has(rows: Document[], property: string | symbol): boolean {
    return Reflect.has(isIndex(property) ? this.read(rows) : rows, property);
  }

  read(rows: Document[]): Document[] {
    const text = this.#text;
    this.#text = undefined;
    if (text === undefined) return rows;
    Reflect.deleteProperty(rows, inspect.custom);
    for (const { json } of text) for (const row of JSON.parse(`[${json}]`) as Document[]) rows.push(row);
    return rows;
  }
}

/** Parses the text of a row on first access and then drops it, because the caller might modify the row. */
class RowParsedWhenRead implements ProxyHandler<Document> {
  #json: string | undefined;
  readonly #hasThen: boolean;

  constructor(json: string) {
    this.#json = json;
    this.#hasThen = /"then"|\\u/.test(json);
  }

  get(row: Document, property: string | symbol): unknown {
    if (property === ROW_TEXT) return this.#json;
    // `await` reads the property `then`, which must not parse the row.
    if (property === 'then' && this.#json !== undefined && !this.#hasThen) return undefined;
    return Reflect.get(this.read(row), property);
  }

  has(row: Document, property: string | symbol): boolean {
    return Reflect.has(this.read(row), property);
  }

  read(row: Document): Document {
    const json = this.#json;
    this.#json = undefined;
    if (json === undefined) return row;
    Reflect.deleteProperty(row, inspect.custom);
    // An assignment would set the prototype if a field is named `__proto__`.
    return Object.defineProperties(row, Object.getOwnPropertyDescriptors(JSON.parse(json) as Document));
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
  const operation = Reflect[trap] as (target: object, ...rest: unknown[]) => unknown;
  for (const { prototype } of [ParsedWhenRead, RowParsedWhenRead]) {
    Object.defineProperty(prototype, trap, {
      value<Target extends object>(
        this: { read(target: Target): Target },
        target: Target,
        ...rest: unknown[]
      ): unknown {
        return operation(this.read(target), ...rest);
      },
    });
  }
}

const countOf = (text: readonly JsonRows[]): number => text.reduce((count, { ends }) => count + ends.length, 0);

export const lazyRows = (...text: readonly JsonRows[]): readonly Document[] =>
  new Proxy<Document[]>(Object.assign([], PRINTED), new ParsedWhenRead(text.filter(({ ends }) => ends.length > 0)));

/** Returns the JSON text of a list, or undefined if the list has already been parsed. */
export const textOf = (rows: readonly object[]): readonly JsonRows[] | undefined =>
  (rows as { readonly [TEXT]?: readonly JsonRows[] })[TEXT];

export const lazyRow = (json: string): Document => new Proxy<Document>({ ...PRINTED }, new RowParsedWhenRead(json));

/** Returns the text of a row that `lazyRow` has created, or undefined for any other value. */
export const rowText = (value: unknown): string | undefined =>
  (value as { readonly [ROW_TEXT]?: string } | null | undefined)?.[ROW_TEXT];

export const forEachText = (text: readonly JsonRows[], visit: (json: Buffer, start: number) => void): void => {
  for (const { json, ends } of text) {
    let start = 0;
    for (const end of ends) {
      visit(json, start);
      start = end + 1;
    }
  }
};

export const partialRows = (rows: readonly Document[], fields: JsonFields): readonly Document[] => {
  const text = textOf(rows);
  if (!text) return rows;
  const documents: Document[] = [];
  forEachText(text, (json, start) => documents.push(fields.document(json, start)));
  return documents;
};

/** Joins lists of rows without parsing them, unless one of the lists has already been parsed. */
export const joinRows = <T extends object>(lists: readonly (readonly T[])[]): T[] => {
  const texts = lists.map(textOf);
  return texts.every((text) => text !== undefined)
    ? (lazyRows(...texts.flat()) as T[])
    : lists.flatMap((list) => [...list]);
};

export function* inBatches<T extends object>(rows: readonly T[], size: number): Generator<readonly T[]> {
  const text = textOf(rows);
  if (text) for (const part of text) yield lazyRows(part) as readonly T[];
  else for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/** Longer lists are parsed batch by batch, because parsing them at once would block the event loop for too long. */
const MOST_LAZY = 1000;

export const collectRows = async <T extends object>(batches: AsyncIterable<readonly T[]>): Promise<T[]> => {
  const lists: (readonly T[])[] = [];
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    lists.push(count > MOST_LAZY ? [...batch] : batch);
  }
  return joinRows(lists);
};

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

export const lastRow = <T extends object>(rows: readonly T[]): T => {
  const last = textOf(rows)?.at(-1);
  if (!last) return rows.at(-1)!;
  return lastDocument(last) as T;
};
