import type { Collection } from '../../contracts/dataset.js';
import { counted } from '../../util/counted.js';
import { MAX_NAMES } from '../ndjson.js';
import { type Cell, ColumnGuess } from './column-guess.js';
import type { Declared } from './declared.js';
import type { GuessOptions } from './guess-types.js';
import { KeySearch } from './key-search.js';
import { MissingMarkers } from './missing-markers.js';
import { type ColumnName, columnNames, unknownColumn } from './names.js';
import type { ColumnType, NotationName } from './notations.js';
import { CellBounds } from './plain-line.js';
import type { Problems } from './problems.js';
import type { FormatOptions, OpenedTable, Row } from './rows.js';

export interface TableOptions extends FormatOptions {
  readonly file: string;
  readonly name: string;
  /** Names or headings of the key columns. By default, the import searches for columns that identify a row. */
  readonly key?: readonly string[] | undefined;
  readonly sort: readonly string[];
  readonly search: readonly string[];
  readonly types: ReadonlyMap<string, ColumnType>;
  readonly names: ReadonlyMap<string, string>;
  readonly missing: readonly string[];
  readonly decimal?: 'point' | 'comma' | undefined;
  readonly dateOrder?: 'dmy' | 'mdy' | undefined;
  readonly skipBadRows?: boolean | undefined;
  /** The existing declaration of the collection. It provides defaults for the other options. */
  readonly declaration?: Collection | undefined;
  readonly declared?: Declared;
  readonly signal?: AbortSignal | undefined;
}

export interface Column extends ColumnName {
  readonly type: ColumnType;
  readonly guessed: boolean;
  readonly empty: number;
  readonly missing?: Readonly<Record<string, number>>;
  readonly why?: string;
  /** A currency sign or `percent`, which the file repeats in every cell. */
  readonly unit?: string;
}

export interface ReadColumn extends Column {
  readonly at: number;
  readonly notation: NotationName;
}

/** Matches the first cell of a row with totals. */
const TOTAL = /^(grand )?(total|totals|totale|totaal|sum|summe|gesamt|insgesamt|suma|итого|всего|合計|总计):?$/i;

const isBlankCell = (cell: Cell): boolean => String(cell ?? '').trim() === '';

/** The key `row` is the row number, unless a column has this name. */
export const isRowNumber = (key: readonly string[]): boolean => key.length === 1 && key[0] === 'row';

export class FirstPass {
  readonly search = new KeySearch();
  readonly missing: MissingMarkers;
  readonly names: readonly ColumnName[];
  readonly #guesses: readonly ColumnGuess[];
  readonly #problems: Problems;
  readonly #checked: readonly number[];
  readonly #bad = new Set<number>();
  readonly #bounds: CellBounds;
  #last: Row | undefined;
  position = 0;
  isWhole = false;
  rowCount = 0;

  constructor(opened: OpenedTable, options: TableOptions, problems: Problems) {
    const { headings, isTyped, dialect } = opened;
    this.#problems = problems;
    if (headings.length === 0) problems.refuse(['it is empty: it has no columns']);
    if (headings.length > MAX_NAMES) {
      const [found, most] = [headings.length, MAX_NAMES].map((number) => number.toLocaleString('en-US'));
      problems.refuse([`it has ${found} columns; a table has at most ${most}`]);
    }
    this.names = columnNames(headings, options.names);
    this.#assertKnown(options);
    this.#bounds = new CellBounds(this.names.length);
    this.missing = new MissingMarkers(options.missing);
    const shared: GuessOptions = {
      isTyped,
      decimal: options.decimal,
      isCommaSeparated: dialect?.separator === ',',
      dateOrder: options.dateOrder,
      missing: this.missing,
    };
    const required = [...(options.key ?? []), ...options.sort];
    const of = this.names.map(({ name, heading }) => ({
      type: options.types.get(name) ?? options.types.get(heading),
      isRequired: required.includes(name) || required.includes(heading),
      isDeclared: options.declared?.typed.has(name) === true,
    }));
    this.#guesses = of.map((each) => new ColumnGuess({ ...shared, ...each }));
    this.#checked = options.skipBadRows
      ? [...of.keys()].filter((i) => of[i]!.isRequired || of[i]!.type !== undefined)
      : [];
  }

  #assertKnown({ key = [], sort, search, types, names: given }: TableOptions): void {
    const known = this.names.flatMap(({ name, heading }) => [name, heading]);
    const columns = isRowNumber(key) ? [] : key;
    const missing = [...new Set([...columns, ...sort, ...search, ...types.keys()])].filter(
      (name) => !known.includes(name),
    );
    const unused = [...given].filter(([, name]) => !known.includes(name)).map(([heading]) => heading);
    const names = this.names.map(({ name }) => name);
    const errors = [...missing, ...unused].map((name) => {
      const renamed = names.find((each) => each === given.get(name));
      return renamed === undefined
        ? unknownColumn(name, names)
        : `the column "${name}" is called "${renamed}" (--name)`;
    });
    if (errors.length > 0) this.#problems.refuse(errors);
  }

  async read(opened: OpenedTable, limit: number, signal: AbortSignal | undefined): Promise<void> {
    for await (const rows of opened.rows()) {
      signal?.throwIfAborted();
      for (const row of rows) this.add(row);
      if (this.position >= limit) return;
    }
    this.isWhole = true;
  }

  add(row: Row): void {
    const position = this.position++;
    this.#last = row;
    const needsCells = !this.search.isComplete || this.#checked.length > 0;
    if (!needsCells && this.#bounds.read(row)) this.#addLocated(row.line, this.#bounds);
    else this.#addCells(row, position);
  }

  #addLocated(line: number, bounds: CellBounds): void {
    this.rowCount++;
    const { text } = bounds;
    for (let i = 0; i < this.#guesses.length; i++) {
      const [start, end] = [bounds.start(i), bounds.end(i)];
      const guess = this.#guesses[i]!;
      if (!guess.addKnown(text, start, end)) guess.add(text.slice(start, end), line);
    }
  }

  #addCells(row: Row, position: number): void {
    const { line, cells } = row;
    const problem = badWidth(row, this.names.length) ?? this.#badCell(cells);
    if (problem !== undefined) {
      this.#bad.add(position);
      this.#problems.addBadRow(line, problem);
      return;
    }
    if (row.isMisquoted) this.#problems.note('quotes inside cells, which are kept', line);
    if (row.hasZeroBytes) this.#problems.note('zero bytes, which are kept', line);
    if (cells.length < this.names.length)
      this.#problems.note('fewer cells than the table has columns; the others are null', line);
    this.rowCount++;
    this.search.add(cells);
    for (let i = 0; i < this.#guesses.length; i++) this.#guesses[i]!.add(cells[i] ?? null, line);
  }

  get notes(): readonly string[] {
    const [label, ...others] = (this.#last?.cells ?? []).filter((cell) => !isBlankCell(cell));
    const isTotal = TOTAL.test(String(label ?? '').trim());
    const isNote = others.length === 0 && this.names.length > 2;
    if (this.rowCount < 2 || !(isTotal || isNote)) return this.missing.notes;
    const about = `line ${this.#last!.line} ${isTotal ? 'begins with' : 'has only'} ${JSON.stringify(label)}`;
    return [...this.missing.notes, `${about}: remove it if it ${isTotal ? 'sums the rows above' : 'is a note'}`];
  }

  isBad(position: number): boolean {
    return this.#bad.has(position);
  }

  #badCell(cells: readonly Cell[]): string | undefined {
    for (const at of this.#checked) {
      const problem = this.#guesses[at]!.problemOf(cells[at] ?? null);
      if (problem !== undefined) return `"${this.names[at]!.name}" ${problem}`;
    }
    return undefined;
  }

  columns({ types, declared }: TableOptions): readonly ReadColumn[] {
    const errors: string[] = [];
    const hasDecimalCommas = this.#guesses.some((guess) => guess.hasDecimalCommas);
    const columns = this.names.flatMap((column, at): ReadColumn[] => {
      const guess = this.#guesses[at]!;
      const { type, notation, note, unit, error } = guess.result(hasDecimalCommas);
      if (error !== undefined) errors.push(`"${column.name}" ${error}`);
      const isText = notation === 'text';
      const { markers } = guess;
      const empty = guess.empty + (isText ? 0 : [...markers.values()].reduce((sum, count) => sum + count, 0));
      // If each line ends with a comma, the last column has no heading and no values. Such columns are ignored.
      const given = types.get(column.name) ?? types.get(column.heading);
      if (column.heading === '' && empty === this.rowCount && given === undefined) return [];
      return [
        {
          ...column,
          at,
          notation,
          type,
          guessed: given === undefined,
          empty,
          ...(!isText && markers.size > 0 && { missing: Object.fromEntries(markers) }),
          ...(unit !== undefined && { unit }),
          ...(note !== undefined && given !== 'text' && { why: note }),
        },
      ];
    });
    if (errors.length > 0) this.#problems.refuse([...errors, ...(declared ? [declared.advice] : [])]);
    return columns;
  }
}

/** A row can have more cells than the table has columns if the additional cells are empty. */
const badWidth = ({ cells }: Row, width: number): string | undefined =>
  cells.length <= width || cells.slice(width).every(isBlankCell)
    ? undefined
    : `has ${counted(cells.length, 'cell')}, but the table has ${counted(width, 'column')}`;
