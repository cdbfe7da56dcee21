import { getHeapStatistics } from 'node:v8';
import type { BufferPool } from './buffer-pool.js';

const LEAST_BYTES = 16 * 1024;
/** The size of a buffer, unless a larger size is expected. */
const USUAL_BYTES = 16 * 1024 * 1024;
/**
 * If new buffers need half of V8's heap limit before a full garbage collection has ended, V8 stops the event loop until
 * it ends.
 */
const MOST_BYTES = Math.min(1024 * 1024 * 1024, Math.floor(getHeapStatistics().heap_size_limit / 8));
/** Typed arrays must start at a multiple of the size of their elements. */
const ALIGNMENT = 8;

/**
 * Divides large buffers into arrays. V8 counts the bytes of new buffers, and starts a full garbage collection after
 * 64 MB. Each buffer that is allocated during this collection delays requests further. A single large buffer causes
 * only one collection. Without a pool, a buffer is freed when none of its arrays is in use. With a pool, its memory is
 * used again after the arena has been garbage collected, so the users of the arrays must refer to the arena.
 */
export class Arena {
  readonly #expected: number;
  readonly #pool: BufferPool | undefined;
  #buffer = new ArrayBuffer(0);
  #used = 0;
  #total = 0;

  /**
   * @param expected the number of bytes that will probably be needed
   * @param pool provides the buffers of at least the usual size
   */
  constructor(expected = 0, pool?: BufferPool) {
    this.#expected = Math.ceil(expected);
    this.#pool = pool;
  }

  /** The bytes are not set to zero. */
  bytes(length: number): Buffer<ArrayBuffer> {
    const start = this.#take(length);
    return Buffer.from(this.#buffer, start, length);
  }

  /** The numbers are not set to zero. */
  integers(length: number): Uint32Array<ArrayBuffer> {
    const start = this.#take(length * Uint32Array.BYTES_PER_ELEMENT);
    return new Uint32Array(this.#buffer, start, length);
  }

  /** The numbers are not set to zero. */
  doubles(length: number): Float64Array<ArrayBuffer> {
    const start = this.#take(length * Float64Array.BYTES_PER_ELEMENT);
    return new Float64Array(this.#buffer, start, length);
  }

  #take(bytes: number): number {
    if (this.#used + bytes > this.#buffer.byteLength) this.#allocate(bytes);
    const start = this.#used;
    this.#used = Math.ceil((start + bytes) / ALIGNMENT) * ALIGNMENT;
    return start;
  }

  #allocate(bytes: number): void {
    const missing = this.#expected - this.#total;
    const usual = Math.min(USUAL_BYTES, Math.max(LEAST_BYTES, this.#total));
    const size = Math.max(bytes, Math.min(MOST_BYTES, Math.max(usual, missing)));
    // Memory that is never written stays virtual, because `allocUnsafeSlow` does not set it to zero.
    this.#buffer =
      this.#pool && missing >= USUAL_BYTES ? this.#pool.take(size, this) : Buffer.allocUnsafeSlow(size).buffer;
    this.#used = 0;
    this.#total += this.#buffer.byteLength;
  }
}
