/** Types of the columns of a table: what their cells may be, and which type fits all cells of a column. */
import type { JsonSchema } from '../contracts/json-schema.js';
import { compileSchema } from '../validation/compile-schema.js';

export const COLUMN_TYPES = ['text', 'integer', 'number', 'date', 'boolean'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

interface Kind {
  readonly schema: JsonSchema;
  /** For messages: "it must be ...". */
  readonly needs: string;
  matches(cell: string): boolean;
  value(cell: string): string | number | boolean;
}

const isDate = compileSchema({ type: 'string', format: 'date' });
const WHOLE = /^-?(0|[1-9]\d*)$/;
const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export const KINDS: Readonly<Record<ColumnType, Kind>> = {
  integer: {
    schema: { type: 'integer' },
    needs: 'a whole number',
    matches: (cell) => WHOLE.test(cell) && Number.isSafeInteger(Number(cell)),
    value: Number,
  },
  number: {
    schema: { type: 'number' },
    needs: 'a number like 12.5',
    matches: (cell) =>
      DECIMAL.test(cell) && Number.isFinite(Number(cell)) && !(WHOLE.test(cell) && !Number.isSafeInteger(Number(cell))),
    value: Number,
  },
  date: {
    schema: { type: 'string', format: 'date' },
    needs: 'a day of the calendar like 2025-12-31',
    matches: (cell) => isDate(cell),
    value: (cell) => cell,
  },
  boolean: {
    schema: { type: 'boolean' },
    needs: 'true or false',
    matches: (cell) => cell === 'true' || cell === 'false',
    value: (cell) => cell === 'true',
  },
  text: { schema: { type: 'string' }, needs: 'text', matches: () => true, value: (cell) => cell },
};

/** Narrowest type first. A code with leading zeros is not a number, so its column is text. */
const GUESSES: readonly ColumnType[] = ['integer', 'number', 'date', 'boolean', 'text'];

/** Finds the type of a column while its cells are read. */
export class ColumnGuess {
  #fitting = GUESSES;
  #filled = 0;
  #areDigits = true;
  /** Number of empty cells. They become null. */
  empty = 0;

  add(cell: string): void {
    if (cell === '') {
      this.empty++;
      return;
    }
    this.#filled++;
    if (this.#fitting.length > 1) this.#fitting = this.#fitting.filter((type) => KINDS[type].matches(cell));
    this.#areDigits &&= /^\d+$/.test(cell);
  }

  get type(): ColumnType {
    return this.#filled === 0 ? 'text' : this.#fitting[0]!;
  }

  /** Why the type is text, where that may be a surprise. */
  get reason(): string | undefined {
    if (this.#filled === 0) return 'all cells are empty';
    return this.type === 'text' && this.#areDigits ? 'digits with leading zeros, or too many' : undefined;
  }
}
