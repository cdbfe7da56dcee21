import type { Collection } from '../contracts/dataset.js';
import type { SnapshotReader } from '../contracts/plugin.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { Snapshot, StorageAdapter } from '../contracts/storage.js';
import { checkedSnapshot, sharedReader, type TimedRead, timedReader } from '../data/checked-snapshot.js';
import { ApiError, readTimeout, StorageError } from '../errors.js';
import { Representation } from '../response/representation.js';
import { BackgroundPacing, type Pauses } from '../util/event-loop.js';
import { buildOrStart, buildUnlessStreamed } from './build-response.js';
import { callHandler, type HandlerResult, normalizedIn } from './call-handler.js';
import { type DataRequest, ResponseCache } from './response-cache.js';
import { type ListOptions, StreamedListResponse } from './streamed-list.js';
import type { FoundResponse } from './vintages.js';

class ServedSnapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly responses: ResponseCache;
  readonly reader: SnapshotReader;
  readonly #snapshot: Snapshot;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #timedRead: (pauses: Pauses) => TimedRead;
  readonly #lists: ListOptions;
  #holds = 0;
  #retired = false;

  constructor(snapshot: Snapshot, options: Pick<CurrentSnapshotOptions, 'collections' | 'cacheBytes' | 'answerMs'>) {
    this.version = snapshot.version;
    this.publishedAt = snapshot.publishedAt;
    this.#snapshot = snapshot;
    this.#collections = options.collections;
    this.#timedRead = sharedReader(snapshot, options.collections, options.answerMs);
    this.reader = checkedSnapshot(snapshot, options.collections);
    this.responses = new ResponseCache(options.cacheBytes);
    this.#lists = { collections: options.collections, stallMs: options.answerMs, responses: this.responses };
  }

  /** Computes a response once for all concurrent requests. */
  async respond(request: DataRequest, pauses: Pauses): Promise<FoundResponse> {
    this.#hold();
    try {
      const read = this.#timedRead(pauses);
      const normalized = await normalizedIn(request, read);
      const build = () => read((reader) => buildUnlessStreamed(normalized, reader, pauses));
      const cached = this.responses.get(normalized.cacheKey);
      const built = cached ?? (await this.responses.getOrCompute(normalized, build));
      const representation = built instanceof Representation ? built : this.#list(normalized, built);
      return { representation, isCached: cached !== undefined, snapshotVersion: this.version };
    } finally {
      this.#letGo();
    }
  }

  warmer(pacing: BackgroundPacing, withinMs: number): (request: DataRequest) => Promise<unknown> {
    const read = timedReader(this.#snapshot, this.#collections, withinMs, pacing);
    const limits = {
      mostBytes: this.responses.mostBytes,
      mostStoredBytes: Number.POSITIVE_INFINITY,
      stallMs: this.#lists.stallMs,
    };
    return async (request) => {
      const build = () =>
        read(async (reader) => buildOrStart(request, reader, await callHandler(request, reader), pacing, limits));
      const built = await this.responses.getOrCompute(request, build);
      if (built && !(built instanceof Representation)) built.reading.close();
    };
  }

  retire(): void {
    this.#retired = true;
    this.#releaseWhenIdle();
  }

  #list(request: DataRequest, result: HandlerResult | undefined): StreamedListResponse {
    this.#hold();
    const source = { request, result, snapshot: this.#snapshot, release: () => this.#letGo() };
    return new StreamedListResponse(source, this.#lists);
  }

  /** Keeps the snapshot from being released until `#letGo` is called. */
  #hold(): void {
    if (this.#retired && this.#holds === 0) {
      throw new StorageError('unavailable', `Snapshot ${this.version} has been released`);
    }
    this.#holds++;
  }

  #letGo(): void {
    this.#holds--;
    this.#releaseWhenIdle();
  }

  #releaseWhenIdle(): void {
    if (this.#retired && this.#holds === 0) this.#snapshot.release();
  }
}

interface CurrentSnapshotOptions {
  readonly adapter: StorageAdapter;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly cacheBytes: number;
  readonly answerMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Maximum number of responses that are computed before a new snapshot is served. The time limit is `WARMING_MS`. */
const WARMED_ANSWERS = 1000;
const WARMING_MS = 60_000;

/** Serves the adapter's current snapshot. Computes the most used responses of a new snapshot before switching to it. */
export class CurrentSnapshot {
  readonly #options: CurrentSnapshotOptions;
  /** The snapshot in use. Undefined while the store has no snapshot. Each request uses a single snapshot. */
  served: ServedSnapshot | undefined;
  #refreshing: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(options: CurrentSnapshotOptions) {
    this.#options = options;
  }

  /** Never rejects. A call during a refresh starts another refresh after the current one. */
  refresh(): Promise<void> {
    this.#again = true;
    this.#refreshing ??= this.#refreshUntilCurrent();
    return this.#refreshing;
  }

  close(): void {
    this.#closed = true;
    this.served?.retire();
    this.served = undefined;
  }

  async #refreshUntilCurrent(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        await this.#refresh();
      } catch (error) {
        this.#options.logger.error({ err: error }, 'the current snapshot could not be refreshed');
      }
    }
    this.#refreshing = undefined;
  }

  async #refresh(): Promise<void> {
    const { adapter, logger } = this.#options;
    let snapshot: Snapshot;
    try {
      snapshot = adapter.snapshot();
    } catch (error) {
      // The adapter has already logged why the snapshot is unavailable.
      const isExpected = error instanceof StorageError && error.code === 'unavailable';
      logger.warn(isExpected ? { reason: error.message } : { err: error }, 'there is no snapshot to serve yet');
      return;
    }
    const previous = this.served;
    if (previous?.version === snapshot.version && +previous.publishedAt === +snapshot.publishedAt) {
      snapshot.release();
      return;
    }
    const next = new ServedSnapshot(snapshot, this.#options);
    if (previous) await this.#warm(next, previous);
    if (this.#closed) {
      next.retire();
      return;
    }
    this.served = next;
    logger.info({ snapshot: next.version, publishedAt: next.publishedAt }, 'serving snapshot');
    previous?.retire();
  }

  async #warm(next: ServedSnapshot, previous: ServedSnapshot): Promise<void> {
    const { clock, logger } = this.#options;
    const deadline = clock.monotonic() + WARMING_MS;
    const pacing = new BackgroundPacing();
    const warm = next.warmer(pacing, WARMING_MS);
    for (const request of previous.responses.hottest(WARMED_ANSWERS)) {
      if (clock.monotonic() >= deadline) return;
      await pacing.pause();
      try {
        await warm(request);
      } catch (error) {
        // If the store is unavailable, the new snapshot is served without computing further responses.
        if (error instanceof StorageError || (error instanceof ApiError && error.kind === readTimeout)) {
          logger.warn({ err: error }, 'warming the new snapshot was interrupted');
          return;
        }
        // The new snapshot might not contain a requested document. The request will then get a 404.
        if (!(error instanceof ApiError))
          logger.warn({ err: error }, 'a response could not be built for the new snapshot');
      }
    }
  }
}
