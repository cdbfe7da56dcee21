/** Reads the rows of a CSV file with their line numbers. */
import { type CsvRecord, CsvSplitter } from 'metro-forecast-api/adapter';
import type { ImportErrors } from './import-errors.js';

export type Row = CsvRecord;

/** Cells contain no line breaks, so that a missing quote affects one line and not the rest of the file. */
const DIALECT = { separator: ',', quote: '"', lineEnd: '\n', isOneLine: true } as const;

/**
 * The maximum line length in characters, far above any real line, so that a file without line ends cannot fill the
 * memory.
 */
const MAX_LINE = 64 * 1024;

const isBlank = ({ cells }: Row): boolean => cells.length === 1 && cells[0]!.trim() === '';

/** Returns the rows with trimmed cells, without blank rows or rows with incorrect quotes. */
const validRows = (rows: readonly Row[]): readonly Row[] =>
  rows
    .filter((row) => !row.isMisquoted && !isBlank(row))
    .map((row) => ({ ...row, cells: row.cells.map((cell) => cell.trim()) }));

/** Returns the rows of a text. Blank rows and rows with incorrect quotes are left out. */
export const rowsOf = (text: string): readonly Row[] => {
  const splitter = new CsvSplitter(DIALECT);
  return validRows([...splitter.push(text), ...splitter.end()]);
};

/**
 * Yields UTF-8 text in parts, without a byte order mark. A line that is too long gets a quote that makes it invalid.
 */
async function* readText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  /** Length of the last line so far. */
  let length = 0;
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    const last = text.lastIndexOf('\n');
    const first = text.indexOf('\n');
    const isLong = length > MAX_LINE;
    length = last === -1 ? length + text.length : text.length - last - 1;
    // The rest of a line that is too long is skipped.
    if (!isLong) yield length > MAX_LINE ? `${text}"` : text;
    else if (first !== -1) yield text.slice(first);
  }
  yield decoder.decode();
}

/**
 * Yields rows in batches. A row ends with its line, even inside quotes. Blank lines are skipped. Rows with wrong quotes
 * are reported and left out. The number of cells is not checked.
 */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  errors: ImportErrors,
): AsyncGenerator<readonly Row[]> {
  const splitter = new CsvSplitter(DIALECT);
  const checked = (rows: readonly Row[]): readonly Row[] => {
    for (const { line, isMisquoted } of rows) {
      if (isMisquoted) errors.addRow(file, line, 'is not a CSV row: a quote is missing, or out of place');
    }
    return validRows(rows);
  };
  for await (const text of readText(bytes)) yield checked(splitter.push(text));
  yield checked(splitter.end());
}
