/** Rows of a CSV file, streamed, each with the number of its line. */
import type { ImportErrors } from './import-errors.js';

export interface Row {
  /** 1 for the first line of the file. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Characters. No line of the formats read here comes near; a file without line ends must not fill the memory. */
const LONGEST_LINE = 64 * 1024;

const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** The cells of one line by RFC 4180, trimmed; undefined when its quotes are wrong. */
export const splitRow = (line: string): string[] | undefined => {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim());
  const cells: string[] = [];
  CELL.lastIndex = 0;
  for (;;) {
    const match = CELL.exec(line);
    if (match === null) return undefined;
    cells.push((match[1]?.replaceAll('""', '"') ?? (match[2] as string)).trim());
    if (match[3] === '') return cells;
  }
};

/** Lines of UTF-8 text, without BOM and line ends. */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() as string;
    yield lines;
    // Still too long, and so a bad row; where it ends is still found.
    if (rest.length > LONGEST_LINE) rest = rest.slice(0, LONGEST_LINE + 1);
  }
  yield [rest + decoder.decode()];
}

/**
 * Reads rows in UTF-8, with or without BOM, with CRLF or LF; empty lines are passed over. A row ends with its
 * line, also inside quotes: in the files read here no cell has a line break, and so a lost quote costs one row
 * and not the rest of the file. Rows whose quotes are wrong are added to the errors and left out. The number
 * of cells is the caller's to check.
 */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  errors: ImportErrors,
): AsyncGenerator<Row[]> {
  let number = 0;
  for await (const lines of readLines(bytes)) {
    const rows: Row[] = [];
    for (const text of lines) {
      number++;
      const line = text.endsWith('\r') ? text.slice(0, -1) : text;
      if (line.trim() === '') continue;
      const cells = line.length > LONGEST_LINE ? undefined : splitRow(line);
      if (cells === undefined) errors.addRow(file, number, 'is not a CSV row: a quote is missing, or out of place');
      else rows.push({ line: number, cells });
    }
    yield rows;
  }
}
