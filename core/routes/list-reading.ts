import { setMaxListeners } from 'node:events';
import type { CheckedReader } from '../data/checked-snapshot.js';
import { StorageError } from '../errors.js';

/** Minimum size of all chunks except the first. Many small writes would cost more than building the list. */
const CHUNK_BYTES = 64 * 1024;

async function* inChunks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunk: Buffer[] = [];
  let size = 0;
  let least = 0;
  for await (const piece of pieces) {
    chunk.push(piece);
    size += piece.length;
    if (size < least) continue;
    yield Buffer.concat(chunk, size);
    least = CHUNK_BYTES;
    chunk = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(chunk, size);
}

export class ListReading {
  readonly #chunks: AsyncGenerator<Buffer>;
  readonly #controller = new AbortController();
  readonly #stallMs: number;

  /** @param stallMs milliseconds without a new chunk after which reading fails with `unavailable` */
  constructor(pieces: AsyncIterable<Buffer>, reader: CheckedReader, stallMs: number) {
    const { signal } = this.#controller;
    // Each read adds a listener to the signal. Node might otherwise warn about a memory leak.
    setMaxListeners(0, signal);
    reader.readUntil(signal);
    this.#chunks = inChunks(pieces);
    this.#stallMs = stallMs;
  }

  next(): Promise<IteratorResult<Buffer>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new StorageError('unavailable', `The store has returned no rows of a list for ${this.#stallMs} ms.`));
        this.close();
      }, this.#stallMs);
      this.#chunks
        .next()
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  close(): void {
    this.#controller.abort();
    this.#chunks.return(undefined).catch(() => undefined);
  }
}
