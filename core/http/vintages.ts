/** Answers as of an earlier time: from the snapshot that was current then, where the store keeps it. */
import type { Collection } from '../contracts/dataset.js';
import type { Snapshot, StorageAdapter } from '../contracts/storage.js';
import { ApiError, errors } from '../errors.js';
import { TimedReader } from '../storage/timed-reader.js';
import { type DataRequest, representData } from './data-request.js';
import { AS_OF } from './framework-parameters.js';
import type { Representation } from './representation.js';
import { ResponseCache } from './response-cache.js';

export interface VintagesOptions {
  readonly adapter: StorageAdapter;
  readonly collections: ReadonlyMap<string, Collection>;
  /** The budget of the answers kept from the current snapshot; those as of earlier times get a part as large again. */
  readonly cacheBytes: number;
  /** How long the reads of one answer may take together. */
  readonly answerMs: number;
}

/** Earlier times are asked for seldom beside the present. */
const SHARE_OF_CACHE = 1 / 8;

export class Vintages {
  readonly #adapter: StorageAdapter;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #answerMs: number;
  readonly #responses: ResponseCache;

  constructor({ adapter, collections, cacheBytes, answerMs }: VintagesOptions) {
    this.#adapter = adapter;
    this.#collections = collections;
    this.#answerMs = answerMs;
    this.#responses = new ResponseCache(cacheBytes * SHARE_OF_CACHE);
  }

  /**
   * The store is asked each time, so that what it publishes or prunes counts at once; bodies are kept, and computed
   * once however many ask.
   * @param date a calendar date in UTC: what was current when it ended counts
   * @throws ApiError `snapshot_not_found`, also where the store keeps no earlier snapshots at all
   */
  async answer(
    date: string,
    request: DataRequest,
  ): Promise<{ readonly representation: Representation | Promise<Representation>; readonly snapshotVersion: string }> {
    const snapshot = await this.#snapshotOf(date);
    const { version, publishedAt } = snapshot;
    // One version may have been current twice, with another time of publication each.
    const shape = `${version} ${publishedAt.getTime()} ${request.shape}`;
    const kept = this.#responses.get(shape);
    if (kept) snapshot.release();
    return {
      snapshotVersion: version,
      representation:
        kept ??
        this.#responses
          .getOrCompute(shape, () =>
            new TimedReader(snapshot, this.#collections, this.#answerMs).read((reader) =>
              representData(request, reader),
            ),
          )
          .finally(() => snapshot.release()),
    };
  }

  async #snapshotOf(date: string): Promise<Snapshot> {
    const { versions } = this.#adapter;
    if (!versions) throw notFound(date, 'this store keeps no earlier versions');
    const snapshot = await versions.asOf(endOf(date));
    if (!snapshot) throw notFound(date, 'nothing had been published by then, or it has been removed since');
    return snapshot;
  }
}

/** The last millisecond of the day, in UTC. */
const endOf = (date: string): Date => new Date(Date.parse(date) + 24 * 3600 * 1000 - 1);

const notFound = (date: string, reason: string): ApiError =>
  new ApiError(
    errors.snapshot_not_found,
    `There is no snapshot as of ${date}: ${reason}. Leave "${AS_OF}" out for the current one.`,
  );
