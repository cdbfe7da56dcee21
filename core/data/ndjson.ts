/** Reads NDJSON and parses the lines of each batch by one `JSON.parse`: nearly as fast as one for the whole file. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Document } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';
import { fileErrorMayPass, fileErrorReason } from '../util/error-reason.js';
import { openRegular } from '../util/regular.js';
import { findJsonError, isJsonObject } from '../validation/json.js';
import type { JsonLines } from './indexed-collection.js';

/** Bytes of one read. */
const CHUNK_BYTES = 64 * 1024;
/** Bytes parsed in one go: other work waits for them for one or two tenths of a millisecond. */
const BATCH_BYTES = 8 * 1024;
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
  /** The bytes of the rows, valid until the next batch; absent where a row is faulty, or the rows came from no file. */
  readonly lines?: JsonLines;
}

interface ReadRowsOptions {
  /** Told of each line that is no JSON document, and of what is wrong with the file as a whole (row null). */
  readonly onError: (row: number | null, rule: string) => void;
  /** What the manifest says; checked at the end. */
  readonly expected?: { readonly rows?: number; readonly sha256?: string };
  /** Told the SHA-256 of the whole file, in hex, when it has been read. */
  readonly onDigest?: (sha256: string) => void;
}

/**
 * Yields the rows of a file in batches. Lines end in LF or CRLF, the last one in either or nothing; a byte order mark at
 * the beginning is passed over.
 * @throws StorageError `unavailable` when the file cannot be read now, but may be later
 */
export async function* readRows(path: string, options: ReadRowsOptions): AsyncGenerator<Rows> {
  let file: FileHandle | undefined;
  try {
    file = await openRegular(path);
    yield* readLines(file, options);
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).syscall) throw error;
    const problem = `cannot be read: ${fileErrorReason(error)}`;
    if (fileErrorMayPass(error)) throw new StorageError('unavailable', `${path} ${problem}.`, { cause: error });
    options.onError(null, problem);
  } finally {
    await file?.close();
  }
}

async function* readLines(file: FileHandle, options: ReadRowsOptions): AsyncGenerator<Rows> {
  const { onError, expected = {}, onDigest } = options;
  const hash = createHash('sha256');
  let row = 1;
  // The first byte is reserved for the opening bracket; the incomplete line of the chunk before follows it.
  let buffer = Buffer.allocUnsafe(1 + CHUNK_BYTES);
  let held = 0;

  for (;;) {
    if (held > LONGEST_LINE_BYTES) {
      onError(row, `is longer than ${LONGEST_LINE_BYTES} bytes: one JSON document a line is expected`);
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
    let last = 0;
    for (const { bytes, ends } of batchesOf(buffer, 1 + held, end)) {
      const documents = parseTogether(bytes, ends);
      yield documents
        ? { firstRow: row, documents, lines: { bytes, ends } }
        : { firstRow: row, documents: parseSingly(bytes, ends, row, onError) };
      row += ends.length;
      last += bytes.length - 1;
    }
    buffer.copyWithin(1, last + 1, end);
    held = end - 1 - last;
  }
  if (held > 0) {
    const document = parseLine(buffer.subarray(1, 1 + held), (rule) => onError(row, rule), 'last');
    buffer[0] = OPENING;
    buffer[1 + held] = CLOSING;
    const lines = { bytes: buffer.subarray(0, 2 + held), ends: [1 + held] };
    yield { firstRow: row, documents: [document], ...(document && { lines }) };
    row++;
  }
  const sha256 = hash.digest('hex');
  onDigest?.(sha256);
  if (expected.rows !== undefined && expected.rows !== row - 1) {
    onError(null, `has ${row - 1} rows where the manifest says ${expected.rows}: it was cut short or changed`);
  } else if (expected.sha256 !== undefined && expected.sha256 !== sha256) {
    onError(null, 'does not have the sha256 that the manifest says: it was changed, or is being written');
  }
}

/**
 * Yields batches of whole lines: each with the byte before it, which takes a bracket, and where its lines end.
 * @param from where to begin to look for ends of lines
 */
function* batchesOf(buffer: Buffer, from: number, end: number): Generator<{ bytes: Buffer; ends: number[] }> {
  let begin = 0;
  let ends: number[] = [];
  for (let at = buffer.indexOf(NEWLINE, from); at !== -1 && at < end; at = buffer.indexOf(NEWLINE, at + 1)) {
    ends.push(at - begin);
    if (at - begin < BATCH_BYTES) continue;
    yield { bytes: buffer.subarray(begin, at + 1), ends };
    begin = at;
    ends = [];
  }
  if (ends.length > 0) yield { bytes: buffer.subarray(begin, begin + ends.at(-1)! + 1), ends };
}

/**
 * A newline cannot stand inside a JSON text's string, so that turning each into a comma, and the last one into a
 * bracket, makes one array of all. Undefined unless every line is an object of its own.
 */
const parseTogether = (bytes: Buffer, ends: readonly number[]): readonly Document[] | undefined => {
  bytes[0] = OPENING;
  for (const end of ends) bytes[end] = COMMA;
  bytes[bytes.length - 1] = CLOSING;
  if (!isUtf8(bytes)) return undefined;
  try {
    const documents = JSON.parse(bytes.toString('utf8')) as readonly unknown[];
    return documents.length === ends.length && documents.every(isJsonObject) ? documents : undefined;
  } catch {
    return undefined;
  }
};

const parseSingly = (
  bytes: Buffer,
  ends: readonly number[],
  firstRow: number,
  onError: ReadRowsOptions['onError'],
): (Document | undefined)[] =>
  ends.map((end, i) => parseLine(bytes.subarray((ends[i - 1] ?? 0) + 1, end), (rule) => onError(firstRow + i, rule)));

const describe = (text: string): string => {
  const fault = findJsonError(text);
  if (!fault) return 'is not JSON';
  const hint = /^[+-]?(nan|inf)/i.test(text.slice(fault.column - 1))
    ? '; JSON has no NaN and no infinities: use null, or leave the row out'
    : '';
  return `is not JSON, column ${fault.column}: ${fault.problem}${hint}`;
};

/**
 * Reads one line.
 * @param bytes without the line's end
 * @param position `last` for a line without an end of its own: perhaps the file was cut short in it
 * @returns undefined when the line is faulty, which has then been reported
 */
const parseLine = (bytes: Buffer, onError: (rule: string) => void, position?: 'last'): Document | undefined => {
  if (!isUtf8(bytes)) {
    onError('is not UTF-8');
    return undefined;
  }
  const text = bytes.toString('utf8');
  if (text.trim() === '') {
    onError('is empty: one JSON document a line is expected');
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    onError(`${describe(text)}${position === 'last' ? ' (the file ends in this line: it was cut short)' : ''}`);
    return undefined;
  }
  if (isJsonObject(value)) return value;
  onError('must be a JSON object');
  return undefined;
};
