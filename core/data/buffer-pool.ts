import { constants } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { onGarbageCollection } from '../util/garbage-collection.js';

const MIB = 2 ** 20;
/** V8 starts a full garbage collection after 64 MB of new buffers. */
const BYTES_TO_COLLECT = 65 * MIB;
/** If new buffers need half of the heap limit, V8 stops the event loop until the collection ends. */
const HEAP_TO_COLLECT = 2 * BYTES_TO_COLLECT;
/** How long a full garbage collection may take, in milliseconds. Afterwards, new memory is used. */
const COLLECT_MS = 1000;
/** V8 reports collected objects shortly after a collection. */
const REPORT_MS = 20;
/** Each buffer is larger than requested by this fraction, so that it still suffices if the data grows. */
const ROOM = 1 / 8;

/**
 * Lends large buffers, and lends them again when they are no longer used. If V8 freed the memory of a large dataset
 * instead, the event loop would have to wait for 10 to 40 ms, because the operating system locks the memory map of the
 * process.
 */
export class BufferPool {
  #unused: ArrayBuffer[] = [];
  /** The buffers that the last load could use. */
  #offered: ReadonlySet<ArrayBuffer> = new Set();
  #lent = 0;
  #keeps = false;
  readonly #returned = new FinalizationRegistry<ArrayBuffer>((buffer) => {
    this.#lent--;
    if (this.#keeps) this.#unused.push(buffer);
  });

  /**
   * Returns a buffer of at least this size. Its bytes are not set to zero. If no unused buffer has a suitable size, all
   * unused buffers are freed, because the data has grown or shrunk.
   * @param user The buffer is lent again after this object has been garbage collected. No other object may use it then.
   */
  take(bytes: number, user: object): ArrayBuffer {
    const [fitting] = this.#unused
      .filter(({ byteLength }) => byteLength >= bytes && byteLength <= 2 * bytes)
      .sort((a, b) => a.byteLength - b.byteLength);
    this.#unused = fitting ? this.#unused.filter((buffer) => buffer !== fitting) : [];
    const buffer = fitting ?? Buffer.allocUnsafeSlow(Math.ceil(bytes * (1 + ROOM))).buffer;
    this.#lent++;
    this.#returned.register(user, buffer);
    return buffer;
  }

  /**
   * Must be called before each load except the first. Starts a garbage collection, and waits for the buffers that it
   * finds unused. Buffers that the last load did not need are freed, as are all that were unused before the first call.
   */
  async reclaim(signal?: AbortSignal): Promise<void> {
    this.#keeps = true;
    this.#unused = this.#unused.filter((buffer) => !this.#offered.has(buffer));
    if (this.#lent > 0 && getHeapStatistics().heap_size_limit > HEAP_TO_COLLECT) {
      await collected(signal);
      await delay(REPORT_MS, undefined, { signal });
    }
    this.#offered = new Set(this.#unused);
  }
}

/** Starts a full garbage collection, and waits until it has ended. */
const collected = async (signal: AbortSignal | undefined): Promise<void> => {
  const began = performance.now();
  const end = new AbortController();
  const stop = onGarbageCollection(({ detail, startTime }) => {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR && startTime >= began) end.abort();
  });
  try {
    Buffer.allocUnsafeSlow(BYTES_TO_COLLECT);
    const either = signal ? AbortSignal.any([signal, end.signal]) : end.signal;
    await delay(COLLECT_MS, undefined, { signal: either }).catch(() => signal?.throwIfAborted());
  } finally {
    stop();
  }
};
