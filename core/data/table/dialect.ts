import { OperatorError } from '../../errors.js';
import { type CsvRecord, CsvSplitter, CsvSyntaxError, type Dialect } from './csv.js';

interface CsvLayout extends TableStart {
  readonly dialect: Dialect;
}

export interface CsvOptions {
  readonly separator?: string | undefined;
  readonly quote?: string | undefined;
  readonly header?: number | 'none' | undefined;
}

/** If several separators fit equally well, the first one is chosen. Tabs are rare in text, but commas are common. */
const COMMON = ['\t', ',', ';', '|'];
/**
 * Possible separators of a CSV file. Rare separators are accepted only if they split nearly all records into the same
 * number of cells.
 */
const SEPARATORS = [...COMMON, '~', '^', ':', '\u0001', '\u001f'];
const SAMPLE = 500;
const MAX_PREAMBLE = 50;

type Cells = Pick<CsvRecord, 'cells'>;

/** DOS programs end a file with Ctrl-Z (U+001A). An interrupted write can leave zero bytes at the end of a file. */
const isBlankCell = (cell: string): boolean =>
  cell === '' ||
  cell === '\u001a' ||
  cell.trim() === '' ||
  (cell.charCodeAt(0) === 0 && cell.replaceAll('\0', '').trim() === '');
export const isBlank = ({ cells }: Cells): boolean => isBlankCell(cells[0]!) && cells.every(isBlankCell);
const filledIn = ({ cells }: Cells): number => cells.reduce((sum, cell) => sum + (isBlankCell(cell) ? 0 : 1), 0);

interface Sample {
  readonly text: string;
  readonly isWhole: boolean;
}

const SAMPLE_LENGTH = 128 * 1024;

const sampleOf = (text: string, isWhole: boolean): Sample => {
  const end = Math.max(text.lastIndexOf('\n', SAMPLE_LENGTH), text.lastIndexOf('\r', SAMPLE_LENGTH)) + 1;
  return text.length <= SAMPLE_LENGTH || end === 0 ? { text, isWhole } : { text: text.slice(0, end), isWhole: false };
};

const recordsOf = ({ text, isWhole }: Sample, dialect: Dialect): readonly CsvRecord[] => {
  const splitter = new CsvSplitter(dialect);
  const records: CsvRecord[] = [];
  try {
    records.push(...splitter.push(text));
    if (isWhole || records.length === 0) records.push(...splitter.end());
  } catch (error) {
    if (!(error instanceof CsvSyntaxError)) throw error;
  }
  return records.slice(0, SAMPLE);
};

const usualWidth = (records: readonly CsvRecord[]): { readonly width: number; readonly share: number } => {
  const counts = new Map<number, number>();
  for (const { cells } of records) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  const [width, count] = [...counts].reduce((best, each) =>
    each[1] > best[1] || (each[1] === best[1] && each[0] > best[0]) ? each : best,
  );
  return { width, share: count / records.length };
};

export const widthOf = (records: readonly CsvRecord[]): number => usualWidth(records).width;

/**
 * Returns `'` if single quotes enclose most text cells, otherwise `"`. Returns undefined if most quotes are never
 * closed.
 */
const quoteOf = (sample: Sample, dialect: Omit<Dialect, 'quote'>): string | undefined => {
  const [first, ...rest] = recordsOf(sample, { ...dialect, quote: undefined }).map((record) =>
    record.cells.map((cell) => cell.trim()).filter((cell) => cell !== ''),
  );
  const cells = rest.flat();
  const count = (test: (cell: string) => boolean): number => cells.filter(test).length;
  const quoted = (quote: string) => ({
    opened: count((cell) => cell.startsWith(quote)),
    closed: count((cell) => cell.endsWith(quote)),
  });
  const double = quoted('"');
  if (double.opened > 0 || first?.some((cell) => cell.startsWith('"'))) {
    // Tab-separated files often do not use quotes. In other files, a single quote that is not closed is an error.
    const most = dialect.separator === '\t' ? 0 : 1;
    return double.opened > most && double.closed < double.opened / 2 ? undefined : '"';
  }
  const { opened, closed } = quoted("'");
  return opened > 2 && opened === closed && opened > count((cell) => !isNumeric(cell)) / 2 ? "'" : '"';
};

const misquotedIn = (records: readonly CsvRecord[]): number =>
  records.filter(({ isMisquoted }) => isMisquoted === true).length;

const misquotedShare = (sample: Sample, dialect: Plain): number => {
  const isOneLine = dialect.quote === undefined;
  const records = recordsOf(sample, { ...dialect, quote: dialect.quote ?? '"', isOneLine, skipsSpaces: true });
  return misquotedIn(records) / Math.max(records.length, 1);
};

type Plain = Pick<Dialect, 'separator' | 'quote' | 'lineEnd'>;

const plainDialect = (sample: Sample, lineEnd: Dialect['lineEnd'], options: CsvOptions): Plain => {
  const of = (separator: string): Plain => {
    const quote = options.quote === undefined ? quoteOf(sample, { separator, lineEnd }) : options.quote;
    return { separator, quote: quote === 'none' ? undefined : quote, lineEnd };
  };
  if (options.separator !== undefined) return of(options.separator);
  let best = { dialect: of(','), share: 0, width: 1 };
  for (const separator of SEPARATORS) {
    if (!sample.text.includes(separator)) continue;
    const dialect = of(separator);
    const records = recordsOf(sample, dialect).filter((record) => !isBlank(record));
    const several = records.filter(({ cells }) => cells.length > 1);
    if (several.length === 0) continue;
    const usual = usualWidth(several);
    const whole = (usual.share * several.length) / records.length;
    if (whole < (COMMON.includes(separator) ? 0.3 : 0.95)) continue;
    const share = whole - (options.quote === 'none' ? 0 : misquotedShare(sample, dialect) / 2);
    // A colon is the last choice, because times such as 12:30:00 split into the same number of cells in each record.
    if (share > best.share || (share === best.share && usual.width > best.width && separator !== ':'))
      best = { dialect, share, width: usual.width };
  }
  return best.dialect;
};

/**
 * Returns true if spaces after separators do not belong to the cells: if every separator is followed by a space, or if
 * most are and the quotes are valid only without the spaces.
 */
const skipsSpaces = (sample: Sample, dialect: Dialect): boolean => {
  const records = recordsOf(sample, dialect);
  const later = records.flatMap(({ cells }) => cells.slice(1)).filter((cell) => cell !== '');
  if (records.length > 1 && later.length > 0 && later.every((cell) => cell.startsWith(' '))) return true;
  const countOf = (text: string): number => sample.text.split(text).length - 1;
  const isUsual = countOf(`${dialect.separator} `) > countOf(dialect.separator) / 2;
  return isUsual && misquotedIn(records) > 0 && misquotedIn(recordsOf(sample, { ...dialect, skipsSpaces: true })) === 0;
};

const isNumeric = (cell: string): boolean => /^\s*[+-]?(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?%?\s*$/i.test(cell);
const isDate = (cell: string): boolean => /^\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ][\d:.]+Z?)?\s*$/.test(cell);
const isYear = (value: number): boolean => value >= 1500 && value <= 2200;

/** Headings can be numbers: years, or the consecutive numbers 0, 1, 2 that some programs write. */
const mayBeHeadings = (numbers: readonly number[]): boolean =>
  numbers.every(Number.isInteger) &&
  (numbers.every(isYear) || numbers.every((each, i) => i === 0 || each === numbers[i - 1]! + 1));

const isRow = (first: CsvRecord, rest: readonly CsvRecord[]): boolean => {
  if (rest.length < 2) return false;
  const cellsBelow = (i: number) => rest.map(({ cells }) => cells[i] ?? '').filter((cell) => !isBlankCell(cell));
  const numbers: number[] = [];
  let isRepeated = false;
  let hasDate = false;
  for (const [i, cell] of first.cells.entries()) {
    const below = cellsBelow(i);
    if (below.length > 0 && below.every(isNumeric)) {
      if (!isNumeric(cell)) return false;
      numbers.push(Number(cell.replaceAll(/[,%\s]/g, '')));
    } else if (isBlankCell(cell)) return false;
    else if (below.length > 0 && below.every(isDate)) {
      if (!isDate(cell)) return false;
      hasDate = true;
    } else isRepeated ||= below.includes(cell) && /\p{L}/u.test(cell);
  }
  return hasDate || (numbers.length > 0 && (isRepeated || !mayBeHeadings(numbers)));
};

const isPreamble = (records: readonly CsvRecord[], at: number, width: number, most: number): boolean => {
  const [{ cells }, next] = records.slice(at, at + 2) as [CsvRecord, CsvRecord | undefined];
  if (!next) return false;
  if (cells[0]!.startsWith('#') && width > 1) return cells.length < width || next.cells[0]!.startsWith('#');
  const filled = filledIn({ cells });
  // The first column can be a row index without a heading. The line is a header even if the rows below it are nearly
  // empty.
  const isIndexUnnamed = isBlankCell(cells[0]!) && cells.length >= width - 1 && filled > width / 2;
  if (filled >= most || isIndexUnnamed) return false;
  if (isBlank(next) || cells.length < width - 1 || (filled <= 1 && (width > 2 || cells.length < width))) return true;
  return isPreamble(records, at + 1, width, most);
};

interface TableStart {
  readonly firstLine: number;
  readonly hasHeader: boolean;
  readonly sample: readonly CsvRecord[];
}

const firstRecord = (records: readonly CsvRecord[]): CsvRecord | undefined => {
  const filled = records.filter((record) => !isBlank(record));
  if (filled.length === 0) return undefined;
  const width = widthOf(filled);
  const most = Math.max(...filled.filter(({ cells }) => cells.length === width).map(filledIn));
  const start = records.slice(0, MAX_PREAMBLE);
  return start.find((record, i) => !isBlank(record) && !isPreamble(start, i, width, most)) ?? filled[0];
};

export const startOf = (records: readonly CsvRecord[], header?: number | 'none'): TableStart => {
  const first = typeof header === 'number' ? records.find(({ line }) => line >= header) : firstRecord(records);
  if (!first && typeof header === 'number')
    throw new OperatorError(`line ${header} (--header) is not among its first ${SAMPLE} rows`);
  if (!first) return { firstLine: 1, hasHeader: header !== 'none', sample: [] };
  const sample = records.slice(records.indexOf(first)).filter((record) => !isBlank(record));
  const hasHeader = header === undefined ? !isRow(first, sample.slice(1)) : header !== 'none';
  return { firstLine: first.line, hasHeader, sample };
};

/**
 * Returns true if a backslash escapes a quote in the middle of a cell. A backslash at the end of a cell is not
 * evidence, because paths can end with a backslash.
 */
const escapesQuotes = (text: string, { separator, quote }: Plain): boolean => {
  if (quote === undefined) return false;
  const ends = (rest: string): boolean =>
    rest === '' || [separator, quote, '\r', '\n'].some((each) => rest.startsWith(each));
  for (let at = text.indexOf(`\\${quote}`); at !== -1; at = text.indexOf(`\\${quote}`, at + 1)) {
    const open = text.lastIndexOf(quote, at - 1);
    const before = text.slice(Math.max(open - 100, 0), Math.max(open, 0)).replace(/ +$/, '');
    const opens = open !== -1 && (before === '' || before.endsWith(separator) || /[\r\n]$/.test(before));
    const after = text.slice(at + 2, at + 102);
    if (opens && !ends(after) && !ends(after.replace(/^[ \t]+/, ''))) return true;
  }
  return false;
};

/** Files with CR as the line end can contain LF inside quotes. */
const lineEndOf = (text: string): Dialect['lineEnd'] =>
  text.includes('\r') && !text.replaceAll(/"[^"]*"/g, '').includes('\n') ? '\r' : '\n';

/** Excel reads the separator from a first line such as `sep=;`. */
const SEP_LINE = /^"?sep=(.)"?\r?[\r\n]/i;

export const layoutOf = (head: string, isWhole: boolean, options: CsvOptions = {}): CsvLayout => {
  const [sepLine = '', named] = SEP_LINE.exec(head) ?? [];
  const sample = sampleOf(head.slice(sepLine.length), isWhole);
  const lineEnd = lineEndOf(head);
  const unescaped = plainDialect(sample, lineEnd, { separator: named, ...options });
  const plain = { ...unescaped, ...(escapesQuotes(head, unescaped) && { isEscaped: true }) };
  const spaced = plain.separator !== ' ' && skipsSpaces(sample, plain);
  const dialect: Dialect = { ...plain, ...(spaced && { skipsSpaces: true }) };
  const above = sepLine === '' ? 0 : 1;
  const records = recordsOf(sample, dialect).map((record) => ({ ...record, line: record.line + above }));
  return { dialect, ...startOf(records, options.header) };
};
