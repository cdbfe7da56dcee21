/** Responds to requests with `as_of` from the snapshot that was current on the requested day. */
import type { Collection } from '../contracts/dataset.js';
import type { Snapshot, StorageAdapter } from '../contracts/storage.js';
import { timedReader } from '../data/checked-snapshot.js';
import { ApiError, errors } from '../errors.js';
import { AS_OF } from '../registry/route-defaults.js';
import { Representation } from '../response/representation.js';
import type { Pauses } from '../util/event-loop.js';
import { buildUnlessStreamed } from './build-response.js';
import { normalizedIn } from './call-handler.js';
import { type DataRequest, ResponseCache } from './response-cache.js';
import { StreamedListResponse } from './streamed-list.js';

interface VintagesOptions {
  readonly adapter: StorageAdapter;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly cacheBytes: number;
  readonly answerMs: number;
}

const SHARE_OF_CACHE = 1 / 8;

export interface Vintages {
  /**
   * Asks the store each time, so that publishing and pruning take effect immediately.
   * @param date a UTC day
   */
  respond(date: string, request: DataRequest, pauses: Pauses): Promise<FoundResponse>;
}

export interface FoundResponse {
  readonly representation: Representation | StreamedListResponse;
  readonly isCached: boolean;
  /** Undefined for service routes. */
  readonly snapshotVersion?: string;
}

export const createVintages = ({ adapter, collections, cacheBytes, answerMs }: VintagesOptions): Vintages => {
  const responses = new ResponseCache(cacheBytes * SHARE_OF_CACHE);
  return {
    async respond(date, request, pauses) {
      const snapshot = await snapshotOf(adapter, date);
      let isHeld = false;
      try {
        const { version: snapshotVersion, publishedAt } = snapshot;
        const read = timedReader(snapshot, collections, answerMs, pauses);
        const normalized = await normalizedIn(request, read);
        // Responses with headers are cached per date, because links in headers contain the requested date.
        const named = request.route.response.headers ? `${date} ` : '';
        // The cache key contains the publication time, because the same version can be published again later.
        const cacheKey = `${named}${snapshotVersion} ${publishedAt.getTime()} ${normalized.cacheKey}`;
        const cached = responses.get(cacheKey);
        if (cached) return { representation: cached, isCached: true, snapshotVersion };
        const dated = { ...normalized, asOf: date };
        const compute = () => read((reader) => buildUnlessStreamed(dated, reader, pauses));
        const built = await responses.getOrCompute(dated, compute, cacheKey);
        if (built instanceof Representation) return { representation: built, isCached: false, snapshotVersion };
        const lists = { collections, stallMs: answerMs, responses };
        isHeld = true;
        const source = { request: dated, cacheKey, result: built, snapshot, release: () => snapshot.release() };
        const representation = new StreamedListResponse(source, lists);
        return { representation, isCached: false, snapshotVersion };
      } finally {
        if (!isHeld) snapshot.release();
      }
    },
  };
};

const snapshotOf = async (adapter: StorageAdapter, date: string): Promise<Snapshot> => {
  if (!adapter.versions) return currentIfPublished(adapter, date);
  const snapshot = await adapter.versions.asOf(endOf(date));
  if (!snapshot)
    throw notFound(date, 'nothing was published before the end of that day, or that version has been deleted');
  return snapshot;
};

/** A store without versions knows only since when its current snapshot has been current. */
const currentIfPublished = (adapter: StorageAdapter, date: string): Snapshot => {
  const snapshot = adapter.snapshot();
  if (snapshot.publishedAt <= endOf(date)) return snapshot;
  const day = snapshot.publishedAt.toISOString().slice(0, 10);
  snapshot.release();
  throw notFound(date, `this store keeps only its current version, which was published on ${day}`);
};

const endOf = (date: string): Date => new Date(Date.parse(date) + 24 * 3600 * 1000 - 1);

const notFound = (date: string, reason: string): ApiError =>
  new ApiError(
    errors.snapshot_not_found,
    `There is no snapshot as of ${date}: ${reason}. Omit "${AS_OF}" to use the current one.`,
  );
