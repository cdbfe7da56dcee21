import { LruMap } from '../util/lru-map.js';

/**
 * Minimum number of addresses that each process, and also Redis, remembers. A client could make the service forget its
 * address only by sending requests from as many other addresses, which costs more than a fresh limit is worth.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/**
 * Keeps at most twice `mostAddresses` addresses. The number of other callers is not limited, because clients cannot
 * create them.
 */
export class CallerMap<State> {
  readonly #keys: LruMap<string, State>;
  readonly #addresses: LruMap<string, State>;

  constructor(
    spanMs: number,
    readonly create: (caller: string) => State,
    mostAddresses = MOST_ADDRESSES,
  ) {
    this.#keys = new LruMap(Number.POSITIVE_INFINITY, spanMs);
    this.#addresses = new LruMap(mostAddresses, spanMs);
  }

  get(caller: string, now: number): State {
    const states = isAddress(caller) ? this.#addresses : this.#keys;
    let state = states.get(caller, now);
    if (state === undefined) {
      state = this.create(caller);
      states.set(caller, state, now);
    }
    return state;
  }

  values(): State[] {
    return [...this.#keys.values(), ...this.#addresses.values()];
  }

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }
}
