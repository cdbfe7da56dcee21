/** A cache shared by all replicas: one of them builds a value, and all of them use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * Returns the cached value, or builds a new one if it is more than `ttlSeconds` old. Only one replica builds at a
   * time. Meanwhile, the others get the previous value, or wait if there is none. If `build` fails, the previous value
   * is returned regardless of age. If there is none, the call rejects.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  /** Writes and deletes a test entry the way requests do. Rejects with the store's error. */
  check?(): Promise<void>;
  health(): Health;
  close(): Promise<void>;
}
