/** Requests to data routes, and the cache of their representations. */

import type { Format } from '../contracts/format.js';
import type { DataRoute } from '../contracts/plugin.js';
import { jsonFormat } from '../response/formats.js';
import { Representation } from '../response/representation.js';
import { LruMap } from '../util/lru-map.js';
import { cacheKeyOf, type Input } from './input.js';

/** A request to a data route. Requests with the same cache key have the same body within a snapshot. */
export interface DataRequest {
  readonly cacheKey: string;
  readonly route: DataRoute;
  readonly input: Input;
  readonly format: Format;
  /** The requested date, from `as_of`. */
  readonly asOf?: string;
}

/** @param input the input for this route */
export const dataRequest = (route: DataRoute, input: Input, format: Format, cacheKey = cacheKeyOf(route, input)) => ({
  cacheKey: format === jsonFormat ? cacheKey : `${format.name} ${cacheKey}`,
  route,
  input,
  format,
});

interface Entry {
  /** The request, so that the response can be computed again for the next snapshot. */
  readonly request: DataRequest;
  readonly representation: Representation;
  /** The number of uses, halved by each sweep. An entry without uses is dropped. */
  uses: number;
  /** The size of the entry when it was last measured. */
  bytes: number;
}

/** The overhead of an entry in bytes. Measured: 1930 bytes for the headers, the request and the map entry. */
export const ENTRY_OVERHEAD = 2048;

/** The largest share of the budget that a single body may use. A larger one would evict many others. */
const LARGEST_SHARE = 1 / 8;
/** The number of large lists whose bytes may be collected for the cache at the same time. */
const COLLECTED = 2;
/** The number of lists that are remembered as large. */
const KNOWN_LARGE = 1000;

const bytesOf = (cacheKey: string, { size }: Representation): number => size + cacheKey.length + ENTRY_OVERHEAD;

/** The cached representations of one snapshot. If they exceed the byte budget, rarely used ones are dropped. */
export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Representation | undefined>>();
  readonly #large = new LruMap<string, true>(KNOWN_LARGE);
  readonly #budget: number;
  #bytes = 0;
  #collected = 0;

  /** @param budget the maximum number of bytes, including compressed encodings */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** The size of the largest body that is cached, in bytes. */
  get mostBytes(): number {
    return this.#budget * LARGEST_SHARE;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(cacheKey: string): Representation | undefined {
    const entry = this.#entries.get(cacheKey);
    if (entry === undefined) return undefined;
    entry.uses++;
    return entry.representation;
  }

  /** Remembers that a list is too large to be built as a whole. */
  setLarge(cacheKey: string): void {
    this.#large.set(cacheKey, true);
  }

  isLarge(cacheKey: string): boolean {
    return this.#large.get(cacheKey) !== undefined;
  }

  /** Returns whether another large list may be collected for this cache. If so, call `endCollecting` afterwards. */
  startCollecting(): boolean {
    if (this.#collected === COLLECTED) return false;
    this.#collected++;
    return true;
  }

  endCollecting(): void {
    this.#collected--;
  }

  /**
   * Computes a representation, and caches it if it is small enough. Concurrent requests share one computation. If its
   * result is not a representation, only the first request gets it; the others get undefined.
   */
  getOrCompute<Other>(
    request: DataRequest,
    compute: () => Promise<Representation | Other>,
    cacheKey = request.cacheKey,
  ): Promise<Representation | Other | undefined> {
    const pending = this.#pending.get(cacheKey);
    if (pending) return pending;
    const computed = compute()
      .then((built) => {
        if (built instanceof Representation && built.size <= this.mostBytes) this.set(request, built, cacheKey);
        return built;
      })
      .finally(() => this.#pending.delete(cacheKey));
    const shared = computed.then((built) => (built instanceof Representation ? built : undefined));
    shared.catch(() => undefined);
    this.#pending.set(cacheKey, shared);
    return computed;
  }

  set(request: DataRequest, representation: Representation, cacheKey = request.cacheKey): void {
    const bytes = bytesOf(cacheKey, representation);
    this.#bytes -= this.#entries.get(cacheKey)?.bytes ?? 0;
    this.#entries.set(cacheKey, { request, representation, uses: 1, bytes });
    this.#bytes += bytes;
    this.#sweep();
  }

  /** Returns the requests whose representations are used most, sorted by the number of uses. */
  hottest(count: number): DataRequest[] {
    return [...this.#entries.values()]
      .sort((a, b) => b.uses - a.uses)
      .slice(0, count)
      .map(({ request }) => request);
  }

  /**
   * Drops unused entries, oldest first, until the cache is within its budget. Used entries move to the end, as in the
   * CLOCK page replacement algorithm, so that few entries are visited for each one that is dropped.
   */
  #sweep(): void {
    for (const [cacheKey, entry] of this.#entries) {
      if (this.#bytes <= this.#budget) return;
      // The representation may have been compressed since the last sweep.
      const bytes = bytesOf(cacheKey, entry.representation);
      this.#bytes += bytes - entry.bytes;
      entry.bytes = bytes;
      this.#entries.delete(cacheKey);
      if (entry.uses > 0) {
        entry.uses >>= 1;
        this.#entries.set(cacheKey, entry);
      } else this.#bytes -= bytes;
    }
  }
}
