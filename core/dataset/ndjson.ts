/** Reads NDJSON in chunks that are parsed at once: nearly as fast as one `JSON.parse` of it all. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Document } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';
import { fileErrorMayPass, fileErrorReason } from '../file-error.js';
import { parseLine } from './ndjson-line.js';

/** Few enough that whoever waits meanwhile waits for some milliseconds only. */
const CHUNK_BYTES = 256 * 1024;
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const SPACE = 0x20;
const OPENING = 0x5b;
const CLOSING = 0x5d;
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
  /** Told the SHA-256 of the whole file, in hex, when it has been read. */
  readonly onDigest?: (sha256: string) => void;
}

/**
 * Lines end in LF or CRLF, the last one in either or nothing; a byte order mark at the beginning is passed over.
 * @throws StorageError `unavailable` when reading failed for a reason that may pass, and nothing else
 */
export async function* readRows(path: string, options: ReadRowsOptions): AsyncGenerator<Rows> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    yield* readLines(file, options);
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).syscall) throw error;
    const problem = `cannot be read: ${fileErrorReason(error)}`;
    if (fileErrorMayPass(error)) throw new StorageError('unavailable', `${path} ${problem}.`, { cause: error });
    options.onFault(null, problem);
  } finally {
    await file?.close();
  }
}

async function* readLines(file: FileHandle, options: ReadRowsOptions): AsyncGenerator<Rows> {
  const { onFault, expected = {}, onDigest } = options;
  const hash = createHash('sha256');
  let row = 1;
  // Its first byte is kept for the opening bracket. What is held over from a chunk follows it.
  let buffer = Buffer.allocUnsafe(1 + CHUNK_BYTES);
  let held = 0;

  for (;;) {
    if (held > LONGEST_LINE_BYTES) {
      onFault(row, `is longer than ${LONGEST_LINE_BYTES} bytes: one JSON document a line is expected`);
      return;
    }
    if (buffer.length - 1 - held < CHUNK_BYTES / 2) {
      const room = Math.min(2 * held, LONGEST_LINE_BYTES) + CHUNK_BYTES;
      buffer = Buffer.concat([buffer.subarray(0, 1 + held)], 1 + room);
    }
    const { bytesRead } = await file.read(buffer, 1 + held, buffer.length - 1 - held, null);
    if (bytesRead === 0) break;
    const end = 1 + held + bytesRead;
    hash.update(buffer.subarray(1 + held, end));
    if (row === 1 && buffer.subarray(1, 4).equals(BOM)) buffer.fill(SPACE, 1, 4);
    const lineEnds = findNewlines(buffer, 1 + held, end);
    const last = lineEnds.at(-1) ?? 0;
    if (lineEnds.length > 0) {
      yield {
        firstRow: row,
        documents: parseTogether(buffer, lineEnds) ?? parseSingly(buffer, lineEnds, row, onFault),
      };
      row += lineEnds.length;
      buffer.copyWithin(1, last + 1, end);
    }
    held = end - 1 - last;
  }
  if (held > 0) {
    const document = parseLine(buffer.subarray(1, 1 + held), (rule) => onFault(row, rule), 'last');
    yield { firstRow: row, documents: [document] };
    row++;
  }
  const sha256 = hash.digest('hex');
  onDigest?.(sha256);
  if (expected.rows !== undefined && expected.rows !== row - 1) {
    onFault(null, `has ${row - 1} rows where the manifest says ${expected.rows}: it was cut short or changed`);
  } else if (expected.sha256 !== undefined && expected.sha256 !== sha256) {
    onFault(null, 'does not have the sha256 that the manifest says: it was changed, or is being written');
  }
}

const findNewlines = (buffer: Buffer, start: number, end: number): number[] => {
  const found: number[] = [];
  for (let at = buffer.indexOf(NEWLINE, start); at !== -1 && at < end; at = buffer.indexOf(NEWLINE, at + 1)) {
    found.push(at);
  }
  return found;
};

/**
 * A newline cannot stand inside a JSON text's string, so that turning each into a comma, and the last one into a
 * bracket, makes one array of all. Undefined unless every line is an object of its own.
 */
const parseTogether = (buffer: Buffer, lineEnds: readonly number[]): readonly Document[] | undefined => {
  const last = lineEnds.at(-1) as number;
  for (const end of lineEnds) buffer[end] = COMMA;
  buffer[0] = OPENING;
  buffer[last] = CLOSING;
  const array = buffer.subarray(0, last + 1);
  if (!isUtf8(array)) return undefined;
  try {
    const documents = JSON.parse(array.toString('utf8')) as readonly unknown[];
    return documents.length === lineEnds.length && documents.every(isObject) ? documents : undefined;
  } catch {
    return undefined;
  }
};

const parseSingly = (
  buffer: Buffer,
  lineEnds: readonly number[],
  firstRow: number,
  onFault: ReadRowsOptions['onFault'],
): (Document | undefined)[] =>
  lineEnds.map((end, i) =>
    parseLine(buffer.subarray((lineEnds[i - 1] ?? 0) + 1, end), (rule) => onFault(firstRow + i, rule)),
  );

const isObject = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
