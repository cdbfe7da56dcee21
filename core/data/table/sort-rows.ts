/** Sorts rows by key in limited memory. Writes sorted runs to a temporary file, and then merges the runs. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { BlockWriter, type KeyedBlock, type RowBlock } from './row-block.js';
import {
  compareKeys,
  copyRecord,
  HEADER_BYTES,
  jsonOf,
  keyEnd,
  keyPrefix,
  lineOf,
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

/** Called for two rows with the same key. Must throw. */
export type OnRepeated = (json: string, line: number, otherLine: number) => never;

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
  add(block: KeyedBlock, row: number): boolean {
    if (this.length === MAX_ROWS) return false;
    const at = this.#end;
    let end = writeRecord(this.buffer, at, block, row);
    while (end === undefined) {
      if (this.length > 0) return false;
      this.buffer = Buffer.allocUnsafe(2 * this.buffer.length);
      end = writeRecord(this.buffer, at, block, row);
    }
    this.#shared =
      this.length === 0
        ? keyEnd(this.buffer, at) - at - HEADER_BYTES
        : sharedKeyBytes(this.buffer, this.#offsets[0]!, at, this.#shared);
    this.#offsets.push(at);
    this.#end = end;
    return true;
  }

  /** Returns the offsets of the records in key order, and removes all records. */
  takeSorted(): readonly number[] {
    const [offsets, shared, { buffer }] = [this.#offsets, this.#shared, this];
    // Sorts by the first bytes that differ. This is much faster than a sort that calls a function for each comparison.
    const prefixes = new Float64Array(offsets.length);
    for (let i = 0; i < offsets.length; i++) prefixes[i] = keyPrefix(buffer, offsets[i]!, shared) * MAX_ROWS + i;
    prefixes.sort();
    const sorted = new Array<number>(offsets.length);
    let start = 0;
    for (let i = 0; i < offsets.length; i++) {
      const prefix = Math.floor(prefixes[i]! / MAX_ROWS);
      sorted[i] = offsets[prefixes[i]! - prefix * MAX_ROWS]!;
      if (i + 1 < offsets.length && prefix === Math.floor(prefixes[i + 1]! / MAX_ROWS)) continue;
      if (i > start) sortBetween(buffer, sorted, start, i + 1);
      start = i + 1;
    }
    this.#offsets = [];
    this.#end = 0;
    return sorted;
  }
}

const sortBetween = (buffer: Buffer, offsets: number[], start: number, end: number): void => {
  const part = offsets.slice(start, end).sort((a, b) => compareKeys(buffer, a, buffer, b) || a - b);
  for (let i = 0; i < part.length; i++) offsets[start + i] = part[i]!;
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

/** Copies rows from their records. The rows must be added in key order. */
class SortedRows {
  readonly #out = new BlockWriter();
  readonly #values = new BlockWriter();
  readonly #onRepeated: OnRepeated;
  /** The header and the key of the last row. They are copied, because their block can be overwritten. */
  #last: Buffer = Buffer.alloc(0);

  constructor(onRepeated: OnRepeated) {
    this.#onRepeated = onRepeated;
  }

  get isFull(): boolean {
    return this.#out.isFull;
  }

  add(block: Buffer, at: number): void {
    if (this.#last.length > 0 && compareKeys(this.#last, 0, block, at) === 0)
      this.#onRepeated(jsonOf(block, at), lineOf(block, at), lineOf(this.#last, 0));
    const end = keyEnd(block, at);
    if (this.#last.length < end - at) this.#last = Buffer.allocUnsafe(2 * (end - at));
    block.copy(this.#last, 0, at, end);
    copyRecord(block, at, this.#out, this.#values);
  }

  take(): RowBlock {
    const { bytes, end } = this.#values;
    // The values of all rows are parsed together, because parsing each row would take twice as long.
    const values: readonly unknown[] = JSON.parse(`[${bytes.toString('utf8', 0, Math.max(0, end - 1))}]`);
    this.#values.end = 0;
    return { ...this.#out.take(), values };
  }
}

async function* merged(runs: readonly Run[], sorted: SortedRows): AsyncGenerator<RowBlock> {
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
 * @param folder for the temporary file
 * @param onRepeated called for the first two rows in key order that have the same key
 */
export async function* sortRows(
  blocks: AsyncIterable<KeyedBlock>,
  folder: string,
  onRepeated: OnRepeated,
): AsyncGenerator<RowBlock> {
  const held = new HeldRows();
  let file: RunFile | undefined;
  const spill = async (): Promise<void> => {
    file ??= new RunFile(await scratchFile(folder));
    await file.append(held.buffer, held.takeSorted());
  };
  try {
    for await (const block of blocks) {
      for (let row = 0; row < block.lines.length; row++) {
        if (held.add(block, row)) continue;
        await spill();
        held.add(block, row);
      }
    }
    const sorted = new SortedRows(onRepeated);
    if (file) {
      await spill();
      yield* merged(file.runs(held.buffer), sorted);
    } else {
      for (const at of held.takeSorted()) {
        sorted.add(held.buffer, at);
        if (sorted.isFull) yield sorted.take();
      }
    }
    const rest = sorted.take();
    if (rest.ends.length > 0) yield rest;
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
