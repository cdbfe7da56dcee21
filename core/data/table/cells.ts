import type { Scalar } from '../../contracts/storage.js';
import type { Cell } from './column-guess.js';
import type { ReadColumn } from './first-pass.js';
import { NOTATIONS, plainDigits } from './notations.js';

/** Matches characters that JSON escapes. They include surrogates, because JSON escapes unpaired ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

const textToJson = (cell: string): string => {
  if (cell.charCodeAt(0) <= 0x20 && cell.trim() === '') return 'null';
  return ESCAPED.test(cell) ? JSON.stringify(cell) : `"${cell}"`;
};

/** Returns a number as `JSON.stringify` writes it. @param digits the result of `plainDigits`, which must not be 0 */
const numberToJson = (cell: string, digits: number): string => {
  const mayDiffer = digits > 0 ? cell === '-0' : /0$|^-?0\.0/.test(cell);
  return mayDiffer ? String(Number(cell)) : cell;
};

export const writerOf = (
  { notation }: ReadColumn,
  missing: ReadonlySet<string>,
): ((cell: Cell | undefined) => string) => {
  const isPlainNumber = notation === 'integer' || notation === 'number';
  return (cell) => {
    if (cell === null || cell === undefined || cell === '') return 'null';
    if (missing.size > 0 && missing.has(String(cell))) return 'null';
    if (notation === 'text') return textToJson(String(cell));
    if (typeof cell !== 'string') return JSON.stringify(cell);
    const digits = isPlainNumber ? plainDigits(cell) : 0;
    if (digits !== 0) return numberToJson(cell, digits);
    const value = NOTATIONS[notation].read(cell.trim());
    return value === undefined ? 'null' : JSON.stringify(value);
  };
};

/** Returns a function that converts a cell to its value. The parameter `json` is the JSON of that value. */
export const readerOf = ({
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
