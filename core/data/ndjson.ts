import { isAscii, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Document } from '../contracts/dataset.js';
import type { JsonRows } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { counted } from '../util/counted.js';
import { fileErrorMayPass, fileErrorReason } from '../util/error-reason.js';
import { openRegular } from '../util/read-file.js';
import { countNames, findJsonError, isJsonObject, type JsonSize, MAX_DEPTH, measureJson } from '../validation/json.js';

/** Hashing a chunk of 128 KiB takes less than half a millisecond. */
const CHUNK_BYTES = 128 * 1024;
/** Parsing a batch of 8 KiB blocks the event loop for 0.1 to 0.2 ms. */
const BATCH_BYTES = 8 * 1024;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const COMMA = 0x2c;
const OPENING = 0x5b;
const CLOSING = 0x5d;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Parsing a longer line would block the event loop for too long. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
export const MAX_NAMES = 20_000;
const MAX_VALUES = 100_000;

const numbers = new Intl.NumberFormat('en-US');

export interface Rows {
  readonly firstRow: number;
  readonly count: number;
  /**
   * The parsed rows. An unreadable row is undefined, and its error is reported. Rows from a file are parsed when this
   * property is first read. Read it before you request the next batch.
   */
  readonly documents: readonly (Document | undefined)[];
  /** The lines of the file as bytes. The bytes are overwritten when the next batch is requested. */
  readonly text?: JsonRows;
}

/**
 * The complete lines of a batch. `bytes` starts with one spare byte. To parse all lines as a JSON array, brackets
 * replace the first and the last byte, and commas replace the other line ends.
 */
interface JsonLines {
  readonly bytes: Buffer;
  readonly ends: readonly number[];
}

type OnError = (row: number | null, rule: string) => void;

interface ReadRowsOptions {
  /** Called for each line that is not a JSON object. The row is null for errors that concern the whole file. */
  readonly onError: OnError;
  readonly expected?: { readonly rows?: number; readonly sha256?: string };
  /** Called with the SHA-256 of the file in hexadecimal when the whole file has been read. */
  readonly onDigest?: (sha256: string) => void;
}

/**
 * Yields the rows of an NDJSON file in batches. Lines end with LF or CRLF. The last line break and a leading byte order
 * mark are optional.
 * @throws StorageError with the code `unavailable` after a read error that might be temporary
 */
export async function* readRows(path: string, options: ReadRowsOptions): AsyncGenerator<Rows> {
  let file: FileHandle | undefined;
  try {
    file = await openRegular(path);
    yield* readBatches(file, options);
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).syscall) throw error;
    const problem = `cannot be read: ${fileErrorReason(error)}`;
    if (fileErrorMayPass(error)) throw new StorageError('unavailable', `${path} ${problem}.`, { cause: error });
    options.onError(null, problem);
  } finally {
    await file?.close();
  }
}

async function* readBatches(file: FileHandle, options: ReadRowsOptions): AsyncGenerator<Rows> {
  const { onError, expected = {}, onDigest } = options;
  const hash = createHash('sha256');
  let row = 1;
  // The first byte is reserved for the opening bracket of a batch. An incomplete line follows the reserved byte.
  let buffer = Buffer.allocUnsafe(1 + CHUNK_BYTES);
  let held = 0;

  for (;;) {
    if (held > MAX_LINE_BYTES) {
      onError(row, `is longer than ${numbers.format(MAX_LINE_BYTES)} bytes: each line must be one JSON document`);
      return;
    }
    if (buffer.length - 1 - held < CHUNK_BYTES / 2) {
      const room = Math.min(2 * held, MAX_LINE_BYTES) + CHUNK_BYTES;
      buffer = Buffer.concat([buffer.subarray(0, 1 + held)], 1 + room);
    }
    const { bytesRead } = await file.read(buffer, 1 + held, buffer.length - 1 - held, null);
    if (bytesRead === 0) break;
    const end = 1 + held + bytesRead;
    hash.update(buffer.subarray(1 + held, end));
    if (row === 1 && buffer.subarray(1, 4).equals(BOM)) buffer.fill(SPACE, 1, 4);
    let last = 0;
    for (const lines of batchesOf(buffer, 1 + held, end)) {
      yield new Batch(lines, row, onError);
      row += lines.ends.length;
      last += lines.bytes.length - 1;
    }
    buffer.copyWithin(1, last + 1, end);
    held = end - 1 - last;
  }
  if (held > 0) {
    const lines = { bytes: buffer.subarray(0, held + 2), ends: [held + 1] };
    yield new Batch(lines, row, (line, rule) => onError(line, isJsonRule(rule) ? `${rule} ${CUT_SHORT}` : rule));
    row++;
  }
  const sha256 = hash.digest('hex');
  onDigest?.(sha256);
  if (expected.rows !== undefined && expected.rows !== row - 1) {
    onError(
      null,
      `has ${counted(row - 1, 'row')}, but the manifest says ${expected.rows}: it was cut short or changed`,
    );
  } else if (expected.sha256 !== undefined && expected.sha256 !== sha256) {
    onError(null, 'does not match the sha256 in the manifest: it was changed, or is being written');
  }
}

/** One spare byte precedes each batch. @param from offset at which to start looking for line ends */
function* batchesOf(buffer: Buffer, from: number, end: number): Generator<JsonLines> {
  let start = 0;
  let ends: number[] = [];
  for (let at = buffer.indexOf(NEWLINE, from); at !== -1 && at < end; at = buffer.indexOf(NEWLINE, at + 1)) {
    ends.push(at - start);
    if (at - start < BATCH_BYTES) continue;
    yield { bytes: buffer.subarray(start, at + 1), ends };
    start = at;
    ends = [];
  }
  if (ends.length > 0) yield { bytes: buffer.subarray(start, start + ends.at(-1)! + 1), ends };
}

/**
 * This is a class, because V8 would create a hidden class for each object literal with a getter, and keep the variables
 * that the getter uses in memory.
 */
class Batch implements Rows {
  readonly firstRow: number;
  readonly count: number;
  readonly text: JsonRows;
  readonly #lines: JsonLines;
  readonly #onError: OnError;
  #documents: Rows['documents'] | undefined;

  constructor(lines: JsonLines, firstRow: number, onError: OnError) {
    this.firstRow = firstRow;
    this.count = lines.ends.length;
    this.text = { json: lines.bytes.subarray(1, -1), ends: lines.ends.map((end) => end - 1) };
    this.#lines = lines;
    this.#onError = onError;
  }

  get documents(): Rows['documents'] {
    this.#documents ??= parseTogether(this.#lines) ?? parseSingly(this.#lines, this.firstRow, this.#onError);
    return this.#documents;
  }
}

/**
 * Parses all lines as one array, which is 25% faster than parsing each line. Returns undefined if any line has an
 * error. `measureJson` has checked that each line is a single object with all strings and brackets closed, so no value
 * spans two lines.
 */
const parseTogether = ({ bytes, ends }: JsonLines): readonly Document[] | undefined => {
  const names: number[] = [];
  let start = 1;
  for (const end of ends) {
    const size = measureJson(bytes, start, end);
    if (!size.isObject || excessOf(size) !== undefined) return undefined;
    names.push(size.names);
    start = end + 1;
  }
  bytes[0] = OPENING;
  for (const end of ends) bytes[end] = COMMA;
  bytes[bytes.length - 1] = CLOSING;
  const text = decode(bytes);
  if (text === undefined) return undefined;
  try {
    const documents = JSON.parse(text) as readonly Document[];
    // `JSON.parse` keeps only the last value of a duplicate name. If a document has fewer names than its text, the text
    // contains a duplicate.
    return documents.every((document, i) => countNames(document) === names[i]) ? documents : undefined;
  } catch {
    return undefined;
  }
};

const parseSingly = ({ bytes, ends }: JsonLines, firstRow: number, onError: OnError): (Document | undefined)[] =>
  ends.map((end, i) => {
    const parsed = parseLine(bytes.subarray(i === 0 ? 1 : ends[i - 1]! + 1, end));
    if (typeof parsed !== 'string') return parsed;
    onError(firstRow + i, parsed);
    return undefined;
  });

/** Most lines are ASCII, which can be decoded faster as Latin-1. */
const decode = (bytes: Buffer): string | undefined => {
  if (isAscii(bytes)) return bytes.toString('latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
};

const excessOf = ({ depth, names, commas }: JsonSize): string | undefined => {
  if (depth > MAX_DEPTH) return `has more than ${MAX_DEPTH} levels of objects and arrays`;
  if (names > MAX_NAMES) return `has more than ${numbers.format(MAX_NAMES)} property names`;
  return commas >= MAX_VALUES ? `has more than ${numbers.format(MAX_VALUES)} values` : undefined;
};

const parseLine = (bytes: Buffer): Document | string => {
  const size = measureJson(bytes);
  const excess = excessOf(size);
  if (excess !== undefined) return excess;
  const text = decode(bytes);
  if (text === undefined) return 'is not UTF-8';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.trim() === '' ? 'is empty: each line must be one JSON document' : describe(text);
  }
  if (!isJsonObject(value)) return 'must be a JSON object';
  return countNames(value) === size.names ? value : describe(text);
};

const NOT_JSON = 'is not JSON';
const CUT_SHORT = '(the file ends within this line: it was cut short)';
const isJsonRule = (rule: string): boolean => rule.startsWith(NOT_JSON);

const describe = (text: string): string => {
  const error = findJsonError(text);
  if (!error) return NOT_JSON;
  const hint = /^[+-]?(nan|inf)/i.test(text.slice(error.column - 1))
    ? '; JSON has no NaN or infinities: use null, or omit the row'
    : '';
  return `${NOT_JSON}, column ${error.column}: ${error.problem}${hint}`;
};
