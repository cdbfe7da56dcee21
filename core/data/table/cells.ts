import type { Scalar } from '../../contracts/storage.js';
import type { Cell, MissingMarkers } from './column-guess.js';
import type { ReadColumn } from './first-pass.js';
import { NOTATIONS, plainDigits } from './notations.js';
import type { Row } from './rows.js';

export interface Key {
  readonly columns: readonly string[];
  /** True if the key is the number of the row, which is not a column of the file. */
  readonly isNumbered: boolean;
}

/** The JSON of a row, followed by the values of the requested fields. */
export type WrittenRow = readonly [json: string, ...values: readonly unknown[]];

export interface KeyedRow {
  readonly key: readonly Scalar[];
  readonly line: number;
  readonly row: WrittenRow;
}

/** Matches characters that JSON escapes. Surrogates are included, because JSON escapes unpaired ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

const textToJson = (cell: string): string => {
  if (cell.charCodeAt(0) <= 0x20 && cell.trim() === '') return 'null';
  return ESCAPED.test(cell) ? JSON.stringify(cell) : `"${cell}"`;
};

/** @param digits the result of `plainDigits`, which must not be 0 */
const numberToJson = (cell: string, digits: number): string => {
  const mayDiffer = digits > 0 ? cell === '-0' : cell.endsWith('0') || cell.includes('0.000000');
  return mayDiffer ? String(Number(cell)) : cell;
};

const writerOf = ({ notation }: ReadColumn, missing: MissingMarkers): ((cell: Cell | undefined) => string) => {
  const isPlainNumber = notation === 'integer' || notation === 'number';
  return (cell) => {
    if (cell === null || cell === undefined || cell === '' || missing.has(cell)) return 'null';
    if (notation === 'text') return textToJson(String(cell));
    if (typeof cell !== 'string') return JSON.stringify(cell);
    const digits = isPlainNumber ? plainDigits(cell) : 0;
    if (digits !== 0) return numberToJson(cell, digits);
    const value = NOTATIONS[notation].read(cell.trim());
    if (value === undefined) return 'null';
    // A converted string is a date or a time, which contains no characters that JSON escapes.
    return typeof value === 'string' ? `"${value}"` : JSON.stringify(value);
  };
};

const readerOf = ({
  notation,
  type,
}: ReadColumn): ((cell: Cell | undefined, json: string) => Scalar | boolean | null) => {
  if (notation === 'text') return (cell, json) => (json === 'null' ? null : String(cell));
  const parse =
    type === 'date' || type === 'datetime'
      ? (json: string) => json.slice(1, -1)
      : type === 'boolean'
        ? (json: string) => json === 'true'
        : Number;
  return (_, json) => (json === 'null' ? null : parse(json));
};

export const rowWriter = (
  columns: readonly ReadColumn[],
  key: Key,
  fields: readonly string[],
  missing: MissingMarkers,
): ((row: Row, number: number) => KeyedRow) => {
  const writers = columns.map((column) => ({ at: column.at, write: writerOf(column, missing) }));
  // Names and values alternate in `parts`. Joining the parts takes half as long as concatenating strings.
  const names = [...(key.isNumbered ? key.columns : []), ...columns.map(({ name }) => name)];
  const parts = names.flatMap((name, i) => [`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`, '']);
  parts.push('}');
  const readersOf = (of: readonly string[]) =>
    of.map((name) => {
      const column = columns.find((each) => each.name === name);
      const part = 2 * names.indexOf(name) + 1;
      return column ? { at: column.at, part, read: readerOf(column) } : { at: -1, part, read: () => Number(parts[1]) };
    });
  const [keyReaders, readers] = [readersOf(key.columns), readersOf(fields)];
  return ({ line, cells }, number) => {
    let part = 1;
    if (key.isNumbered) {
      parts[part] = String(number);
      part += 2;
    }
    for (const { at, write } of writers) {
      parts[part] = write(cells[at]);
      part += 2;
    }
    // Allocated at its final size, because a growing array creates more garbage.
    const row = new Array(1 + readers.length) as [string, ...unknown[]];
    row[0] = parts.join('');
    for (let i = 0; i < readers.length; i++) {
      const reader = readers[i]!;
      row[i + 1] = reader.read(cells[reader.at], parts[reader.part]!);
    }
    return { key: keyReaders.map(({ at, part, read }) => read(cells[at], parts[part]!) as Scalar), line, row };
  };
};
