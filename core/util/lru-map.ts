/** `memoize` does not cache results for longer strings, so that clients cannot exhaust the memory. */
const MEMOIZED_LENGTH = 200;

export const memoize = <T>(compute: (text: string) => T, most = 500): ((text: string) => T) => {
  const known = new LruMap<string, T>(most);
  return (text) => {
    let value = known.get(text);
    if (value === undefined) {
      value = compute(text);
      if (text.length <= MEMOIZED_LENGTH) known.set(text, value);
    }
    return value;
  };
};

/**
 * Keeps entries in two generations. When the young generation is full, it replaces the old one, which discards entries
 * not used recently. Reading from the young generation is fast, because it changes nothing.
 */
export class LruMap<K, V> {
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  #turnAt = Number.NEGATIVE_INFINITY;

  /** @param spanMs entries are dropped one to two spans after their last use; every call must pass the current time */
  constructor(
    readonly capacity: number,
    readonly spanMs = Number.POSITIVE_INFINITY,
  ) {}

  get(key: K, now = 0): V | undefined {
    if (now >= this.#turnAt) this.#turn(now);
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const aged = this.#old.get(key);
    if (aged === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, aged, now);
    return aged;
  }

  set(key: K, value: V, now = 0): void {
    if (this.#young.size >= this.capacity) this.#turn(now);
    this.#young.set(key, value);
  }

  values(): V[] {
    return [...this.#old.values(), ...this.#young.values()];
  }

  get size(): number {
    return this.#old.size + this.#young.size;
  }

  #turn(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnAt = now + this.spanMs;
  }
}
