/** All reads of one answer within one span of time, however many they are and in however many batches they come. */
import { setMaxListeners } from 'node:events';
import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Snapshot } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import type { Pauses } from '../event-loop.js';
import { checkedSnapshot } from './checked-snapshot.js';

/**
 * Reads a snapshot for some milliseconds from when it is made.
 *
 * An adapter bounds each of its waits, and a store that is away is found out by the first. Of one that is only slow
 * the waits add up: what is not read by then rejects with `unavailable`, too.
 */
export class TimedReader {
  readonly #ms: number;
  readonly #signal: AbortSignal;
  readonly #reader: SnapshotReader;

  /** @param pauses as in `checkedSnapshot` */
  constructor(snapshot: Snapshot, collections: ReadonlyMap<string, Collection>, ms: number, pauses?: Pauses) {
    this.#ms = ms;
    this.#signal = AbortSignal.timeout(ms);
    // However many read at once, none of them is forgotten there.
    setMaxListeners(0, this.#signal);
    this.#reader = checkedSnapshot(snapshot, collections, this.#signal, pauses);
  }

  /** Resolves with what `work` makes of the reader. */
  async read<Result>(work: (reader: SnapshotReader) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#reader);
    } catch (error) {
      if (!(this.#signal.aborted && error instanceof StorageError && error.code === 'aborted')) throw error;
      throw new StorageError('unavailable', `What one answer needs was not read within ${this.#ms} ms.`, {
        cause: error,
      });
    }
  }
}

/** Answers that begin within this share of their time have a reader in common. */
const SHARED = 1 / 8;

/** Readers of one snapshot for answers, which are to have `ms` at most: to make one for each would cost it as much as its read. */
export class TimedReaders {
  readonly #make: () => TimedReader;
  readonly #ms: number;
  #current: TimedReader | undefined;
  #since = 0;

  constructor(snapshot: Snapshot, collections: ReadonlyMap<string, Collection>, ms: number) {
    this.#make = () => new TimedReader(snapshot, collections, ms);
    this.#ms = ms;
  }

  /** One that has most of its time left. */
  current(): TimedReader {
    const now = performance.now();
    if (!this.#current || now - this.#since > SHARED * this.#ms) {
      this.#current = this.#make();
      this.#since = now;
    }
    return this.#current;
  }
}
