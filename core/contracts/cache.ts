/** The shared cache contract: one replica builds a value, and all replicas use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  /** Age in seconds. */
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value, or builds a new one if it is older than `ttlSeconds`. One replica builds at a time; the
   * others get the previous value, or wait for the first one. If `build` fails, the previous value is returned, whatever
   * its age. Rejects if there is none.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  health(): Health;
  close(): Promise<void>;
}
