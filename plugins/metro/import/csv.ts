import { type CsvRecord, CsvSplitter } from 'metro-forecast-api/adapter';
import type { ImportErrors } from './import-errors.js';

export type Row = CsvRecord;

/** A row ends at every line break, even in quotes, so a missing quote affects only one line. */
const DIALECT = { separator: ',', quote: '"', lineEnd: '\n', isOneLine: true } as const;

/** Maximum length of a line in characters. A file without line breaks would otherwise exhaust the memory. */
const MAX_LINE = 64 * 1024;

const isBlank = ({ cells }: Row): boolean => cells.length === 1 && cells[0]!.trim() === '';

const validRows = (rows: readonly Row[]): readonly Row[] =>
  rows
    .filter((row) => !row.isMisquoted && !isBlank(row))
    .map((row) => ({ ...row, cells: row.cells.map((cell) => cell.trim()) }));

export const rowsOf = (text: string): readonly Row[] => {
  const splitter = new CsvSplitter(DIALECT);
  return validRows([...splitter.push(text), ...splitter.end()]);
};

/**
 * Decodes UTF-8 and drops a byte order mark. A line that is too long is truncated and gets a stray quote, so that the
 * row is reported as invalid.
 */
async function* readText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let lineLength = 0;
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    const last = text.lastIndexOf('\n');
    const first = text.indexOf('\n');
    // The rest of a line that is too long is dropped.
    const rest = lineLength <= MAX_LINE ? text : first === -1 ? '' : text.slice(first);
    lineLength = last === -1 ? lineLength + text.length : text.length - last - 1;
    if (rest !== '') yield lineLength > MAX_LINE ? `${rest}"` : rest;
  }
  yield decoder.decode();
}

export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  errors: ImportErrors,
): AsyncGenerator<readonly Row[]> {
  const splitter = new CsvSplitter(DIALECT);
  const checked = (rows: readonly Row[]): readonly Row[] => {
    for (const { line, isMisquoted } of rows) {
      if (isMisquoted) errors.addRow(file, line, 'is not a CSV row: a quote is missing or out of place');
    }
    return validRows(rows);
  };
  for await (const text of readText(bytes)) yield checked(splitter.push(text));
  yield checked(splitter.end());
}
