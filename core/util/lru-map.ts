/** An LRU map, and functions memoized in one. */

/** Longer texts are not memoized, so that a client cannot fill the memory with them. */
const MEMOIZED_LENGTH = 200;

/**
 * Memoizes a function of a text.
 * @param most how many texts are memoized
 */
export const memoize = <T>(judge: (text: string) => T, most = 500): ((text: string) => T) => {
  const known = new LruMap<string, T>(most);
  return (text) => {
    let verdict = known.get(text);
    if (verdict === undefined) {
      verdict = judge(text);
      if (text.length <= MEMOIZED_LENGTH) known.set(text, verdict);
    }
    return verdict;
  };
};

/** Two generations of at most `capacity` entries each, so that a hit costs no bookkeeping. */
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
