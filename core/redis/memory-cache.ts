/** The cache of a single process; and the copies that a replica keeps of a shared one. */
import type { Cached, SharedCache } from '../contracts/cache.js';
import { type Clock, type Health, systemClock } from '../contracts/runtime.js';

/** A value and how long ago it was built, in milliseconds. */
export interface Loaded {
  readonly value: string;
  readonly ageMs: number;
}

interface Slot {
  copy?: { readonly value: string; readonly builtAt: number };
  loading?: Promise<void>;
  retryAt: number;
}

/** After a failure, or while another replica builds, the old value is served for this long without another attempt. */
const RETRY_MS = 1000;

export class MemoryCache implements SharedCache {
  readonly #clock: Clock;
  readonly #slots = new Map<string, Slot>();

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    this.#clock = clock;
  }

  getOrBuild(name: string, ttlSeconds: number, build: () => Promise<string>): Promise<Cached> {
    return this.getOrLoad(name, ttlSeconds, async () => ({ value: await build(), ageMs: 0 }));
  }

  /** Like `getOrBuild`, from a source that knows how old its value is. */
  async getOrLoad(name: string, ttlSeconds: number, load: () => Promise<Loaded>): Promise<Cached> {
    const slot = this.#slot(name);
    const now = this.#clock.monotonic();
    const fresh = slot.copy && now - slot.copy.builtAt < ttlSeconds * 1000;
    const wait = !slot.copy || (!slot.loading && now >= slot.retryAt);
    if (!fresh && wait) {
      slot.loading ??= this.#load(slot, ttlSeconds, load);
      await slot.loading;
    }
    const { value, builtAt } = slot.copy as NonNullable<Slot['copy']>;
    return { value, ageSeconds: (this.#clock.monotonic() - builtAt) / 1000 };
  }

  health(): Health {
    return { ok: true, message: null };
  }

  async close(): Promise<void> {}

  #slot(name: string): Slot {
    let slot = this.#slots.get(name);
    if (!slot) {
      slot = { retryAt: 0 };
      this.#slots.set(name, slot);
    }
    return slot;
  }

  async #load(slot: Slot, ttlSeconds: number, load: () => Promise<Loaded>): Promise<void> {
    let old = true;
    try {
      const { value, ageMs } = await load();
      slot.copy = { value, builtAt: this.#clock.monotonic() - ageMs };
      old = ageMs >= ttlSeconds * 1000;
    } catch (error) {
      if (!slot.copy) throw error;
    } finally {
      delete slot.loading;
      if (old) slot.retryAt = this.#clock.monotonic() + RETRY_MS;
    }
  }
}
