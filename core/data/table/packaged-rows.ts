/** Reads Parquet files and Excel workbooks. Their packages are loaded when such a file is imported. */
import { readFile, stat } from 'node:fs/promises';
import { OperatorError } from '../../errors.js';
import type { Cell } from './column-guess.js';
import { cellOf } from './json-rows.js';

export interface ParquetTable {
  readonly headings: readonly string[];
  /** Yields rows in batches, one row group at a time. */
  rows(): AsyncGenerator<readonly (readonly Cell[])[]>;
}

export const openParquet = async (path: string): Promise<ParquetTable> => {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const fields = parquetSchema(metadata).children.map(({ element }) => element);
  const dates = new Set(fields.filter(({ converted_type }) => converted_type === 'DATE').map(({ name }) => name));
  const local = new Set(
    fields
      .filter(({ logical_type: type }) => type?.type === 'TIMESTAMP' && !type.isAdjustedToUTC)
      .map(({ name }) => name),
  );
  const cell = (name: string, value: unknown): Cell => {
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
        const rows = await parquetReadObjects({ file, metadata, compressors, rowStart, rowEnd });
        yield rows.map((row) => headings.map((name) => cell(name, row[name])));
        rowStart = rowEnd;
      }
    },
  };
};

export interface ExcelTable {
  readonly sheet: string;
  /** The names of other sheets. */
  readonly others: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A workbook is read as a whole. */
const MAX_WORKBOOK = 200 * 1024 * 1024;

const excelCell = (value: unknown): Cell => {
  // In XML, every line end means LF.
  if (typeof value === 'string') return value.replaceAll(/\r+\n/g, '\n');
  if (!(value instanceof Date)) return cellOf(value);
  // A time in Excel is a fraction of a day without a zone, such as 14:57:12.999 for 14:57:13. Day 0 has times of day.
  const second = Math.round(value.getTime() / 1000) * 1000;
  const time = Math.abs(value.getTime() - second) > 1 ? value : new Date(second);
  const text = time
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, '');
  if (text.startsWith('1899-12-30T')) return text.slice(11);
  return text.endsWith('T00:00:00') ? text.slice(0, 10) : text.replace('T', ' ');
};

/** @param name of the sheet; by default the first one with rows */
export const openExcel = async (path: string, name?: string): Promise<ExcelTable> => {
  const { size } = await stat(path);
  if (size > MAX_WORKBOOK) throw new OperatorError('it is a workbook of more than 200 MiB; save it as CSV');
  const { default: readWorkbook } = await import('read-excel-file/node');
  const sheets = await readWorkbook(await readFile(path), { trim: false });
  const found =
    name === undefined
      ? (sheets.find(({ data }) => data.length > 0) ?? sheets[0])
      : sheets.find(({ sheet }) => sheet === name);
  const names = sheets.map(({ sheet }) => sheet);
  if (!found) throw new OperatorError(`it has no sheet "${name}"; it has: ${names.join(', ')}`);
  return {
    sheet: found.sheet,
    others: names.filter((each) => each !== found.sheet),
    rows: found.data.map((row) => row.map(excelCell)),
  };
};
