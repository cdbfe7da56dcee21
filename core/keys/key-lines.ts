/** Reads only the changed lines of a key file. Requires one key per line, which is how commands write the file. */
import type { KeyRecord } from '../contracts/keys.js';
import { isKeyRecord, KEY_INDENT, KEYS_END, KEYS_START } from './key-file.js';

const START = Buffer.from(KEYS_START);
const END = Buffer.from(KEYS_END);
const NEWLINE = 0x0a;
const COMMA = 0x2c;

/** Maximum size of a change in bytes. After a larger change, the whole key file is parsed. */
const MAX_CHANGE = 256 * 1024;
const BLOCK = 64 * 1024;

/** Returns undefined if a line is invalid or has a different format. */
const readLines = (bytes: Buffer, start: number, end: number): KeyRecord[] | undefined => {
  const records: KeyRecord[] = [];
  const last = bytes.length - END.length;
  for (let at = start; at < end; ) {
    const next = bytes.indexOf(NEWLINE, at + 1);
    const from = at + 1 + KEY_INDENT.length;
    const hasComma = bytes[next - 1] === COMMA;
    const isLast = next === last;
    if (bytes.toString('latin1', at + 1, from) !== KEY_INDENT || hasComma === isLast) return undefined;
    try {
      const record: unknown = JSON.parse(bytes.toString('utf8', from, hasComma ? next - 1 : next));
      if (!isKeyRecord(record)) return undefined;
      records.push(record);
    } catch {
      return undefined;
    }
    at = next;
  }
  return records;
};

const sharedStart = (a: Buffer, b: Buffer): number => {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a.compare(b, at, Math.min(at + BLOCK, most), at, Math.min(at + BLOCK, most)) === 0) at += BLOCK;
  at = Math.min(at, most);
  while (at < most && a[at] === b[at]) at++;
  return at;
};

const sharedEnd = (a: Buffer, b: Buffer, most: number): number => {
  let size = 0;
  for (; size + BLOCK <= most; size += BLOCK) {
    const [endA, endB] = [a.length - size, b.length - size];
    if (a.compare(b, endB - BLOCK, endB, endA - BLOCK, endA) !== 0) break;
  }
  while (size < most && a[a.length - 1 - size] === b[b.length - 1 - size]) size++;
  return size;
};

export interface LineChange {
  readonly lines: KeyLines;
  readonly at: number;
  readonly removed: readonly KeyRecord[];
  readonly added: readonly KeyRecord[];
}

export class KeyLines {
  readonly #bytes: Buffer;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Returns undefined if the file is invalid or was not written by a command. */
  static read(bytes: Buffer): { readonly lines: KeyLines; readonly records: readonly KeyRecord[] } | undefined {
    const end = bytes.length - END.length;
    if (end < START.length || !bytes.subarray(0, START.length).equals(START) || !bytes.subarray(end).equals(END)) {
      return undefined;
    }
    const records = readLines(bytes, START.length, end);
    return records && { lines: new KeyLines(bytes), records };
  }

  /** Returns undefined if the whole file must be read again. */
  changeTo(bytes: Buffer): LineChange | undefined {
    const old = this.#bytes;
    const same = sharedStart(old, bytes);
    const start = same === 0 ? -1 : old.lastIndexOf(NEWLINE, same - 1);
    const most = Math.min(old.length, bytes.length) - start;
    if (start < START.length) return undefined;
    const end = old.indexOf(NEWLINE, old.length - sharedEnd(old, bytes, most));
    const newEnd = end + bytes.length - old.length;
    if (end === -1 || end > old.length - END.length) return undefined;
    // The line before the change must end with a comma, unless it has become the last line.
    const isNowLast = start === bytes.length - END.length;
    if (start > START.length && (bytes[start - 1] === COMMA) === isNowLast) return undefined;
    if (Math.max(end, newEnd) - start > MAX_CHANGE) return undefined;
    const removed = readLines(old, start, end);
    const added = readLines(bytes, start, newEnd);
    if (!removed || !added) return undefined;
    let at = 0;
    for (let line = old.indexOf(NEWLINE, START.length); line < start; line = old.indexOf(NEWLINE, line + 1)) at++;
    return { lines: new KeyLines(bytes), at, removed, added };
  }
}
