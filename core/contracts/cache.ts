/** The shared cache contract: one replica builds a value, and all replicas use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  /** The age of the value in seconds. */
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value, or builds a new one if the cached value is older than `ttlSeconds`. Only one replica
   * builds at a time. Meanwhile, the others get the previous value, or wait for the new one if there is none. If
   * `build` fails, the previous value is returned, whatever its age; without one, the call rejects.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  /** Writes and deletes an entry in the same way as requests do. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
