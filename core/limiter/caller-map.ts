import { LruMap } from '../util/lru-map.js';

/**
 * The minimum number of client addresses that each process and Redis remember. To get a fresh limit, a client would
 * have to send requests from this many other addresses.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/**
 * Remembers callers. Keeps at most twice `mostAddresses` addresses. The number of other callers is not limited, because
 * clients cannot create them.
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
