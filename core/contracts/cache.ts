/** The contract for the cache that all replicas share. One replica builds a value, and all of them use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value if it is at most `ttlSeconds` old, otherwise builds a new one. Only one replica builds at
   * a time. In the meantime, the others return the previous value, or wait if there is none. If `build` fails, the
   * previous value is returned regardless of its age. Rejects if there is none.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  /** Tests the store by writing and deleting an entry. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
