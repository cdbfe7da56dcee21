/** The contract for the cache that all replicas share. One replica builds a value, and all of them use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value if it is at most `ttlSeconds` old. Otherwise builds a new value, on only one replica at a
   * time. Meanwhile, other replicas return the previous value, or wait if there is none. If `build` fails, returns the
   * previous value regardless of its age, or rejects if there is none.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  /** Tests the store by writing and deleting an entry. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
