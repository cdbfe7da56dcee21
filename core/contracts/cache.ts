/** The shared cache contract: one replica builds a value, and all replicas use it. */
import type { Health } from './runtime.js';

export interface Cached {
  readonly value: string;
  /** Seconds since it was built. */
  readonly ageSeconds: number;
}

export interface SharedCache {
  /**
   * The cached value, or a new one if that is older than `ttlSeconds`. Only one replica builds at a time; the others
   * get the previous value meanwhile, or wait for the first one. If `build` fails, the previous value is returned,
   * however old it is; without a previous value the promise rejects.
   */
  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached>;
  health(): Health;
  close(): Promise<void>;
}
