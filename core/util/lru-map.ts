/** A map that forgets entries that were not used recently, and memoized functions. */

/** Longer texts are not memoized, so that clients cannot fill the memory. */
const MEMOIZED_LENGTH = 200;

/**
 * Memoizes a function of a text.
 * @param most maximum number of memoized texts; twice as many may be kept
 */
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

/** Two generations of at most `capacity` entries each. A hit in the young one changes nothing, so it is fast. */
export class LruMap<K, V> {
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  constructor(readonly capacity: number) {}

  get(key: K): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const aged = this.#old.get(key);
    if (aged !== undefined) this.set(key, aged);
    return aged;
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.capacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
