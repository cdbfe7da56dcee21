/** Reads NDJSON in chunks of about a MiB, each parsed at once: nearly as fast as one `JSON.parse` of it all. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Document } from '../contracts/dataset.js';
import { fileErrorReason } from '../file-error.js';

const CHUNK_BYTES = 1024 * 1024;
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** A batch of consecutive rows. */
export interface Rows {
  /** The line of the first one, from 1. */
  readonly firstRow: number;
  /** Rows that could not be read are undefined, and have been reported. */
  readonly documents: readonly (Document | undefined)[];
}

export interface ReadRowsOptions {
  /** Told of each line that is no JSON document, and of what is wrong with the file as a whole (row null). */
  readonly onFault: (row: number | null, rule: string) => void;
  /** What the manifest says; checked at the end. */
  readonly expected?: { readonly rows?: number; readonly sha256?: string };
}

/** Lines end in LF or CRLF; a byte order mark at the beginning is passed over. Never throws. */
export async function* readRows(path: string, { onFault, expected = {} }: ReadRowsOptions): AsyncGenerator<Rows> {
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  let row = 1;
  let first = true;
  try {
    for await (const read of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
      hash.update(read);
      let chunk = rest.length > 0 ? Buffer.concat([rest, read]) : read;
      if (first && chunk.subarray(0, 3).equals(BOM)) chunk = chunk.subarray(3);
      first = false;
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      rest = Buffer.from(chunk.subarray(end));
      if (rest.length > LONGEST_LINE_BYTES) {
        onFault(row, `is longer than ${LONGEST_LINE_BYTES} bytes: one JSON document a line is expected`);
        return;
      }
      if (end === 0) continue;
      const documents = parseLines(chunk.subarray(0, end), row, onFault);
      yield { firstRow: row, documents };
      row += documents.length;
    }
  } catch (error) {
    onFault(null, `cannot be read: ${fileErrorReason(error)}`);
    return;
  }
  if (rest.length > 0) {
    const documents = parseLines(rest, row, onFault);
    yield { firstRow: row, documents };
    row += documents.length;
  }
  if (expected.rows !== undefined && expected.rows !== row - 1) {
    onFault(null, `has ${row - 1} rows where the manifest says ${expected.rows}: it was cut short or changed`);
  } else if (expected.sha256 !== undefined && expected.sha256 !== hash.digest('hex')) {
    onFault(null, 'does not have the sha256 that the manifest says: it was changed, or is being written');
  }
}

/** A newline cannot stand inside a JSON text's string, so that turning each into a comma makes one array of all. */
const parseLines = (lines: Buffer, firstRow: number, onFault: ReadRowsOptions['onFault']): (Document | undefined)[] => {
  const ended = lines[lines.length - 1] === NEWLINE ? lines.subarray(0, -1) : lines;
  const joined = Buffer.from(ended);
  let count = 1;
  for (let at = joined.indexOf(NEWLINE); at !== -1; at = joined.indexOf(NEWLINE, at + 1)) {
    joined[at] = COMMA;
    count++;
  }
  if (isUtf8(joined)) {
    try {
      const documents = JSON.parse(`[${joined.toString()}]`) as Document[];
      if (documents.length === count && documents.every(isObject)) return documents;
    } catch {
      // Which line it was is found below.
    }
  }
  return splitLines(ended).map((line, index) => parseLine(line, firstRow + index, onFault));
};

const splitLines = (lines: Buffer): Buffer[] => {
  const split: Buffer[] = [];
  let start = 0;
  for (let at = lines.indexOf(NEWLINE); at !== -1; at = lines.indexOf(NEWLINE, start)) {
    split.push(lines.subarray(start, at));
    start = at + 1;
  }
  return [...split, lines.subarray(start)];
};

const parseLine = (line: Buffer, row: number, onFault: ReadRowsOptions['onFault']): Document | undefined => {
  if (!isUtf8(line)) {
    onFault(row, 'is not UTF-8');
    return undefined;
  }
  const text = line.toString().trim();
  if (text === '') {
    onFault(row, 'is empty: one JSON document a line is expected');
    return undefined;
  }
  try {
    const document: unknown = JSON.parse(text);
    if (isObject(document)) return document;
    onFault(row, 'must be a JSON object');
  } catch (error) {
    onFault(row, `is not JSON: ${(error as Error).message}`);
  }
  return undefined;
};

const isObject = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
