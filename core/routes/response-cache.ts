/** Requests to data routes, and the cache of their representations. */
import type { DataRoute } from '../contracts/plugin.js';
import { type Format, jsonFormat } from '../response/formats.js';
import type { Representation } from '../response/representation.js';
import { cacheKeyOf, type Input } from './input.js';

/** A request to a data route. Requests with the same cache key have the same body in a snapshot. */
export interface DataRequest {
  readonly cacheKey: string;
  readonly route: DataRoute;
  readonly input: Input;
  readonly format: Format;
  /** The requested date, from `as_of`. */
  readonly asOf?: string;
}

/** @param input of the same route */
export const dataRequest = (route: DataRoute, input: Input, format: Format, cacheKey = cacheKeyOf(route, input)) => ({
  cacheKey: format === jsonFormat ? cacheKey : `${format.name} ${cacheKey}`,
  route,
  input,
  format,
});

interface Entry {
  readonly representation: Representation;
  /** Halved by each sweep. An entry without uses is dropped. */
  uses: number;
  /** The size as last counted. */
  bytes: number;
}

/** Overhead of an entry in bytes, measured: 1930 for headers, request and map entry. */
export const ENTRY_OVERHEAD = 2048;

const bytesOf = (cacheKey: string, { size }: Representation): number => size + cacheKey.length + ENTRY_OVERHEAD;

/** The cached representations of one snapshot. Beyond the budget of bytes, the least used are dropped. */
export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Representation>>();
  readonly #budget: number;
  #bytes = 0;

  readonly #dropped: (cacheKey: string) => void;

  /**
   * @param budget in bytes, including compressed encodings
   * @param dropped called with each dropped cache key
   */
  constructor(budget: number, dropped: (cacheKey: string) => void = () => undefined) {
    this.#budget = budget;
    this.#dropped = dropped;
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

  /** The computed representation. Concurrent requests share one computation. */
  getOrCompute(cacheKey: string, compute: () => Promise<Representation>): Promise<Representation> {
    const pending = this.#pending.get(cacheKey);
    if (pending) return pending;
    const promise = compute()
      .then((representation) => {
        this.set(cacheKey, representation);
        return representation;
      })
      .finally(() => this.#pending.delete(cacheKey));
    this.#pending.set(cacheKey, promise);
    return promise;
  }

  set(cacheKey: string, representation: Representation): void {
    const bytes = bytesOf(cacheKey, representation);
    this.#entries.set(cacheKey, { representation, uses: 1, bytes });
    this.#bytes += bytes;
    this.#sweep();
  }

  /** The most used cache keys, most used first. */
  hottest(count: number): string[] {
    return [...this.#entries]
      .sort(([, a], [, b]) => b.uses - a.uses)
      .slice(0, count)
      .map(([cacheKey]) => cacheKey);
  }

  /**
   * Drops unused entries, oldest first, until the cache is within its budget. Used entries move to the end, as in the
   * CLOCK algorithm of page replacement, so that dropping an entry visits few others.
   */
  #sweep(): void {
    for (const [cacheKey, entry] of this.#entries) {
      if (this.#bytes <= this.#budget) return;
      // The representation may have got compressed encodings since the last sweep.
      const bytes = bytesOf(cacheKey, entry.representation);
      this.#bytes += bytes - entry.bytes;
      entry.bytes = bytes;
      this.#entries.delete(cacheKey);
      if (entry.uses > 0) {
        entry.uses >>= 1;
        this.#entries.set(cacheKey, entry);
      } else {
        this.#bytes -= bytes;
        this.#dropped(cacheKey);
      }
    }
  }
}
