/** Reads CSV (RFC 4180) with the package csv-parse, which is loaded when a file is read. */
import { setImmediate } from 'node:timers/promises';
import type { CsvError, Options } from 'csv-parse';

/** A quote is out of place, or a record is too long. */
export class CsvSyntaxError extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
    this.name = 'CsvSyntaxError';
  }
}

export interface CsvRecord {
  /** Its first line in the file, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Size limit of a record. A quote that is not closed would otherwise fill the memory. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;
const SEPARATORS = [',', ';', '\t'];

// The option `cast`, which could trim cells too, takes ten times as long as the rest of the parser.
const OPTIONS = {
  bom: true,
  relax_column_count: true,
} as const satisfies Options;

/** Line ends, and the separator that occurs most often in the first line. */
const dialectOf = (start: Uint8Array) => {
  const text = Buffer.from(start).toString('utf8');
  const ends = text.includes('\r') && !text.includes('\n') ? ['\r'] : ['\r\n', '\n'];
  const [heading = ''] = text.split(ends.at(-1)!, 1);
  const delimiter = SEPARATORS.reduce((best, each) =>
    heading.split(each).length > heading.split(best).length ? each : best,
  );
  // Trimming would remove separators that are tabs.
  return { record_delimiter: ends, delimiter, trim: delimiter !== '\t' };
};

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0] === '';

const lineBreaksIn = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (cell.includes('\n') ? cell.split('\n').length - 1 : 0), 0);

const describe = ({ code }: CsvError): string => {
  if (code === 'CSV_MAX_RECORD_SIZE') return `has more than ${MAX_RECORD_BYTES} bytes, or a quote that is not closed`;
  return code === 'CSV_QUOTE_NOT_CLOSED'
    ? 'has a quote that is not closed'
    : 'has a quote inside a cell: a cell with quotes is written in quotes, and its quotes are doubled';
};

/** Limit of the first chunk, which the separator is guessed from. */
const HEAD_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** The same bytes, the first chunk with a whole line. */
async function* withWholeHead(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (!head.includes(NEWLINE) && head.length < HEAD_BYTES) continue;
    yield head;
    head = undefined;
  }
  if (head && head.length > 0) yield head;
}

/**
 * Yields the records of a file in batches. Cells in quotes may contain separators and line breaks. Blank lines are
 * skipped.
 * @throws CsvSyntaxError, errors of `bytes`
 */
export async function* readCsv(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly CsvRecord[]> {
  const { parse } = await import('csv-parse');
  let parser: ReturnType<typeof parse> | undefined;
  let dialect: ReturnType<typeof dialectOf> | undefined;
  let failure: CsvError | undefined;
  let line = 1;

  const take = (): CsvRecord[] => {
    const records: CsvRecord[] = [];
    for (;;) {
      const cells = parser?.read() as string[] | null;
      if (cells === null) return records;
      if (!isBlank(cells)) records.push({ line, cells: dialect?.trim ? cells : cells.map((cell) => cell.trim()) });
      line += 1 + lineBreaksIn(cells);
    }
  };
  const assertSound = (): void => {
    if (failure) throw new CsvSyntaxError(line, describe(failure));
  };

  for await (const chunk of withWholeHead(bytes)) {
    dialect ??= dialectOf(chunk);
    parser ??= parse({ ...OPTIONS, ...dialect, max_record_size: MAX_RECORD_BYTES }).on('error', (error: CsvError) => {
      failure = error;
    });
    // The parser transforms a chunk at once, and reports an error in the next turn.
    parser.write(chunk);
    const records = take();
    await setImmediate();
    assertSound();
    yield records;
  }
  if (!parser) return;
  parser.end();
  const rest = take();
  await setImmediate();
  assertSound();
  yield [...rest, ...take()];
}
