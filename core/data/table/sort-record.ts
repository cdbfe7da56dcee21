/**
 * The format of a row while it is sorted: a header with lengths and the line number, the key, the values of fields as a
 * JSON array, and the JSON of the row.
 */
import type { Scalar } from '../../contracts/storage.js';
import { codePointRank, sortableBytes } from '../scalars.js';
import { type BlockWriter, type KeyedBlock, MAX_BYTES_PER_CHARACTER } from './row-block.js';

const KEY_LENGTH = 0;
const VALUES_LENGTH = 4;
const JSON_LENGTH = 8;
const LINE = 12;
export const HEADER_BYTES = 20;

const NUMBER_BYTES = 8;
const COMMA = Buffer.from(',');

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

/** Returns the range of the items of a row. */
const rangeOf = (all: readonly unknown[], row: number, rows: number): [start: number, end: number] => {
  const width = all.length / rows;
  return [row * width, (row + 1) * width];
};

/** Returns the end of the record, or undefined if the buffer might be too small. */
export const writeRecord = (buffer: Buffer, start: number, block: KeyedBlock, row: number): number | undefined => {
  const { keys, lines, ends } = block;
  const [first, last] = rangeOf(keys, row, lines.length);
  const fields = block.values.slice(...rangeOf(block.values, row, lines.length));
  const values = fields.length > 0 ? JSON.stringify(fields) : '';
  const rowStart = row === 0 ? 0 : ends[row - 1]! + 1;
  const rowBytes = ends[row]! - rowStart;
  let bytes = HEADER_BYTES + values.length * MAX_BYTES_PER_CHARACTER + rowBytes;
  for (let i = first; i < last; i++) bytes += keyBytes(keys[i]!);
  if (start + bytes > buffer.length) return undefined;
  const keyStart = start + HEADER_BYTES;
  let end = keyStart;
  for (let i = first; i < last; i++) end = writeKey(buffer, end, keys[i]!);
  const valuesBytes = buffer.write(values, end);
  buffer.writeUInt32LE(end - keyStart, start + KEY_LENGTH);
  buffer.writeUInt32LE(valuesBytes, start + VALUES_LENGTH);
  buffer.writeUInt32LE(rowBytes, start + JSON_LENGTH);
  buffer.writeDoubleLE(lines[row]!, start + LINE);
  end += valuesBytes;
  return end + block.bytes.copy(buffer, end, rowStart, ends[row]);
};

export const keyEnd = (buffer: Buffer, at: number): number => at + HEADER_BYTES + buffer.readUInt32LE(at + KEY_LENGTH);

const jsonStart = (buffer: Buffer, at: number): number => keyEnd(buffer, at) + buffer.readUInt32LE(at + VALUES_LENGTH);

export const recordEnd = (buffer: Buffer, at: number): number =>
  jsonStart(buffer, at) + buffer.readUInt32LE(at + JSON_LENGTH);

export const lineOf = (buffer: Buffer, at: number): number => buffer.readDoubleLE(at + LINE);

export const jsonOf = (buffer: Buffer, at: number): string =>
  buffer.toString('utf8', jsonStart(buffer, at), recordEnd(buffer, at));

/** @param values receives the JSON of the values, with a comma after each value. */
export const copyRecord = (buffer: Buffer, at: number, out: BlockWriter, values: BlockWriter): void => {
  const [start, json] = [keyEnd(buffer, at), jsonStart(buffer, at)];
  if (start < json) {
    values.copy(buffer, start + 1, json - 1);
    values.copy(COMMA);
  }
  out.copy(buffer, json, recordEnd(buffer, at));
  out.endRow(lineOf(buffer, at));
};

/** Returns the number of leading bytes that two keys share, up to `most`. */
export const sharedKeyBytes = (buffer: Buffer, aAt: number, bAt: number, most: number): number => {
  for (let i = HEADER_BYTES; i < HEADER_BYTES + most; i++)
    if (buffer[aAt + i] !== buffer[bAt + i]) return i - HEADER_BYTES;
  return most;
};

/** No key is a prefix of another key, because text ends with a zero byte and numbers have a fixed length. */
export const compareKeys = (a: Buffer, aAt: number, b: Buffer, bAt: number): number => {
  const length = a.readUInt32LE(aAt + KEY_LENGTH);
  for (let i = HEADER_BYTES; i < HEADER_BYTES + length; i++) {
    const order = a[aAt + i]! - b[bAt + i]!;
    if (order !== 0) return order;
  }
  return 0;
};

/** Returns four bytes of the key as a number, padded with zeros. */
export const keyPrefix = (buffer: Buffer, at: number, from: number): number => {
  const start = at + HEADER_BYTES + from;
  const end = keyEnd(buffer, at);
  let prefix = 0;
  for (let i = start; i < start + 4; i++) prefix = prefix * 256 + (i < end ? buffer[i]! : 0);
  return prefix;
};
