/** Sorts rows by key in limited memory. Writes sorted runs to a temporary file, and then merges the runs. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scalar } from '../../contracts/storage.js';
import { compareScalars } from '../scalars.js';

export type WrittenRow = readonly [json: string, ...values: readonly unknown[]];

export interface KeyedRow {
  readonly key: readonly Scalar[];
  readonly line: number;
  readonly row: WrittenRow;
}

export const compareKeys = (a: readonly Scalar[], b: readonly Scalar[]): number => {
  for (let i = 0; i < a.length; i++) {
    const order = compareScalars(a[i]!, b[i]!);
    if (order !== 0) return order;
  }
  return 0;
};

const compareRows = (a: KeyedRow, b: KeyedRow): number => compareKeys(a.key, b.key) || a.line - b.line;

const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_ROWS = 32_768;
/**
 * The merge reads at most MAX_BLOCK bytes of a sorted run at a time. A 5 GB file can have 2,000 runs, so the blocks of
 * all runs together have at most MAX_BLOCKS bytes.
 */
const MAX_BLOCK = 32 * 1024;
const MAX_BLOCKS = 8 * 1024 * 1024;
const BATCH = 1000;
const NEWLINE = 0x0a;

const encode = ({ key, line, row: [json, ...values] }: KeyedRow): string =>
  `${JSON.stringify(key)}\t${line}\t${JSON.stringify(values)}\t${json}\n`;

const decode = (text: string): KeyedRow => {
  const first = text.indexOf('\t');
  const second = text.indexOf('\t', first + 1);
  const third = text.indexOf('\t', second + 1);
  return {
    key: JSON.parse(text.slice(0, first)) as Scalar[],
    line: Number(text.slice(first + 1, second)),
    row: [text.slice(third + 1), ...(JSON.parse(text.slice(second + 1, third)) as unknown[])],
  };
};

class Run {
  readonly #file: FileHandle;
  #at: number;
  readonly #end: number;
  readonly #buffer: Buffer;
  #lines: readonly string[] = [];
  #next = 0;
  row: KeyedRow | undefined;

  /** @param buffer shared by all runs, because only one of them reads at a time */
  constructor(file: FileHandle, start: number, end: number, buffer: Buffer) {
    this.#file = file;
    this.#at = start;
    this.#end = end;
    this.#buffer = buffer;
  }

  get mustRead(): boolean {
    return this.#next === this.#lines.length && this.#at < this.#end;
  }

  async read(): Promise<void> {
    for (let block = this.#buffer; ; block = Buffer.allocUnsafe(2 * block.length)) {
      const length = Math.min(block.length, this.#end - this.#at);
      const { bytesRead } = await this.#file.read(block, 0, length, this.#at);
      const buffer = block.subarray(0, bytesRead);
      const last = buffer.lastIndexOf(NEWLINE);
      if (last === -1) continue;
      this.#lines = buffer.toString('utf8', 0, last).split('\n');
      this.#next = 0;
      this.#at += last + 1;
      return;
    }
  }

  advance(): void {
    const text = this.#lines[this.#next++];
    this.row = text === undefined ? undefined : decode(text);
  }
}

const siftDown = (heap: Run[]): void => {
  for (let at = 0; ; ) {
    const left = 2 * at + 1;
    const right = left + 1;
    let least = at;
    if (left < heap.length && compareRows(heap[left]!.row!, heap[least]!.row!) < 0) least = left;
    if (right < heap.length && compareRows(heap[right]!.row!, heap[least]!.row!) < 0) least = right;
    if (least === at) return;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
};

async function* merged(runs: readonly Run[]): AsyncGenerator<readonly KeyedRow[]> {
  for (const run of runs) {
    await run.read();
    run.advance();
  }
  const heap = runs.toSorted((a, b) => compareRows(a.row!, b.row!));
  let batch: KeyedRow[] = [];
  while (heap.length > 0) {
    const [first] = heap as [Run];
    batch.push(first.row!);
    if (first.mustRead) await first.read();
    first.advance();
    if (first.row === undefined) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    siftDown(heap);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function* batchesOf(rows: readonly KeyedRow[]): Generator<readonly KeyedRow[]> {
  for (let at = 0; at < rows.length; at += BATCH) yield rows.slice(at, at + BATCH);
}

/**
 * Rows with equal keys keep the order of the file.
 * @param folder for the temporary file
 */
export async function* sortRows(
  rows: AsyncIterable<readonly KeyedRow[]>,
  folder: string,
): AsyncGenerator<readonly KeyedRow[]> {
  let held: KeyedRow[] = [];
  let characters = 0;
  let file: FileHandle | undefined;
  const ends: number[] = [];
  const spill = async (): Promise<void> => {
    file ??= await scratchFile(folder);
    held.sort(compareRows);
    let end = ends.at(-1) ?? 0;
    for (const batch of batchesOf(held)) {
      const bytes = Buffer.from(batch.map(encode).join(''));
      await file.write(bytes, 0, bytes.length, end);
      end += bytes.length;
    }
    ends.push(end);
    held = [];
    characters = 0;
  };
  try {
    for await (const batch of rows) {
      for (const row of batch) {
        held.push(row);
        characters += row.row[0].length;
      }
      if (characters > MAX_CHARACTERS || held.length > MAX_ROWS) await spill();
    }
    if (!file) {
      held.sort(compareRows);
      yield* batchesOf(held);
      return;
    }
    if (held.length > 0) await spill();
    const opened: FileHandle = file;
    const buffer = Buffer.allocUnsafe(Math.min(MAX_BLOCK, Math.ceil(MAX_BLOCKS / ends.length)));
    yield* merged(ends.map((end, i) => new Run(opened, ends[i - 1] ?? 0, end, buffer)));
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
