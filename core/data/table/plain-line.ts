import type { CsvRecord, Dialect } from './csv.js';

/**
 * Finds the cells of a line. Quotes can surround whole cells. Returns the number of cells, or 0 if the line contains
 * any other quotes.
 * @param bounds receives the start and the end of each cell, without quotes
 */
const locate = (text: string, start: number, end: number, dialect: Dialect, bounds: number[]): number => {
  const separator = dialect.separator.charCodeAt(0);
  const quote = dialect.quote === undefined ? -1 : dialect.quote.charCodeAt(0);
  let count = 0;
  for (let at = start; ; at++) {
    const isQuoted = at < end && text.charCodeAt(at) === quote;
    const last = isQuoted ? quote : separator;
    const first = isQuoted ? at + 1 : at;
    for (at = first; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === last) break;
      if (code === quote) return 0;
    }
    bounds[2 * count] = first;
    bounds[2 * count + 1] = at;
    count++;
    if (isQuoted && (at === end || (++at < end && text.charCodeAt(at) !== separator))) return 0;
    if (at === end) return count;
  }
};

const isSimple = ({ separator, skipsSpaces }: Dialect): boolean => separator.length === 1 && skipsSpaces !== true;

/** A line whose cells need no unquoting. They are copied only when `cells` is read. */
export class PlainLine implements CsvRecord {
  readonly #dialect: Dialect;
  readonly #start: number;
  readonly #end: number;

  private constructor(
    readonly line: number,
    readonly text: string,
    start: number,
    end: number,
    dialect: Dialect,
    readonly hasQuotes: boolean,
  ) {
    this.#start = start;
    this.#end = end;
    this.#dialect = dialect;
  }

  /** Returns undefined if a cell must be unquoted. */
  static of(
    line: number,
    text: string,
    start: number,
    end: number,
    dialect: Dialect,
    hasQuotes: boolean,
  ): PlainLine | undefined {
    const isPlain =
      !hasQuotes || (!dialect.isEscaped && isSimple(dialect) && locate(text, start, end, dialect, []) > 0);
    return isPlain ? new PlainLine(line, text, start, end, dialect, hasQuotes) : undefined;
  }

  /** The text of the line, without the line end. */
  get source(): string {
    return this.text.slice(this.#start, this.#end);
  }

  get cells(): readonly string[] {
    const { separator, skipsSpaces } = this.#dialect;
    if (!this.hasQuotes) {
      const cells = this.source.split(separator);
      return skipsSpaces ? cells.map((cell) => cell.trimStart()) : cells;
    }
    const bounds: number[] = [];
    const count = this.locate(bounds);
    return Array.from({ length: count }, (_, i) => this.text.slice(bounds[2 * i], bounds[2 * i + 1]));
  }

  /** True if the first cell certainly starts with a visible ASCII character. */
  get startsWithText(): boolean {
    const { separator, quote } = this.#dialect;
    const at = this.hasQuotes && this.text[this.#start] === quote ? this.#start + 1 : this.#start;
    const code = at < this.#end ? this.text.charCodeAt(at) : 0;
    return code > 0x20 && code < 0x7f && code !== separator.charCodeAt(0) && this.text[at] !== quote;
  }

  /**
   * Stores the offsets of the cells in `bounds`, and returns the number of cells. Returns 0 if `cells` must be read.
   */
  locate(bounds: number[]): number {
    return isSimple(this.#dialect) ? locate(this.text, this.#start, this.#end, this.#dialect, bounds) : 0;
  }
}

/** The offsets of the cells in the current row. All rows share one object, so that an import creates less garbage. */
export class CellBounds {
  readonly #width: number;
  readonly #bounds: number[] = [];
  text = '';

  constructor(width: number) {
    this.#width = width;
  }

  /** Returns false if the row is not a plain line, or does not have one cell per column. */
  read(row: object): boolean {
    if (!(row instanceof PlainLine) || row.locate(this.#bounds) !== this.#width) return false;
    this.text = row.text;
    return true;
  }

  start(column: number): number {
    return this.#bounds[2 * column]!;
  }

  end(column: number): number {
    return this.#bounds[2 * column + 1]!;
  }
}
