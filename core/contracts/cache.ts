/** The shared cache contract: a value is built by one replica and kept for all. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  /** Seconds since it was built. */
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * The kept value, or a built one. One builder at a time over all replicas; others get the previous
   * value meanwhile, or wait for the first. A `build` that fails leaves the previous value in place,
   * which is then answered however old it is; it rejects only when there has never been one.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  health(): Health;
  close(): Promise<void>;
}
