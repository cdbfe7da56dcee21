/** Reads Parquet files and Excel workbooks. The packages that parse these formats are loaded on first use. */
import { readFile, stat } from 'node:fs/promises';
import { OperatorError } from '../../errors.js';
import type { Cell } from './column-guess.js';
import { cellOf } from './json-rows.js';

interface ParquetTable {
  readonly headings: readonly string[];
  rows(): AsyncGenerator<readonly (readonly Cell[])[]>;
}

/** Returns a `Date` if milliseconds are precise enough, otherwise text. */
const exactTime = (value: bigint, digits: number): Date | string => {
  const unit = 10n ** BigInt(digits - 3);
  const rest = ((value % unit) + unit) % unit;
  const date = new Date(Number((value - rest) / unit));
  if (rest === 0n) return date;
  return `${date.toISOString().slice(0, -1)}${String(rest)
    .padStart(digits - 3, '0')
    .replace(/0+$/, '')}Z`;
};

const unreadable =
  (format: string) =>
  (cause: NodeJS.ErrnoException): never => {
    if (cause.syscall !== undefined) throw cause;
    throw new OperatorError(`it is not ${format}, or it is damaged: ${cause.message}`, [], { cause });
  };

export const openParquet = async (path: string): Promise<ParquetTable> => {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const file = await asyncBufferFromFile(path);
  const fail = unreadable('a Parquet file');
  const metadata = await parquetMetadataAsync(file).catch(fail);
  const fields = parquetSchema(metadata).children.map(({ element }) => element);
  const dates = new Set(fields.filter(({ converted_type }) => converted_type === 'DATE').map(({ name }) => name));
  const local = new Set(
    fields
      .filter(({ logical_type: type }) => type?.type === 'TIMESTAMP' && !type.isAdjustedToUTC)
      .map(({ name }) => name),
  );
  const parsers = {
    timestampFromMicroseconds: (micros: bigint) => exactTime(micros, 6),
    timestampFromNanoseconds: (nanos: bigint) => exactTime(nanos, 9),
  };
  const cell = (name: string, value: unknown): Cell => {
    if (typeof value === 'string' && local.has(name)) return value.slice(0, -1);
    if (!(value instanceof Date)) return cellOf(value);
    const text = value.toISOString();
    if (dates.has(name)) return text.slice(0, 10);
    return local.has(name) ? text.slice(0, -1).replace(/\.000$/, '') : text;
  };
  const headings = fields.map(({ name }) => name);
  return {
    headings,
    async *rows() {
      let rowStart = 0;
      for (const { num_rows } of metadata.row_groups) {
        const rowEnd = rowStart + Number(num_rows);
        const range = { rowStart, rowEnd };
        const rows = await parquetReadObjects({ file, metadata, compressors, parsers, ...range }).catch(fail);
        yield rows.map((row) => headings.map((name) => cell(name, row[name])));
        rowStart = rowEnd;
      }
    },
  };
};

interface ExcelTable {
  readonly sheet: string;
  readonly others: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A workbook must be read into memory completely, so larger files are rejected. */
const MAX_WORKBOOK = 200 * 1024 * 1024;

const DAY = 24 * 60 * 60 * 1000;
/** Day 0 in Excel. Values on this day are times without a date. */
const DAY_0 = Date.UTC(1899, 11, 30);

/**
 * Corrects dates from Excel. A time is stored as a fraction of a day, so 14:57:13 can be read as 14:57:12.999. Excel
 * treats 1900 as a leap year, so dates before day 60 are a day early.
 */
const excelTime = (value: Date): Date => {
  const second = Math.round(value.getTime() / 1000) * 1000;
  const time = Math.abs(value.getTime() - second) > 1 ? value.getTime() : second;
  return new Date(time >= DAY_0 + DAY && time < DAY_0 + 60 * DAY ? time + DAY : time);
};

const excelCell = (value: unknown): Cell => {
  if (typeof value === 'string') return value.replaceAll(/\r+\n/g, '\n');
  if (!(value instanceof Date)) return cellOf(value);
  const time = excelTime(value);
  const text = time
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, '');
  if (time.getTime() < DAY_0 + DAY && time.getTime() >= DAY_0) return text.slice(11);
  return text.endsWith('T00:00:00') ? text.slice(0, 10) : text.replace('T', ' ');
};

/**
 * Long integers stay text, because a number would lose digits. Only other programs write them: Excel writes at most 17
 * digits and an exponent.
 */
const excelNumber = (text: string): Cell => {
  const value = Number(text);
  const isExact = Number.isSafeInteger(value) || (Number.isFinite(value) && !/^-?\d+$/.test(text));
  return isExact ? value : text;
};

export const openExcel = async (path: string, name?: string): Promise<ExcelTable> => {
  const { size } = await stat(path);
  if (size > MAX_WORKBOOK) throw new OperatorError('it is a workbook of more than 200 MiB; save it as CSV');
  const { default: readWorkbook } = await import('read-excel-file/node');
  const options = { trim: false, parseNumber: excelNumber };
  const sheets = await readWorkbook(await readFile(path), options).catch(unreadable('an Excel workbook'));
  const found =
    name === undefined
      ? (sheets.find(({ data }) => data.length > 0) ?? sheets[0])
      : sheets.find(({ sheet }) => sheet === name);
  const names = sheets.map(({ sheet }) => sheet);
  if (!found) throw new OperatorError(`it has no sheet "${name}"; its sheets are ${names.join(', ')}`);
  return {
    sheet: found.sheet,
    others: names.filter((each) => each !== found.sheet),
    rows: found.data.map((row) => row.map(excelCell)),
  };
};
