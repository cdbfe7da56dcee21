import type { GuessedType, GuessOptions } from './guess-types.js';
import { NumberMarks, withoutMarks } from './marked-numbers.js';
import {
  type ColumnType,
  fitsTyped,
  GUESSES,
  IF_GIVEN,
  IN_STRINGS,
  isIsoDay,
  isMarker,
  lossOf,
  mayBeBlank,
  NEEDS,
  NOT_NUMERIC,
  NOTATIONS,
  type Notation,
  type NotationName,
  NUMERIC,
  PLAIN,
  plainDigits,
  plainNumber,
} from './notations.js';
import { TrailingZeros } from './trailing-zeros.js';

export type Cell = string | number | boolean | null;

const MAX_SHOWN = 40;
const shown = (cell: Cell): string => {
  const text = String(cell);
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
};

const GROUP = 3;
/** If the first cell is text, the type of the cells below it is guessed from this many cells (minimum and maximum). */
const [MIN_BELOW, MAX_BELOW] = [3, 1000];

export class ColumnGuess {
  readonly #options: GuessOptions;
  #fitting: readonly NotationName[];
  #only: Notation | undefined;
  #accepts = { smallWhole: false, whole: false, smallFraction: false, fraction: false };
  #filled = 0;
  #end: { readonly line: number; readonly cell: Cell; readonly above: number; readonly type: ColumnType } | undefined;
  #loss: string | undefined;
  readonly #zeros = new TrailingZeros();
  /** Undefined until a number has marks, such as a currency sign. */
  #marks: NumberMarks | undefined;
  #first: { readonly line: number; readonly cell: Cell } | undefined;
  /** The guess for the cells below the first cell. Set only if the first cell is text, such as a unit. */
  #below: ColumnGuess | undefined;
  #code: string | undefined;
  #hasFraction = false;
  #hasPoint = false;
  empty = 0;
  readonly markers = new Map<string, number>();

  constructor(options: GuessOptions) {
    const { type, decimal, dateOrder } = options;
    this.#options = options;
    const excluded: readonly (NotationName | false)[] = [
      decimal === 'point' && 'decimalComma',
      decimal === 'comma' && 'grouped',
      decimal !== 'comma' && (decimal === 'point' || options.isCommaSeparated === true) && 'percentComma',
      dateOrder === 'dmy' && 'mdy',
      dateOrder === 'mdy' && 'dmy',
    ];
    const all = type === undefined ? GUESSES : [...GUESSES, ...IF_GIVEN];
    this.#fitting = all.filter(
      (name) =>
        !excluded.includes(name) &&
        (type === undefined || NOTATIONS[name].type === type || (type === 'number' && name === 'integer')),
    );
  }

  add(cell: Cell, line: number): void {
    if (cell === null || cell === '' || this.#options.missing.has(cell)) {
      this.empty++;
    } else if (typeof cell !== 'string') this.#addTyped(cell, line);
    else if (this.#only?.read(cell) !== undefined) this.#filled++;
    else if (this.#fitting.length === 0) {
      if (mayBeBlank(cell.charCodeAt(0)) && cell.trim() === '') this.empty++;
      else {
        this.#addBelow(cell, line);
        this.#filled++;
      }
    } else {
      const digits = this.#options.isTyped ? 0 : plainDigits(cell);
      if (digits !== 0 && this.#acceptsPlain(digits)) {
        this.#filled++;
        if (digits < 0) this.#hasFraction = true;
        this.#zeros.add(cell, line);
        this.#marks?.add(cell, line);
      } else this.#addText(cell.trim(), line);
    }
  }

  /**
   * Adds the cell between two offsets in a string. Returns false if the cell might change the guess. Call `add` in this
   * case.
   */
  addKnown(text: string, start: number, end: number): boolean {
    if (start === end || !this.#options.missing.isEmpty || !this.#isKnown(text, start, end)) return false;
    this.#filled++;
    return true;
  }

  #isKnown(text: string, start: number, end: number): boolean {
    if (this.#fitting.length === 0) return !mayBeBlank(text.charCodeAt(start));
    if (this.#only !== undefined) return this.#only === NOTATIONS.iso && isIsoDay(text, start, end);
    const digits = plainDigits(text, start, end);
    if (digits === 0 || this.#marks || !this.#acceptsPlain(digits)) return false;
    if (digits > 0) return this.#zeros.isKnown(0, false);
    const point = start + (text.charCodeAt(start) === 0x2d ? 1 : 0) - digits;
    return this.#hasFraction && this.#zeros.isKnown(end - point - 1, text.charCodeAt(end - 1) === 0x30);
  }

  #acceptsPlain(digits: number): boolean {
    const { smallWhole, whole, smallFraction, fraction } = this.#accepts;
    if (digits > 0) return digits > GROUP ? whole : smallWhole;
    return -digits > GROUP ? fraction : smallFraction;
  }

  problemOf(cell: Cell): string | undefined {
    const { type, missing, isRequired } = this.#options;
    const text = typeof cell === 'string' ? cell.trim() : cell;
    const isMissing = text === null || text === '' || missing.has(text);
    if (isMissing || (type !== undefined && type !== 'text' && typeof text === 'string' && isMarker(text)))
      return isRequired ? 'is empty' : undefined;
    if (type === undefined || type === 'text') return undefined;
    const fits = typeof text === 'string' ? this.#fitsText(text, withoutMarks(text)) : fitsTyped(text);
    return this.#fitting.some(fits) ? undefined : `must be ${NEEDS[type]}, not ${shown(cell)}`;
  }

  #addTyped(cell: number | boolean, line: number): void {
    this.#addBelow(cell, line);
    this.#narrow(cell, line, fitsTyped(cell));
  }

  #addBelow(cell: Cell, line: number): void {
    if (this.#filled <= MAX_BELOW) this.#below?.add(cell, line);
  }

  #addText(cell: string, line: number): void {
    if (cell === '') {
      this.empty++;
      return;
    }
    if (isMarker(cell)) {
      this.markers.set(cell, (this.markers.get(cell) ?? 0) + 1);
      return;
    }
    const number = withoutMarks(cell);
    if (number.includes('.')) this.#hasPoint = true;
    const plain = this.#options.isTyped ? undefined : plainNumber(number);
    if (plain !== undefined) this.#inspectNumber(cell, number, plain, line);
    this.#narrow(cell, line, this.#fitsText(cell, number));
  }

  /** @param number the cell without marks, which is checked against the number formats */
  #fitsText(cell: string, number: string): (name: NotationName) => boolean {
    const { isTyped, type, isDeclared } = this.#options;
    const isLossy = (type === undefined || isDeclared) && this.#loss !== undefined;
    return (name) => {
      if (isTyped && type === undefined && !IN_STRINGS.includes(name)) return false;
      const isNumber = !NOT_NUMERIC.includes(NOTATIONS[name].type);
      if (isLossy && isNumber) return false;
      const value = NOTATIONS[name].read(isNumber ? number : cell);
      return value !== undefined && (NOTATIONS[name].type !== 'integer' || Number.isSafeInteger(value));
    };
  }

  #inspectNumber(cell: string, number: string, plain: string, line: number): void {
    if (number !== cell) this.#marks ??= new NumberMarks(this.#first);
    this.#marks?.add(cell, line);
    // A value with a plus sign might be a telephone number, unless it contains a comma, a percent sign or another mark.
    const loss = lossOf(/[,%]/.test(cell) || number !== cell ? plain.replace(/^\+/, '') : plain);
    if (loss !== undefined) this.#loss ??= `line ${line} has ${shown(cell)}: ${loss}`;
    const isCode = /^\d+E\d+$/.test(cell);
    if (isCode) this.#code ??= `line ${line} has ${shown(cell)}, which may be a code`;
    else if (/[.eE]/.test(plain)) this.#hasFraction = true;
    if (plain === cell && !/[eE]/.test(cell)) this.#zeros.add(cell, line);
  }

  #narrow(cell: Cell, line: number, fits: (name: NotationName) => boolean): void {
    const before = this.#fitting;
    if (this.#filled === 0) this.#first = { line, cell };
    if (before.length > 0) {
      const fitting = before.filter(fits);
      if (fitting.length === 0) {
        this.#end = { line, cell, above: this.#filled, type: NOTATIONS[before[0]!].type };
        if (this.#filled === 0 && !this.#options.isBelow)
          this.#below = new ColumnGuess({ ...this.#options, isBelow: true });
      }
      if (fitting.length < before.length || this.#filled === 0) this.#setFitting(fitting);
    }
    this.#filled++;
  }

  #setFitting(fitting: readonly NotationName[]): void {
    const allIn = (names: readonly NotationName[]): boolean =>
      fitting.length > 0 && fitting.every((name) => names.includes(name));
    this.#fitting = fitting;
    const [first] = fitting;
    const isOnly = fitting.length === 1 && !this.#options.isTyped && NOT_NUMERIC.includes(NOTATIONS[first!].type);
    this.#only = isOnly ? NOTATIONS[first!] : undefined;
    this.#accepts = {
      smallWhole: allIn(NUMERIC),
      whole: allIn([...PLAIN, 'decimalComma']),
      smallFraction: allIn(['number', 'grouped']),
      fraction: allIn(['number']),
    };
  }

  /** True if the numbers of the column have decimal commas. Only valid after the last cell has been added. */
  get hasDecimalCommas(): boolean {
    return this.#filled > 0 && this.#fitting.length === 1 && this.#fitting[0] === 'decimalComma';
  }

  /**
   * The type that fits all cells. Only valid after the last cell has been added.
   * @param hasDecimalCommas true if any column of the table has decimal commas
   */
  result(hasDecimalCommas: boolean): GuessedType {
    const { type } = this.#options;
    const guess = this.#guess(hasDecimalCommas);
    if (type === undefined || type === guess.type) return guess;
    if (this.#filled === 0) return { ...guess, type, notation: notationOf(type) };
    if (type === 'number' && guess.type === 'integer')
      return { type, notation: 'number', ...(guess.unit !== undefined && { unit: guess.unit }) };
    return { ...guess, error: this.#errorOf(type, guess.note) };
  }

  #errorOf(type: ColumnType, note: string | undefined): string {
    const { line, cell } = this.#end ?? {};
    if (line === undefined) return `has an ambiguous notation: ${note}`;
    if (this.#options.isDeclared && this.#loss !== undefined)
      return `must be ${NEEDS[type]}, but ${this.#loss}; --type COLUMN=${type} accepts this`;
    return `must be ${NEEDS[type]}, but line ${line} has ${shown(cell!)}; --skip-bad-rows skips such rows`;
  }

  #guess(hasDecimalCommas: boolean): GuessedType {
    const text = (note?: string): GuessedType => ({ type: 'text', notation: 'text', ...(note && { note }) });
    const as = (notation: NotationName): GuessedType => {
      const { type, note, unit = this.#marks?.unit }: Notation = NOTATIONS[notation];
      const notes = [...(this.#marks?.notes ?? []), ...(note ? [note] : [])];
      const explained = notes.length > 0 && { note: [...new Set(notes)].join(', ') };
      return { type, notation, ...explained, ...(unit !== undefined && { unit }) };
    };
    if (this.#options.type === 'text') return text();
    if (this.#filled === 0) return text('no cell has a value');
    const fits = (name: NotationName): boolean => this.#fitting.includes(name);
    const [first] = this.#fitting;
    if (first === undefined) return text(this.#reasonOfText());
    if (fits('dmy') && fits('mdy')) return text('the order of day and month is not certain: see --date-order');
    const sign = this.#ambiguousSign(hasDecimalCommas);
    if (sign !== undefined) return text(`a ${sign} may mark thousands or decimals: see --decimal`);
    const doubt = this.#options.type === undefined ? this.#marks?.doubt : undefined;
    if (doubt !== undefined) return text(doubt);
    if (this.#options.decimal === 'comma' && fits('decimalComma') && !fits('integer')) return as('decimalComma');
    if (!NUMERIC.includes(first) || this.#options.type !== undefined) return as(first);
    if (this.#code !== undefined && !this.#hasFraction) return text(this.#code);
    // Version numbers and codes stay text. They contain neither decimal commas nor thousands separators, so only
    // columns of plain numbers are checked.
    const { reason } = this.#zeros;
    return first !== 'integer' && PLAIN.includes(first) && reason !== undefined ? text(reason) : as(first);
  }

  #ambiguousSign(hasDecimalCommas: boolean): 'comma' | 'point' | undefined {
    const fits = (name: NotationName): boolean => this.#fitting.includes(name);
    const { decimal, isCommaSeparated = false } = this.#options;
    if (decimal !== undefined || !fits('decimalComma') || fits('integer')) return undefined;
    if (fits('number')) return hasDecimalCommas && this.#hasPoint ? 'point' : undefined;
    const isGrouped = isCommaSeparated && fits('grouped') && !hasDecimalCommas;
    return (fits('grouped') || isCommaSeparated) && !isGrouped ? 'comma' : undefined;
  }

  #reasonOfText(): string | undefined {
    if (this.#loss !== undefined) return this.#loss;
    const { line, cell, above, type } = this.#end!;
    if (above === 0) return this.#reasonOfFirst(line, cell);
    const values = above === 1 ? 'the value above is' : `the ${above.toLocaleString('en-US')} values above are`;
    return `line ${line} has ${shown(cell)}, and ${values} of the type ${type}`;
  }

  #reasonOfFirst(line: number, cell: Cell): string | undefined {
    if (!this.#below || this.#below.#filled < MIN_BELOW) return undefined;
    const { type } = this.#below.result(false);
    if (type === 'text') return undefined;
    return (
      `line ${line} has ${shown(cell)}, and the values below are of the type ${type}: ` +
      `--type COLUMN=${type} with --skip-bad-rows leaves the line out`
    );
  }
}

const notationOf = (type: ColumnType): NotationName => (type === 'date' ? 'iso' : type);
