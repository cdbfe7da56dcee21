/**
 * The format of a row while it is sorted: a header with lengths and the line number, the key, the values of fields, and
 * the JSON.
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

const writeKey = (buffer: Buffer, start: number, key: readonly Scalar[]): number => {
  let at = start;
  for (const value of key)
    at = typeof value === 'string' ? writeText(buffer, at, value) : writeNumber(buffer, at, value);
  return at;
};

const part = <T>(all: readonly T[], row: number, rows: number): readonly T[] => {
  const width = all.length / rows;
  return all.slice(row * width, (row + 1) * width);
};

/** Returns the end of the record, or undefined if the buffer might be too small. */
export const writeRecord = (buffer: Buffer, start: number, block: KeyedBlock, row: number): number | undefined => {
  const { lines, ends } = block;
  const key = part(block.keys, row, lines.length);
  const fields = part(block.values, row, lines.length);
  const values = fields.length > 0 ? JSON.stringify(fields) : '';
  const jsonStart = row === 0 ? 0 : ends[row - 1]! + 1;
  const jsonBytes = ends[row]! - jsonStart;
  let characters = values.length + key.length;
  for (const value of key) if (typeof value === 'string') characters += value.length;
  const bytes = HEADER_BYTES + key.length * NUMBER_BYTES + characters * MAX_BYTES_PER_CHARACTER + jsonBytes;
  if (start + bytes > buffer.length) return undefined;
  const valuesStart = writeKey(buffer, start + HEADER_BYTES, key);
  const valuesEnd = valuesStart + buffer.write(values, valuesStart);
  const end = valuesEnd + block.bytes.copy(buffer, valuesEnd, jsonStart, ends[row]);
  buffer.writeUInt32LE(valuesStart - start - HEADER_BYTES, start + KEY_LENGTH);
  buffer.writeUInt32LE(valuesEnd - valuesStart, start + VALUES_LENGTH);
  buffer.writeUInt32LE(end - valuesEnd, start + JSON_LENGTH);
  buffer.writeDoubleLE(lines[row]!, start + LINE);
  return end;
};

export const recordBytes = (buffer: Buffer, at: number): number =>
  HEADER_BYTES +
  buffer.readUInt32LE(at + KEY_LENGTH) +
  buffer.readUInt32LE(at + VALUES_LENGTH) +
  buffer.readUInt32LE(at + JSON_LENGTH);

export const keyEnd = (buffer: Buffer, at: number): number => at + HEADER_BYTES + buffer.readUInt32LE(at + KEY_LENGTH);

export const lineOf = (buffer: Buffer, at: number): number => buffer.readDoubleLE(at + LINE);

const jsonStart = (buffer: Buffer, at: number): number => keyEnd(buffer, at) + buffer.readUInt32LE(at + VALUES_LENGTH);

export const jsonOf = (buffer: Buffer, at: number): string =>
  buffer.toString('utf8', jsonStart(buffer, at), at + recordBytes(buffer, at));

export const copyRecord = (buffer: Buffer, at: number, out: BlockWriter): void => {
  const [values, json] = [keyEnd(buffer, at), jsonStart(buffer, at)];
  out.copy(buffer, json, at + recordBytes(buffer, at));
  if (values < json) out.values.push(...(JSON.parse(buffer.toString('utf8', values, json)) as unknown[]));
  out.endRow(lineOf(buffer, at));
};

/** Returns the number of leading bytes that two keys share. */
export const sharedKeyBytes = (a: Buffer, aAt: number, b: Buffer, bAt: number): number => {
  const length = Math.min(a.readUInt32LE(aAt + KEY_LENGTH), b.readUInt32LE(bAt + KEY_LENGTH));
  for (let i = 0; i < length; i++) if (a[aAt + HEADER_BYTES + i] !== b[bAt + HEADER_BYTES + i]) return i;
  return length;
};

/** No key is a prefix of another key, because text ends with a zero byte and numbers have a fixed length. */
export const compareKeys = (a: Buffer, aAt: number, b: Buffer, bAt: number): number => {
  const shared = sharedKeyBytes(a, aAt, b, bAt);
  return shared === a.readUInt32LE(aAt + KEY_LENGTH)
    ? 0
    : a[aAt + HEADER_BYTES + shared]! - b[bAt + HEADER_BYTES + shared]!;
};

/** Returns four bytes of the key as a number, padded with zeros. */
export const keyPrefix = (buffer: Buffer, at: number, from: number): number => {
  const start = at + HEADER_BYTES + from;
  const end = keyEnd(buffer, at);
  let prefix = 0;
  for (let i = start; i < start + 4; i++) prefix = prefix * 256 + (i < end ? buffer[i]! : 0);
  return prefix;
};
