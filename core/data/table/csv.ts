/** Splits CSV text into records. Records with quotes that RFC 4180 does not allow are accepted but marked. */
import { PlainLine } from './plain-line.js';

export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /**
   * True if the record contains a quote that is neither doubled nor at the start or end of a cell. Such quotes are kept
   * as text.
   */
  readonly isMisquoted?: boolean;
}

export interface Dialect {
  readonly separator: string;
  /** The quote character. Undefined if quotes are ordinary characters. */
  readonly quote: string | undefined;
  readonly isEscaped?: boolean;
  readonly lineEnd: '\n' | '\r';
  readonly skipsSpaces?: boolean;
  /** If true, a line end always ends the record, even inside quotes. A missing quote then affects only one line. */
  readonly isOneLine?: boolean;
}

export class CsvSyntaxError extends Error {
  constructor(
    readonly line: number,
    message: string,
    readonly isQuoted = true,
  ) {
    super(message);
    this.name = 'CsvSyntaxError';
  }
}

/** Maximum length of a record in characters. Without a limit, a quote that is never closed would use up all memory. */
const MAX_RECORD = 16 * 1024 * 1024;
const NOT_CLOSED = 'has a quote that is not closed';
const CARRIAGE_RETURN = 0x0d;

interface Cell {
  readonly text: string;
  readonly end: number;
  readonly isMisquoted?: boolean;
}

export const hasEscape = (text: string, start: number, end: number): boolean => {
  let at = end;
  while (at > start && text[at - 1] === '\\') at--;
  return (end - at) % 2 === 1;
};

/** Splits text without copying the cells of plain lines. */
export class LineSplitter {
  readonly #dialect: Dialect;
  #line: number;
  #rest = '';
  #text = '';
  #isLast = false;

  constructor(dialect: Dialect, line = 1) {
    this.#dialect = dialect;
    this.#line = line;
  }

  /**
   * Returns the records that end in the given part of the text.
   * @throws CsvSyntaxError
   */
  push(text: string): CsvRecord[] {
    return this.#split(this.#rest + text);
  }

  /**
   * Returns the remaining records. Must be called after the last part.
   * @throws CsvSyntaxError
   */
  end(): CsvRecord[] {
    this.#isLast = true;
    return this.#split(this.#rest);
  }

  #split(text: string): CsvRecord[] {
    const { quote, lineEnd } = this.#dialect;
    this.#text = text;
    const records: CsvRecord[] = [];
    let at = 0;
    let nextQuote = quote === undefined ? -1 : text.indexOf(quote);
    while (at < text.length) {
      const end = this.#orEnd(text.indexOf(lineEnd, at));
      if (end === undefined) break;
      if (nextQuote !== -1 && nextQuote < at) nextQuote = text.indexOf(quote!, at);
      const plain = this.#plainLine(at, end, nextQuote !== -1 && nextQuote < end);
      if (plain) {
        records.push(plain);
        this.#line++;
        at = end + 1;
        continue;
      }
      const found = this.#quotedRecord(at, end);
      if (!found) break;
      records.push(found.record);
      at = found.end + 1;
    }
    this.#rest = text.slice(at);
    if (this.#rest.length > MAX_RECORD) {
      const isQuoted = quote !== undefined && this.#rest.includes(quote);
      const tooLong = `more than ${MAX_RECORD.toLocaleString('en-US')} characters`;
      throw new CsvSyntaxError(this.#line, isQuoted ? `${NOT_CLOSED}, or ${tooLong}` : `has ${tooLong}`, isQuoted);
    }
    return records;
  }

  /** Replaces -1 from `indexOf` with the end of the text, or with undefined if more text can follow. */
  #orEnd(found: number): number | undefined {
    if (found !== -1) return found;
    return this.#isLast ? this.#text.length : undefined;
  }

  #plainLine(start: number, lineEnd: number, hasQuotes: boolean): PlainLine | undefined {
    const end = this.#withoutReturn(start, lineEnd);
    return PlainLine.of(this.#line, this.#text, start, end, this.#dialect, hasQuotes);
  }

  #withoutReturn(start: number, end: number): number {
    return end > start && this.#text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end;
  }

  #upTo(start: number, end: number): string {
    return this.#text.slice(start, this.#withoutReturn(start, end));
  }

  #quotedRecord(start: number, lineEnd: number): { readonly record: CsvRecord; readonly end: number } | undefined {
    const { separator } = this.#dialect;
    const line = this.#line;
    const cells: string[] = [];
    let isMisquoted = false;
    for (let at = start; ; ) {
      const cell = this.#cell(at, lineEnd);
      if (cell === undefined) return undefined;
      cells.push(cell.text);
      isMisquoted ||= cell.isMisquoted === true;
      if (this.#text.startsWith(separator, cell.end)) at = cell.end + separator.length;
      else {
        this.#line += this.#linesIn(start, cell.end);
        return { record: { line, cells, ...(isMisquoted && { isMisquoted }) }, end: cell.end };
      }
    }
  }

  #linesIn(start: number, end: number): number {
    let lines = 1;
    const { lineEnd } = this.#dialect;
    for (let at = this.#text.indexOf(lineEnd, start); at !== -1 && at < end; at = this.#text.indexOf(lineEnd, at + 1))
      lines++;
    return lines;
  }

  #cell(at: number, lineEnd: number): Cell | undefined {
    const { quote, skipsSpaces } = this.#dialect;
    let start = at;
    if (skipsSpaces) while (this.#text[start] === ' ') start++;
    if (this.#text.startsWith(quote!, start)) return this.#quotedCell(start, lineEnd);
    const end = this.#cellEnd(start);
    if (end === undefined) return undefined;
    const text = this.#upTo(start, end);
    return { text, end, isMisquoted: text.includes(quote!) };
  }

  #cellEnd(from: number): number | undefined {
    const separator = this.#text.indexOf(this.#dialect.separator, from);
    const lineEnd = this.#orEnd(this.#text.indexOf(this.#dialect.lineEnd, from));
    if (lineEnd === undefined) return undefined;
    return separator !== -1 && separator < lineEnd ? separator : lineEnd;
  }

  #quotedCell(open: number, lineEnd: number): Cell | undefined {
    const cell = this.#rawCell(open, lineEnd);
    if (!cell || !this.#dialect.isEscaped || !cell.text.includes('\\')) return cell;
    const text = cell.text.replaceAll(/\\(.)/gs, (both, next) =>
      next === '\\' || next === this.#dialect.quote ? next : both,
    );
    return { ...cell, text };
  }

  #rawCell(open: number, lineEnd: number): Cell | undefined {
    const { quote, isOneLine, isEscaped } = this.#dialect;
    const text = this.#text;
    let value = '';
    let isMisquoted = false;
    for (let from = open + 1; ; ) {
      const close = text.indexOf(quote!, from);
      if (isOneLine && (close === -1 || close > lineEnd)) {
        return { text: value + this.#upTo(from, lineEnd), end: lineEnd, isMisquoted: true };
      }
      if (close === -1) {
        if (this.#isLast) throw new CsvSyntaxError(this.#line, NOT_CLOSED);
        return undefined;
      }
      const after = close + 1;
      const isText = isEscaped === true && hasEscape(text, from, close);
      if (isText || text.startsWith(quote!, after)) {
        value += text.slice(from, after);
        from = isText ? after : after + 1;
        continue;
      }
      const end = this.#endAfter(after);
      if (end !== undefined) return { text: value + text.slice(from, close), end, isMisquoted };
      const rest = this.#cellEnd(after);
      if (rest === undefined) return undefined;
      isMisquoted = true;
      const last = text.lastIndexOf(quote!, rest);
      if (last < after || this.#endAfter(last + 1) === undefined) {
        return { text: value + text.slice(from, close) + this.#upTo(after, rest), end: rest, isMisquoted };
      }
      value += text.slice(from, after);
      from = after;
    }
  }

  /**
   * Returns the offset of the separator or line end after a closing quote. Only spaces and tabs can be between them.
   * Returns undefined if other text follows the quote, or if more text is needed.
   */
  #endAfter(quote: number): number | undefined {
    const { separator, lineEnd } = this.#dialect;
    let at = quote;
    while (!this.#text.startsWith(separator, at) && (this.#text[at] === ' ' || this.#text[at] === '\t')) at++;
    if (this.#text[at] === '\r' && lineEnd === '\n') at++;
    if (at >= this.#text.length) return this.#isLast ? at : undefined;
    return this.#text.startsWith(separator, at) || this.#text.startsWith(lineEnd, at) ? at : undefined;
  }
}

const copied = (record: CsvRecord): CsvRecord =>
  record instanceof PlainLine ? { line: record.line, cells: record.cells } : record;

export class CsvSplitter {
  readonly #lines: LineSplitter;

  constructor(dialect: Dialect, line = 1) {
    this.#lines = new LineSplitter(dialect, line);
  }

  /**
   * Returns the records that end in the given part of the text.
   * @throws CsvSyntaxError
   */
  push(text: string): CsvRecord[] {
    return this.#lines.push(text).map(copied);
  }

  /**
   * Returns the remaining records. Must be called after the last part.
   * @throws CsvSyntaxError
   */
  end(): CsvRecord[] {
    return this.#lines.end().map(copied);
  }
}
