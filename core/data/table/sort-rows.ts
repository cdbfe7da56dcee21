/** Sorts rows by key in limited memory. Writes sorted runs to a temporary file, and then merges the runs. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scalar } from '../../contracts/storage.js';
import type { Dialect } from './csv.js';
import type { Row } from './rows.js';
import {
  compareKeys,
  HEADER_BYTES,
  keyLength,
  keyPrefix,
  lineOf,
  PREFIX_BYTES,
  readRecord,
  recordEnd,
  sharedKeyBytes,
  writeRecord,
} from './sort-record.js';

/** Size of a sorted run. Larger runs need more memory, and smaller runs need more comparisons in the merge. */
const RUN_BYTES = 32 * 1024 * 1024;
/** A double has 53 bits: 32 for four bytes of a key, and 21 for the position of a row in its run. */
const MAX_ROWS = 2 ** 21;
/** The merge reads at most this number of bytes of a run at a time. */
const MAX_BLOCK = 256 * 1024;
const WRITE_BYTES = 1024 * 1024;

/** The sorted rows are returned in batches of this size. */
const BATCH_ROWS = 1000;
const BATCH_BYTES = 256 * 1024;

export interface KeyedRows {
  readonly rows: readonly Row[];
  /** The values of the key columns, row after row. */
  readonly keys: readonly Scalar[];
}

/** The rows that are held in memory, as records in one buffer. Objects would cost more memory and garbage collection. */
class HeldRows {
  buffer = Buffer.allocUnsafe(RUN_BYTES);
  #end = 0;
  #offsets: number[] = [];
  /** The number of bytes at the start of the keys that are equal in all rows. */
  #shared = 0;

  get length(): number {
    return this.#offsets.length;
  }

  /** Returns false if there is no room for the row. Call `takeSorted` in this case. */
  add(row: Row, key: readonly Scalar[]): boolean {
    if (this.length === MAX_ROWS) return false;
    const at = this.#end;
    let end = writeRecord(this.buffer, at, row, key);
    while (end === undefined) {
      if (this.length > 0) return false;
      this.buffer = Buffer.allocUnsafe(2 * this.buffer.length);
      end = writeRecord(this.buffer, at, row, key);
    }
    this.#shared =
      this.length === 0 ? keyLength(this.buffer, at) : sharedKeyBytes(this.buffer, this.#offsets[0]!, at, this.#shared);
    this.#offsets.push(at);
    this.#end = end;
    return true;
  }

  /** Returns the offsets of the records in key order, and removes all records. */
  takeSorted(): readonly number[] {
    const offsets = this.#offsets;
    sortByKey(this.buffer, offsets, this.#shared);
    this.#offsets = [];
    this.#end = 0;
    return offsets;
  }
}

/**
 * Sorts records by key. Compares four bytes of all keys, and then the next four bytes of keys that are still equal. This
 * is much faster than a sort that calls a function for each comparison.
 * @param shared the number of bytes at the start of the keys that are equal in all records
 */
const sortByKey = (buffer: Buffer, offsets: number[], shared: number): void => {
  const unsorted = [{ start: 0, end: offsets.length, from: shared }];
  for (let part = unsorted.pop(); part; part = unsorted.pop()) {
    const { start, end, from } = part;
    const before = offsets.slice(start, end);
    const prefixes = new Float64Array(before.length);
    for (let i = 0; i < before.length; i++) prefixes[i] = keyPrefix(buffer, before[i]!, from) * MAX_ROWS + i;
    prefixes.sort();
    let first = start;
    for (let i = 0; i < before.length; i++) {
      const prefix = Math.floor(prefixes[i]! / MAX_ROWS);
      offsets[start + i] = before[prefixes[i]! - prefix * MAX_ROWS]!;
      const next = start + i + 1;
      if (next < end && prefix === Math.floor(prefixes[i + 1]! / MAX_ROWS)) continue;
      const compared = from + PREFIX_BYTES;
      if (next - first > 1 && compared < keyLength(buffer, offsets[first]!))
        unsorted.push({ start: first, end: next, from: compared });
      first = next;
    }
  }
};

/** The sorted runs, one after the other in a file. */
class RunFile {
  readonly #file: FileHandle;
  readonly #ends: number[] = [];

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async append(buffer: Buffer, offsets: readonly number[]): Promise<void> {
    let end = this.#ends.at(-1) ?? 0;
    const write = async (bytes: Buffer): Promise<void> => {
      await this.#file.appendFile(bytes);
      end += bytes.length;
    };
    const block = Buffer.allocUnsafe(WRITE_BYTES);
    let filled = 0;
    for (const at of offsets) {
      const length = recordEnd(buffer, at) - at;
      if (filled + length > block.length) {
        await write(block.subarray(0, filled));
        filled = 0;
      }
      if (length > block.length) await write(buffer.subarray(at, at + length));
      else filled += buffer.copy(block, filled, at, at + length);
    }
    await write(block.subarray(0, filled));
    this.#ends.push(end);
  }

  /** @param memory shared by the blocks of all runs */
  runs(memory: Buffer): readonly Run[] {
    const size = Math.min(MAX_BLOCK, Math.floor(memory.length / this.#ends.length));
    return this.#ends.map((end, i) => {
      const block = memory.subarray(i * size, (i + 1) * size);
      return new Run(this.#file, this.#ends[i - 1] ?? 0, end, block);
    });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Reads a run. The current record is at the offset `at` in `block`. */
class Run {
  readonly #file: FileHandle;
  #next: number;
  readonly #end: number;
  block: Buffer;
  #filled = 0;
  at = 0;

  constructor(file: FileHandle, start: number, end: number, block: Buffer) {
    this.#file = file;
    this.#next = start;
    this.#end = end;
    this.block = block;
  }

  get hasRecord(): boolean {
    return this.#filled - this.at >= HEADER_BYTES && recordEnd(this.block, this.at) <= this.#filled;
  }

  /** Reads the next block. Resolves with false at the end of the run. */
  async read(): Promise<boolean> {
    while (!this.hasRecord) {
      const held = this.#filled - this.at;
      if (held === 0 && this.#next === this.#end) return false;
      const needed = held >= HEADER_BYTES ? recordEnd(this.block, this.at) - this.at : HEADER_BYTES;
      const target = needed > this.block.length ? Buffer.allocUnsafe(needed) : this.block;
      this.block.copy(target, 0, this.at, this.#filled);
      const length = Math.min(target.length - held, this.#end - this.#next);
      const { bytesRead } = await this.#file.read(target, held, length, this.#next);
      if (bytesRead === 0) throw new Error('the temporary file is shorter than expected');
      this.block = target;
      this.#next += bytesRead;
      this.#filled = held + bytesRead;
      this.at = 0;
    }
    return true;
  }

  advance(): void {
    this.at = recordEnd(this.block, this.at);
  }
}

const siftDown = (heap: Run[]): void => {
  for (let at = 0; ; ) {
    const left = 2 * at + 1;
    const right = left + 1;
    let least = at;
    if (left < heap.length && compareRuns(heap[left]!, heap[least]!) < 0) least = left;
    if (right < heap.length && compareRuns(heap[right]!, heap[least]!) < 0) least = right;
    if (least === at) return;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
};

const compareRuns = (a: Run, b: Run): number =>
  compareKeys(a.block, a.at, b.block, b.at) || lineOf(a.block, a.at) - lineOf(b.block, b.at);

/** Reads rows from their records. */
class SortedRows {
  readonly #dialect: Dialect | undefined;
  #rows: Row[] = [];
  #bytes = 0;

  constructor(dialect: Dialect | undefined) {
    this.#dialect = dialect;
  }

  get isFull(): boolean {
    return this.#rows.length >= BATCH_ROWS || this.#bytes >= BATCH_BYTES;
  }

  add(block: Buffer, at: number): void {
    this.#rows.push(readRecord(block, at, this.#dialect));
    this.#bytes += recordEnd(block, at) - at;
  }

  take(): readonly Row[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    return rows;
  }
}

async function* merged(runs: readonly Run[], sorted: SortedRows): AsyncGenerator<readonly Row[]> {
  for (const run of runs) await run.read();
  const heap = runs.toSorted(compareRuns);
  while (heap.length > 0) {
    const [first] = heap as [Run];
    sorted.add(first.block, first.at);
    first.advance();
    if (!first.hasRecord && !(await first.read())) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    siftDown(heap);
    if (sorted.isFull) yield sorted.take();
  }
}

/**
 * Sorts rows by key. Rows with the same key keep their order.
 * @param folder for the temporary file
 * @param dialect of the lines, if the file has lines of text
 */
export async function* sortRows(
  batches: AsyncIterable<KeyedRows>,
  folder: string,
  dialect: Dialect | undefined,
): AsyncGenerator<readonly Row[]> {
  const held = new HeldRows();
  let file: RunFile | undefined;
  const spill = async (): Promise<void> => {
    file ??= new RunFile(await scratchFile(folder));
    await file.append(held.buffer, held.takeSorted());
  };
  try {
    for await (const { rows, keys } of batches) {
      const width = keys.length / rows.length;
      for (const [i, row] of rows.entries()) {
        const key = keys.slice(i * width, (i + 1) * width);
        if (held.add(row, key)) continue;
        await spill();
        held.add(row, key);
      }
    }
    const sorted = new SortedRows(dialect);
    if (file) {
      await spill();
      yield* merged(file.runs(held.buffer), sorted);
    } else {
      for (const at of held.takeSorted()) {
        sorted.add(held.buffer, at);
        if (sorted.isFull) yield sorted.take();
      }
    }
    yield sorted.take();
  } finally {
    await file?.close();
  }
}

/** The file is unlinked immediately, so that the operating system removes it even if the process is killed. */
const scratchFile = async (folder: string): Promise<FileHandle> => {
  const path = join(folder, `.${randomUUID()}.tmp`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
};
