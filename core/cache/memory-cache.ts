/** Caches values in one process. Replicas also use this cache for their copies of shared values. */
import type { Cached, SharedCache } from '../contracts/cache.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';

export interface Loaded {
  readonly value: string;
  readonly ageMs: number;
}

interface Entry {
  copy?: { readonly value: string; readonly builtAt: number };
  loading?: Promise<void>;
  retryAt: number;
}

/** How long the old value is served after a failed build, or while another replica builds a new one. */
const RETRY_MS = 1000;

export class MemoryCache implements SharedCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    this.#clock = clock;
  }

  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached> {
    return this.getOrLoad(name, ttlSeconds, async () => ({ value: await build(), ageMs: 0 }));
  }

  async getOrLoad(name: string, ttlSeconds: number, load: () => Promise<Loaded>): Promise<Cached> {
    const entry = this.#entry(name);
    const now = this.#clock.monotonic();
    const fresh = entry.copy && now - entry.copy.builtAt < ttlSeconds * 1000;
    const wait = !entry.copy || (!entry.loading && now >= entry.retryAt);
    if (!fresh && wait) {
      entry.loading ??= this.#load(entry, ttlSeconds, load);
      await entry.loading;
    }
    const { value, builtAt } = entry.copy as NonNullable<Entry['copy']>;
    return { value, ageSeconds: (this.#clock.monotonic() - builtAt) / 1000 };
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async close(): Promise<void> {}

  #entry(name: string): Entry {
    let entry = this.#entries.get(name);
    if (!entry) {
      entry = { retryAt: 0 };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  async #load(entry: Entry, ttlSeconds: number, load: () => Promise<Loaded>): Promise<void> {
    let isExpired = true;
    try {
      const { value, ageMs } = await load();
      entry.copy = { value, builtAt: this.#clock.monotonic() - ageMs };
      isExpired = ageMs >= ttlSeconds * 1000;
    } catch (error) {
      if (!entry.copy) throw error;
    } finally {
      delete entry.loading;
      if (isExpired) entry.retryAt = this.#clock.monotonic() + RETRY_MS;
    }
  }
}
