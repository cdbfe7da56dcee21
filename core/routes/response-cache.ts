import type { Format } from '../contracts/format.js';
import type { DataRoute } from '../contracts/plugin.js';
import { jsonFormat } from '../response/formats.js';
import { Representation } from '../response/representation.js';
import { LruMap } from '../util/lru-map.js';
import { cacheKeyOf, type Input } from './input.js';

/** Requests with the same cache key have the same body within a snapshot. */
export interface DataRequest {
  readonly cacheKey: string;
  readonly route: DataRoute;
  readonly input: Input;
  readonly format: Format;
  readonly asOf?: string;
}

export const dataRequest = (route: DataRoute, input: Input, format: Format, cacheKey = cacheKeyOf(route, input)) => ({
  cacheKey: format === jsonFormat ? cacheKey : `${format.name} ${cacheKey}`,
  route,
  input,
  format,
});

interface Entry {
  /** Used to compute the response again for the next snapshot. */
  readonly request: DataRequest;
  readonly representation: Representation;
  /** The number of uses. A sweep of the cache halves this number, or drops the entry if the number is 0. */
  uses: number;
}

/**
 * Size of a cache entry in bytes, without its key and body. The headers, the request and the map entry take about 1,630
 * bytes.
 */
export const ENTRY_OVERHEAD = 1792;

/** Larger bodies are not cached, because they would evict many other responses. */
const LARGEST_SHARE = 1 / 8;
const KNOWN_LARGE = 1000;

const bytesOf = (cacheKey: string, { size }: Representation): number => size + cacheKey.length + ENTRY_OVERHEAD;

export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #large = new LruMap<string, true>(KNOWN_LARGE);
  readonly #budget: number;
  #bytes = 0;
  /**
   * The iterator is kept between sweeps, because a new iterator would first skip the slots of all deleted entries. A
   * sweep drops or moves each entry that it visits, so all entries are ahead of the iterator.
   */
  readonly #hand = this.#entries.entries();

  constructor(budget: number) {
    this.#budget = budget;
  }

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

  setLarge(cacheKey: string): void {
    this.#large.set(cacheKey, true);
  }

  isLarge(cacheKey: string): boolean {
    return this.#large.get(cacheKey) !== undefined;
  }

  /**
   * Returns a cached response, or computes it once for all concurrent requests. If the result is not a representation,
   * only the first request receives it.
   */
  getOrCompute<Other>(
    request: DataRequest,
    compute: () => Promise<Representation | Other>,
    cacheKey = request.cacheKey,
  ): Promise<Representation | Other | undefined> {
    const pending = this.#pending.get(cacheKey);
    if (pending) return pending.then((built) => (built instanceof Representation ? built : undefined));
    const computed = this.#settle(request, compute(), cacheKey);
    this.#pending.set(cacheKey, computed);
    return computed;
  }

  async #settle<Built>(request: DataRequest, computing: Promise<Built>, cacheKey: string): Promise<Built> {
    try {
      const built = await computing;
      if (built instanceof Representation && built.size <= this.mostBytes) this.set(request, built, cacheKey);
      return built;
    } finally {
      this.#pending.delete(cacheKey);
    }
  }

  set(request: DataRequest, representation: Representation, cacheKey = request.cacheKey): void {
    this.#delete(cacheKey);
    representation.onGrowth = this.#grow;
    this.#entries.set(cacheKey, { request, representation, uses: 1 });
    this.#grow(bytesOf(cacheKey, representation));
  }

  hottest(count: number): DataRequest[] {
    return [...this.#entries.values()]
      .sort((a, b) => b.uses - a.uses)
      .slice(0, count)
      .map(({ request }) => request);
  }

  readonly #grow = (bytes: number): void => {
    this.#bytes += bytes;
    this.#sweep();
  };

  #delete(cacheKey: string): void {
    const entry = this.#entries.get(cacheKey);
    if (!entry) return;
    this.#entries.delete(cacheKey);
    entry.representation.onGrowth = undefined;
    this.#bytes -= bytesOf(cacheKey, entry.representation);
  }

  /** Uses the CLOCK algorithm: drops unused entries, oldest first, and moves used entries to the end. */
  #sweep(): void {
    while (this.#bytes > this.#budget) {
      const [cacheKey, entry] = this.#hand.next().value!;
      if (entry.uses > 0) {
        entry.uses >>= 1;
        this.#entries.delete(cacheKey);
        this.#entries.set(cacheKey, entry);
      } else this.#delete(cacheKey);
    }
  }
}
