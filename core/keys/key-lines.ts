/**
 * Reads only the changed blocks of a key file. The file must contain one key per line, which is how commands write it.
 */
import { hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { KeyRecord } from '../contracts/keys.js';
import { isKeyRecord, KEY_INDENT, KEYS_END, KEYS_START, MAX_KEY_FILE_BYTES } from './key-file.js';

const START = Buffer.from(KEYS_START);
const END = Buffer.from(KEYS_END);
const LINE_START = `\n${KEY_INDENT}`;
const NEWLINE = 0x0a;
const COMMA = 0x2c;

/** If more than 256 KiB of a key file has changed, the whole file is parsed. */
const MAX_CHANGE = 256 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** The lines of a block start with their newline character. */
interface Block {
  readonly bytes: number;
  readonly lines: number;
  readonly digest: string;
}

interface ListedKeys {
  readonly end: number;
  /** Reads bytes from the key file. The bytes are valid until the next call. */
  read(offset: number, length: number): Promise<Buffer>;
}

/** Returns undefined if the file does not have the format that commands write. */
const findKeys = async (file: FileHandle): Promise<ListedKeys | undefined> => {
  let buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  const read = async (offset: number, length: number): Promise<Buffer> => {
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    const { bytesRead } = await file.read(buffer, 0, length, offset);
    return buffer.subarray(0, bytesRead);
  };
  const { size } = await file.stat();
  const end = size - END.length;
  if (end < START.length || size > MAX_KEY_FILE_BYTES) return undefined;
  if (!(await read(0, START.length)).equals(START) || !(await read(end, END.length)).equals(END)) return undefined;
  return { end, read };
};

const digestOf = (bytes: Buffer): string => hash('sha256', bytes, 'base64');

/** Returns undefined if a line is invalid or has a different format. */
const parseLines = (bytes: Buffer, isEndOfList: boolean): KeyRecord[] | undefined => {
  const records: KeyRecord[] = [];
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, at + 1);
    const next = newline === -1 ? bytes.length : newline;
    const from = at + LINE_START.length;
    const hasComma = bytes[next - 1] === COMMA;
    const isLast = isEndOfList && next === bytes.length;
    if (bytes.toString('latin1', at, from) !== LINE_START || hasComma === isLast) return undefined;
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

interface ReadBlocks {
  readonly blocks: readonly Block[];
  readonly records: readonly KeyRecord[];
}

const readBlocks = async (
  { read, end }: ListedKeys,
  [start, stop]: readonly [number, number],
  blockBytes: number,
): Promise<ReadBlocks | undefined> => {
  const blocks: Block[] = [];
  const records: KeyRecord[] = [];
  let room = blockBytes;
  for (let at = start; at < stop; ) {
    const length = Math.min(room, stop - at);
    const bytes = await read(at, length);
    const cut = at + length === stop ? length : bytes.lastIndexOf(NEWLINE);
    if (bytes.length < length) return undefined;
    // The block does not contain a whole line, so a larger block is read.
    if (cut <= 0) {
      room *= 2;
      continue;
    }
    const block = bytes.subarray(0, cut);
    const parsed = parseLines(block, at + cut === end);
    if (!parsed) return undefined;
    blocks.push({ bytes: cut, lines: parsed.length, digest: digestOf(block) });
    for (const record of parsed) records.push(record);
    at += cut;
    room = blockBytes;
  }
  return { blocks, records };
};

const lineCount = (blocks: readonly Block[]): number => blocks.reduce((sum, { lines }) => sum + lines, 0);

interface Difference {
  readonly at: number;
  readonly removed: readonly KeyRecord[];
  readonly added: readonly KeyRecord[];
}

const trimmed = ({ at, removed, added }: Difference): Difference => {
  const areSame = (i: number): boolean => JSON.stringify(removed.at(i)) === JSON.stringify(added.at(i));
  const most = Math.min(removed.length, added.length);
  let start = 0;
  while (start < most && areSame(start)) start++;
  let end = 0;
  while (end < most - start && areSame(-1 - end)) end++;
  const part = (records: readonly KeyRecord[]) => records.slice(start, records.length - end);
  return { at: at + start, removed: part(removed), added: part(added) };
};

export interface LineChange extends Difference {
  readonly lines: KeyLines;
}

export class KeyLines {
  readonly #blocks: readonly Block[];
  readonly #blockBytes: number;

  private constructor(blocks: readonly Block[], blockBytes: number) {
    this.#blocks = blocks;
    this.#blockBytes = blockBytes;
  }

  /** Returns undefined if the file is invalid or was not written by a command. */
  static async read(
    file: FileHandle,
    blockBytes = BLOCK_BYTES,
  ): Promise<{ readonly lines: KeyLines; readonly records: readonly KeyRecord[] } | undefined> {
    const keys = await findKeys(file);
    const found = keys && (await readBlocks(keys, [START.length, keys.end], blockBytes));
    return found && { lines: new KeyLines(found.blocks, blockBytes), records: found.records };
  }

  /**
   * @param records the keys before the change
   * @returns undefined if the whole file must be read again
   */
  async changeTo(file: FileHandle, records: readonly KeyRecord[]): Promise<LineChange | undefined> {
    const keys = await findKeys(file);
    if (!keys) return undefined;
    const blocks = this.#blocks;
    // Only the last block has no comma at its end.
    const isSame = async (i: number, at: number): Promise<boolean> => {
      const { bytes, digest } = blocks[i]!;
      const isPlaced = at + bytes <= keys.end && (i === blocks.length - 1) === (at + bytes === keys.end);
      return isPlaced && digestOf(await keys.read(at, bytes)) === digest;
    };
    let [first, start] = [0, START.length];
    while (first < blocks.length && (await isSame(first, start))) start += blocks[first++]!.bytes;
    let [last, stop] = [blocks.length, keys.end];
    for (; last > first; last--) {
      const at = stop - blocks[last - 1]!.bytes;
      if (at < start || !(await isSame(last - 1, at))) break;
      stop = at;
    }
    if (stop - start > MAX_CHANGE) return undefined;
    const found = await readBlocks(keys, [start, stop], this.#blockBytes);
    if (!found) return undefined;
    const all = [...blocks.slice(0, first), ...found.blocks, ...blocks.slice(last)];
    const at = lineCount(blocks.slice(0, first));
    const removed = records.slice(at, at + lineCount(blocks.slice(first, last)));
    return { lines: new KeyLines(all, this.#blockBytes), ...trimmed({ at, removed, added: found.records }) };
  }
}
