import { OperatorError } from '../../errors.js';
import type { Cell } from './column-guess.js';
import { type Dialect, LineSplitter } from './csv.js';
import { type CsvOptions, isBlank, layoutOf, startOf, widthOf } from './dialect.js';
import { cellOf, jsonRows } from './json-rows.js';
import { openExcel, openParquet } from './packaged-rows.js';
import { PlainLine } from './plain-line.js';
import { isParquet, openSource, type Source, type SourceOptions } from './source.js';
import { encodingOf, headText, textOf } from './text.js';

export const FORMATS = ['csv', 'json', 'parquet', 'xlsx'] as const;
export type Format = (typeof FORMATS)[number];

export interface FormatOptions extends CsvOptions, SourceOptions {
  readonly format?: Format | undefined;
  /** The encoding of the file: a label from the WHATWG Encoding Standard. */
  readonly encoding?: string | undefined;
  readonly isEncodingAssumed?: boolean;
  readonly sheet?: string | undefined;
}

export interface Row {
  /** The line number, or the row number in a format without lines. Both start at 1. */
  readonly line: number;
  readonly cells: readonly Cell[];
  readonly isMisquoted?: boolean;
  readonly hasZeroBytes?: boolean;
}

export interface OpenedTable {
  readonly format: Format;
  readonly found: readonly string[];
  readonly headings: readonly string[];
  /** True if the file format has types, as JSON and Parquet do. If true, a string is never converted to a number. */
  readonly isTyped: boolean;
  /** The dialect of a CSV file. */
  readonly dialect?: Dialect;
  rows(): AsyncIterable<readonly Row[]>;
}

const formatOf = ({ head, isWorkbook }: Source, encoding: string): Format => {
  if (isWorkbook) return 'xlsx';
  if (isParquet(head)) return 'parquet';
  return /^\s*(\[\s*[{["\]]|\{\s*["}])/.test(headText(head.subarray(0, 4096), encoding)) ? 'json' : 'csv';
};

export const openTable = async (path: string, options: FormatOptions): Promise<OpenedTable> => {
  const source = await openSource(path, options);
  const encoding = options.encoding ?? encodingOf(source.head);
  const format = options.format ?? formatOf(source, encoding);
  const packed = source.compression === 'none' || source.isWorkbook ? [] : [source.compression];
  if (format === 'parquet' && source.compression !== 'none') {
    throw new OperatorError(`it is a Parquet file inside ${source.compression}; unpack it`);
  }
  const opened =
    format === 'parquet'
      ? await parquetTable(path)
      : format === 'xlsx'
        ? await excelTable(path, options)
        : format === 'json'
          ? await jsonTable(source, encoding)
          : await csvTable(source, encoding, options);
  const assumed = options.isEncodingAssumed ? ['with a guessed encoding; if letters are wrong, use --encoding'] : [];
  return { ...opened, found: [...opened.found, ...packed, ...assumed] };
};

const NAMES: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'pipes',
  ' ': 'spaces',
};

const headingsFound = (
  hasHeader: boolean,
  line: number,
  headings: readonly string[] = [],
  given?: number | 'none',
): readonly string[] => {
  if (!hasHeader) return ['without a line of headings'];
  if (given === undefined && headings.length > 0 && !headings.some((heading) => /\p{L}/u.test(heading)))
    return [`line ${line} was read as the headings; if it is a row, use --header none`];
  return line > 1 ? [`columns named in line ${line}`] : [];
};

const withZeroBytes = (row: Row): Row =>
  row.cells.some((cell) => String(cell).includes('\0')) ? { ...row, cells: row.cells, hasZeroBytes: true } : row;

const csvTable = async (source: Source, encoding: string, options: CsvOptions): Promise<OpenedTable> => {
  const text = headText(source.head, encoding);
  if (text.includes('\0') && text.includes('\ufffd'))
    throw new OperatorError('it is not text: it contains zero bytes; unpack it, or set its encoding with --encoding');
  const { dialect, firstLine, hasHeader, sample } = layoutOf(text, source.isWholeHead, options);
  const { separator, quote, lineEnd } = dialect;

  async function* records(): AsyncGenerator<readonly Row[]> {
    const splitter = new LineSplitter(dialect);
    let isHeader = hasHeader;
    const isWanted = (row: Row & { readonly cells: readonly string[] }): boolean => {
      if (row.line < firstLine) return false;
      if (!(row instanceof PlainLine && row.startsWithText) && isBlank(row)) return false;
      const isFirst = isHeader;
      isHeader = false;
      return !isFirst;
    };
    for await (const part of textOf(source.open(), encoding)) {
      const rows = splitter.push(part).filter(isWanted);
      yield part.includes('\0') ? rows.map(withZeroBytes) : rows;
    }
    yield splitter.end().filter(isWanted).map(withZeroBytes);
  }

  const body = sample.slice(hasHeader ? 1 : 0);
  const width = body.length === 0 ? 0 : widthOf(body);
  return {
    format: 'csv',
    found: [
      `CSV in ${encoding.toUpperCase()}`,
      ...(width > 1 || options.separator ? [`separated by ${NAMES[separator] ?? JSON.stringify(separator)}`] : []),
      ...(width === 1 && sample.every(({ cells: [cell] }) => / {2}/.test(cell!.trim()))
        ? ['with one column; if spaces separate the columns, save the table as CSV']
        : []),
      ...(dialect.skipsSpaces ? ['with spaces after separators'] : []),
      ...(quote === '"' ? [] : [quote === undefined ? 'without quotes' : `quoted by ${quote}`]),
      ...(dialect.isEscaped ? ['with quotes escaped by backslashes'] : []),
      ...(lineEnd === '\r' ? ['with line ends CR'] : []),
      ...headingsFound(hasHeader, firstLine, sample[0]?.cells, options.header),
    ],
    headings: headingsFor(
      (hasHeader && sample[0]?.cells) || [],
      body.map(({ cells }) => cells),
      width,
    ),
    isTyped: false,
    dialect,
    rows: records,
  };
};

/** In files written by R, the first column contains row names and has no heading. */
const headingsFor = (
  named: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly string[] => {
  const headings = named.map((heading) => heading.trim());
  const isFirstUnnamed =
    headings.length > 1 &&
    rows.length > 0 &&
    rows.every((cells) => cells.length === headings.length + 1 && cells.at(-1) !== '');
  const more = Array<string>(Math.max(width - headings.length, 0)).fill('');
  return isFirstUnnamed ? ['', ...headings] : [...headings, ...more];
};

const jsonTable = async (source: Source, encoding: string): Promise<OpenedTable> => {
  // All JSON objects must be read to find the columns, because a later object can have additional fields.
  const names = new Map<string, number>();
  for await (const objects of jsonRows(source.open(), encoding)) {
    for (const { fields } of objects) for (const name in fields) if (!names.has(name)) names.set(name, names.size);
  }
  const headings = [...names.keys()];
  async function* rows(): AsyncGenerator<readonly Row[]> {
    for await (const objects of jsonRows(source.open(), encoding)) {
      yield objects.map(({ line, fields }) => ({
        line,
        cells: headings.map((name) => (Object.hasOwn(fields, name) ? cellOf(fields[name]) : null)),
      }));
    }
  }
  return { format: 'json', found: [`JSON in ${encoding.toUpperCase()}`], headings, isTyped: true, rows };
};

const parquetTable = async (path: string): Promise<OpenedTable> => {
  const { headings, rows } = await openParquet(path);
  async function* numbered(): AsyncGenerator<readonly Row[]> {
    let line = 0;
    for await (const batch of rows()) yield batch.map((cells) => ({ line: ++line, cells }));
  }
  return { format: 'parquet', found: ['Parquet'], headings, isTyped: true, rows: numbered };
};

const excelTable = async (path: string, { sheet: name, header }: FormatOptions): Promise<OpenedTable> => {
  const { sheet, others, rows } = await openExcel(path, name);
  const all = rows.map((cells, i) => ({ line: i + 1, cells, text: cells.map((cell) => String(cell ?? '')) }));
  const { firstLine, hasHeader, sample } = startOf(
    all.slice(0, 500).map(({ line, text }) => ({ line, cells: text })),
    header,
  );
  const body = all.filter(
    ({ line, text }) => line >= firstLine + (hasHeader ? 1 : 0) && text.some((cell) => cell.trim() !== ''),
  );
  const width = Math.max(0, ...body.slice(0, 500).map(({ cells }) => cells.length));
  const named = hasHeader ? (sample[0]?.cells ?? []).map((heading) => heading.trim()) : [];
  return {
    format: 'xlsx',
    found: [
      `Excel sheet ${JSON.stringify(sheet)}`,
      ...(others.length > 0 ? [`without ${others.map((each) => JSON.stringify(each)).join(', ')}`] : []),
      ...headingsFound(hasHeader, firstLine, sample[0]?.cells, header),
    ],
    headings: [...named, ...Array<string>(Math.max(width - named.length, 0)).fill('')],
    isTyped: true,
    async *rows() {
      yield body;
    },
  };
};
