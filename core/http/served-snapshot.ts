/** The snapshot that requests are answered from, together with the answers kept for it. */
import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { Snapshot, StorageAdapter } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { Pace } from '../event-loop.js';
import { checkedSnapshot } from '../storage/checked-snapshot.js';
import { TimedReader, TimedReaders } from '../storage/timed-reader.js';
import { type DataRequest, representData } from './data-request.js';
import type { Representation } from './representation.js';
import { ResponseCache } from './response-cache.js';

export class ServedSnapshot {
  readonly responses: ResponseCache;
  readonly reader: SnapshotReader;
  readonly #snapshot: Snapshot;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #readers: TimedReaders;
  /** How to compute each kept shape again on the next snapshot. */
  readonly #requests = new Map<string, DataRequest>();
  #computing = 0;
  #retired = false;

  constructor(snapshot: Snapshot, options: Pick<CurrentSnapshotOptions, 'collections' | 'cacheBytes' | 'answerMs'>) {
    this.#snapshot = snapshot;
    this.#collections = options.collections;
    this.#readers = new TimedReaders(snapshot, options.collections, options.answerMs);
    this.reader = checkedSnapshot(snapshot, options.collections);
    this.responses = new ResponseCache(options.cacheBytes, (shape) => this.#requests.delete(shape));
  }

  get version(): string {
    return this.#snapshot.version;
  }

  get publishedAt(): Date {
    return this.#snapshot.publishedAt;
  }

  /** The kept answer, or else the route's own, computed once however many ask. */
  answer(request: DataRequest): Representation | Promise<Representation> {
    return this.responses.get(request.shape) ?? this.#compute(request, this.#readers.current());
  }

  /** What makes answers before anybody asks for them, at a pace and within some milliseconds for all of them. */
  warmer(pace: Pace, withinMs: number): (request: DataRequest) => Promise<unknown> {
    const reader = new TimedReader(this.#snapshot, this.#collections, withinMs, pace);
    return (request) => this.#compute(request, reader, pace);
  }

  /** The hottest requests of this snapshot. */
  hottest(count: number): DataRequest[] {
    return this.responses.hottest(count).flatMap((shape) => this.#requests.get(shape) ?? []);
  }

  /** No new computations begin; the store may drop the version once the running ones have ended. */
  retire(): void {
    this.#retired = true;
    this.#releaseWhenIdle();
  }

  #compute(request: DataRequest, timed: TimedReader, pace?: Pace): Promise<Representation> {
    return this.responses.getOrCompute(request.shape, async () => {
      if (this.#retired && this.#computing === 0) {
        throw new StorageError('unavailable', `Snapshot ${this.version} has been released`);
      }
      this.#computing++;
      try {
        const representation = await timed.read((reader) => representData(request, reader, pace));
        this.#requests.set(request.shape, request);
        return representation;
      } finally {
        this.#computing--;
        this.#releaseWhenIdle();
      }
    });
  }

  #releaseWhenIdle(): void {
    if (this.#retired && this.#computing === 0) this.#snapshot.release();
  }
}

export interface CurrentSnapshotOptions {
  readonly adapter: StorageAdapter;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly cacheBytes: number;
  /** How long the reads of one answer may take together. */
  readonly answerMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How many of the hottest answers are made for a new snapshot before it is served, and for how long at most. */
const WARMED_ANSWERS = 1000;
const WARMING_MS = 60_000;

/** Follows the adapter: swaps a new snapshot in whole, its hottest answers made beforehand. */
export class CurrentSnapshot {
  readonly #options: CurrentSnapshotOptions;
  #served: ServedSnapshot | undefined;
  #refreshing: Promise<void> | undefined;
  #again = false;

  constructor(options: CurrentSnapshotOptions) {
    this.#options = options;
  }

  /** Undefined while storage has none. A request keeps the one that it got here until it ends. */
  get(): ServedSnapshot | undefined {
    return this.#served;
  }

  /** To be called when the adapter has another snapshot. Never rejects. */
  refresh(): Promise<void> {
    if (this.#refreshing) {
      this.#again = true;
      return this.#refreshing;
    }
    this.#refreshing = this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  close(): void {
    this.#served?.retire();
    this.#served = undefined;
  }

  async #refresh(): Promise<void> {
    const { adapter, logger } = this.#options;
    do {
      this.#again = false;
      let snapshot: Snapshot;
      try {
        snapshot = adapter.snapshot();
      } catch (error) {
        logger.warn({ err: error }, 'no snapshot can be served yet');
        continue;
      }
      const previous = this.#served;
      if (previous?.version === snapshot.version && +previous.publishedAt === +snapshot.publishedAt) {
        snapshot.release();
        continue;
      }
      const next = new ServedSnapshot(snapshot, this.#options);
      if (previous) await this.#warm(next, previous);
      this.#served = next;
      previous?.retire();
      logger.info({ snapshot: next.version, publishedAt: next.publishedAt }, 'serving snapshot');
    } while (this.#again);
  }

  async #warm(next: ServedSnapshot, previous: ServedSnapshot): Promise<void> {
    const { clock, logger } = this.#options;
    const deadline = clock.monotonic() + WARMING_MS;
    const pace = new Pace();
    const warm = next.warmer(pace, WARMING_MS);
    for (const request of previous.hottest(WARMED_ANSWERS)) {
      if (clock.monotonic() >= deadline) return;
      await pace.pause();
      try {
        await warm(request);
      } catch (error) {
        // A market may have gone: its request then computes its own 404. A store that is away ends the warming.
        if (error instanceof StorageError) {
          logger.warn({ err: error }, 'warming the new snapshot was cut short');
          return;
        }
      }
    }
  }
}
