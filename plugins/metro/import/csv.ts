/** Rows of a CSV file, each with its line number. */
import type { ImportErrors } from './import-errors.js';

export interface Row {
  /** 1 for the first line of the file. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Parses lines that are one record each. */
export type ParseLines = (lines: readonly string[]) => (readonly string[] | undefined)[];

/**
 * A parser of files whose cells contain no line breaks. The record of a line is undefined if its quotes are wrong, so
 * that a quote that is missing costs one line and not the rest of the file.
 */
export const lineParser = async (): Promise<ParseLines> => {
  const { parse } = await import('csv-parse/sync');
  const options = { relax_column_count: true, record_delimiter: '\n', trim: true };

  const parseAll = (lines: readonly string[]): readonly (readonly string[])[] | undefined => {
    try {
      const records = parse(lines.join('\n'), options) as unknown as readonly (readonly string[])[];
      const isWhole =
        records.length === lines.length && records.every((cells) => !cells.some((cell) => cell.includes('\n')));
      return isWhole ? records : undefined;
    } catch {
      return undefined;
    }
  };

  // Parsing many lines together is fast. Around a wrong quote, they are parsed one by one.
  const parseLines: ParseLines = (lines) => {
    if (lines.length === 0) return [];
    const records = parseAll(lines);
    if (records) return [...records];
    if (lines.length === 1) return [undefined];
    const middle = lines.length >>> 1;
    return [...parseLines(lines.slice(0, middle)), ...parseLines(lines.slice(middle))];
  };
  return parseLines;
};

/** Limit in characters, far above any line of these formats. A file without line ends must not fill the memory. */
const MAX_LINE = 64 * 1024;

/** Yields the lines of UTF-8 text in batches, without byte order mark and line ends. */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() as string;
    yield lines;
    // The line is bad because of its length. The rest of it is skipped.
    if (rest.length > MAX_LINE) rest = rest.slice(0, MAX_LINE + 1);
  }
  yield [rest + decoder.decode()];
}

/**
 * Yields rows in batches. A row ends with its line, also inside quotes: the files read here have no cells with line
 * breaks. Blank lines are skipped. Rows with wrong quotes are reported and left out. The number of cells is not checked.
 */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  errors: ImportErrors,
): AsyncGenerator<Row[]> {
  const parseLines = await lineParser();
  let before = 0;
  for await (const lines of readLines(bytes)) {
    const numbered = lines
      .map((text, i) => ({ text: text.endsWith('\r') ? text.slice(0, -1) : text, line: before + i + 1 }))
      .filter(({ text }) => text.trim() !== '');
    before += lines.length;
    // A line that is too long is parsed as a wrong one.
    const records = parseLines(numbered.map(({ text }) => (text.length > MAX_LINE ? '"' : text)));
    const rows: Row[] = [];
    for (const [i, { line }] of numbered.entries()) {
      const cells = records[i];
      if (cells) rows.push({ line, cells });
      else errors.addRow(file, line, 'is not a CSV row: a quote is missing, or out of place');
    }
    yield rows;
  }
}
