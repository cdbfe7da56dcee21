/** The contract for the cache that all replicas share. One replica builds a value, and all replicas use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value if it is at most `ttlSeconds` old. Otherwise, one replica builds a new value. Meanwhile,
   * other replicas return the previous value, or wait if there is none. If `build` fails, returns the previous value,
   * or rejects if there is none.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  /** Tests the cache by writing and deleting an entry. Rejects with the error of the backend. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
