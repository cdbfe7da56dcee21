/** Maps from callers to their state, which drop idle callers and bound the number of addresses. */

/**
 * Drops a value one to two spans after its last use, and earlier if there are more than `most` keys. It keeps the
 * `most` keys that were used last. There are two maps: `get` moves a value to the young one, and the old one is dropped
 * as a whole.
 */
class ExpiringMap<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #turnAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly spanMs: number,
    readonly create: (key: string) => Value,
    readonly most = Number.POSITIVE_INFINITY,
  ) {}

  /** Creates the value if there is none. */
  get(key: string, now: number): Value {
    if (now >= this.#turnAt) this.#turn(now);
    let value = this.#young.get(key);
    if (value === undefined) {
      if (this.#young.size >= this.most) this.#turn(now);
      value = this.#old.get(key) ?? this.create(key);
      this.#old.delete(key);
      this.#young.set(key, value);
    }
    return value;
  }

  values(): Value[] {
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

/**
 * A process and Redis each keep at least this many addresses. A client that wants its address forgotten must send
 * requests from this many others, which costs more than the limit that it gains.
 */
export const MOST_ADDRESSES = 10_000;

export const isAddress = (caller: string): boolean => caller.startsWith('ip:');

/** The state of each caller. The number of addresses is bounded; the operator decides how many keys there are. */
export class Callers<State> {
  readonly #keys: ExpiringMap<State>;
  readonly #addresses: ExpiringMap<State>;

  constructor(spanMs: number, create: (caller: string) => State, mostAddresses = MOST_ADDRESSES) {
    this.#keys = new ExpiringMap(spanMs, create);
    this.#addresses = new ExpiringMap(spanMs, create, mostAddresses);
  }

  get(caller: string, now: number): State {
    return (isAddress(caller) ? this.#addresses : this.#keys).get(caller, now);
  }

  values(): State[] {
    return [...this.#keys.values(), ...this.#addresses.values()];
  }

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }
}
