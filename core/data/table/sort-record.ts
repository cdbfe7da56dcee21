/**
 * The format of a row while it is sorted: a header, the key, and the text of the row. The text is the line in the file,
 * or the cells as a JSON array if the line cannot be parsed on its own.
 */
import type { Scalar } from '../../contracts/storage.js';
import { codePointRank, sortableBytes } from '../scalars.js';
import type { Dialect } from './csv.js';
import { PlainLine } from './plain-line.js';
import { MAX_BYTES_PER_CHARACTER } from './row-block.js';
import type { Row } from './rows.js';

const KEY_LENGTH = 0;
const TEXT_LENGTH = 4;
const LINE = 8;
const IS_LINE = 16;
export const HEADER_BYTES = 17;

const NUMBER_BYTES = 8;

/**
 * Writes text so that the order of the bytes is the order of `compareScalars`. A zero byte ends the text, so each
 * character is stored as its rank plus 1, which is never zero. This number is encoded like a code point in UTF-8.
 */
const writeText = (buffer: Buffer, start: number, text: string): number => {
  let at = start;
  for (let i = 0; i < text.length; i++) {
    const rank = codePointRank(text.charCodeAt(i)) + 1;
    if (rank < 0x80) buffer[at++] = rank;
    else {
      if (rank < 0x800) buffer[at++] = 0xc0 | (rank >> 6);
      else {
        buffer[at++] = 0xe0 | (rank >> 12);
        buffer[at++] = 0x80 | ((rank >> 6) & 0x3f);
      }
      buffer[at++] = 0x80 | (rank & 0x3f);
    }
  }
  buffer[at++] = 0;
  return at;
};

const writeNumber = (buffer: Buffer, at: number, value: number): number => {
  const bytes = sortableBytes(value);
  for (let i = 0; i < NUMBER_BYTES; i++) buffer[at + i] = bytes[i]!;
  return at + NUMBER_BYTES;
};

const keyBytes = (value: Scalar): number =>
  typeof value === 'string' ? (value.length + 1) * MAX_BYTES_PER_CHARACTER : NUMBER_BYTES;

const writeKey = (buffer: Buffer, at: number, value: Scalar): number =>
  typeof value === 'string' ? writeText(buffer, at, value) : writeNumber(buffer, at, value);

/** Returns the end of the record, or undefined if the buffer might be too small. */
export const writeRecord = (buffer: Buffer, start: number, row: Row, key: readonly Scalar[]): number | undefined => {
  const line = row instanceof PlainLine ? row.source : undefined;
  // UTF-8 cannot represent unpaired surrogates. JSON escapes them.
  const isLine = line?.isWellFormed() === true;
  const text = isLine ? line : JSON.stringify(row.cells);
  let bytes = HEADER_BYTES + text.length * MAX_BYTES_PER_CHARACTER;
  for (const value of key) bytes += keyBytes(value);
  if (start + bytes > buffer.length) return undefined;
  const keyStart = start + HEADER_BYTES;
  let end = keyStart;
  for (const value of key) end = writeKey(buffer, end, value);
  const textBytes = buffer.write(text, end);
  buffer.writeUInt32LE(end - keyStart, start + KEY_LENGTH);
  buffer.writeUInt32LE(textBytes, start + TEXT_LENGTH);
  buffer.writeDoubleLE(row.line, start + LINE);
  buffer[start + IS_LINE] = isLine ? 1 : 0;
  return end + textBytes;
};

export const keyLength = (buffer: Buffer, at: number): number => buffer.readUInt32LE(at + KEY_LENGTH);

const keyEnd = (buffer: Buffer, at: number): number => at + HEADER_BYTES + keyLength(buffer, at);

export const recordEnd = (buffer: Buffer, at: number): number =>
  keyEnd(buffer, at) + buffer.readUInt32LE(at + TEXT_LENGTH);

export const lineOf = (buffer: Buffer, at: number): number => buffer.readDoubleLE(at + LINE);

/** @param dialect undefined if the file has no lines of text */
export const readRecord = (buffer: Buffer, at: number, dialect: Dialect | undefined): Row => {
  const line = lineOf(buffer, at);
  const text = buffer.toString('utf8', keyEnd(buffer, at), recordEnd(buffer, at));
  if (!dialect || buffer[at + IS_LINE] === 0) return { line, cells: JSON.parse(text) };
  const hasQuotes = dialect.quote !== undefined && text.includes(dialect.quote);
  return PlainLine.of(line, text, 0, text.length, dialect, hasQuotes)!;
};

/** Returns the number of leading bytes that two keys share, up to `most`. */
export const sharedKeyBytes = (buffer: Buffer, aAt: number, bAt: number, most: number): number => {
  for (let i = HEADER_BYTES; i < HEADER_BYTES + most; i++)
    if (buffer[aAt + i] !== buffer[bAt + i]) return i - HEADER_BYTES;
  return most;
};

/** No key is a prefix of another key, because text ends with a zero byte and numbers have a fixed length. */
export const compareKeys = (a: Buffer, aAt: number, b: Buffer, bAt: number): number => {
  const length = keyLength(a, aAt);
  for (let i = HEADER_BYTES; i < HEADER_BYTES + length; i++) {
    const order = a[aAt + i]! - b[bAt + i]!;
    if (order !== 0) return order;
  }
  return 0;
};

export const PREFIX_BYTES = 4;

/** Returns PREFIX_BYTES bytes of the key as a number, padded with zeros. */
export const keyPrefix = (buffer: Buffer, at: number, from: number): number => {
  const start = at + HEADER_BYTES + from;
  const end = keyEnd(buffer, at);
  let prefix = 0;
  for (let i = start; i < start + PREFIX_BYTES; i++) prefix = prefix * 256 + (i < end ? buffer[i]! : 0);
  return prefix;
};
