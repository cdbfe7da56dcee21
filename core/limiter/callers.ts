/** What a limiter knows of each caller, in maps that drop who has not asked for a while without walking through themselves. */

/**
 * Keeps each value for one span after its last use at least, and two at most: an older map is dropped whole. Where there
 * are more keys than `most`, it keeps those `most` that were used last, and twice as many at most.
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

  /** The value of a key, made if there is none. */
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
 * How many addresses are remembered at least, in a process and in Redis. It is above the limits of callers without a key,
 * so that who drops an address by coming from so many others has sent more requests than it may send again.
 */
export const MOST_ADDRESSES = 25_000;

/** What is known of each caller: of every key, since these are as many as the operator makes, and of a bounded number of addresses. */
export class Callers<Value> {
  readonly #keys: ExpiringMap<Value>;
  readonly #addresses: ExpiringMap<Value>;

  constructor(spanMs: number, create: (subject: string) => Value, mostAddresses = MOST_ADDRESSES) {
    this.#keys = new ExpiringMap(spanMs, create);
    this.#addresses = new ExpiringMap(spanMs, create, mostAddresses);
  }

  /** @param subject as `Limiter.take` has it */
  get(subject: string, now: number): Value {
    return (subject.startsWith('ip:') ? this.#addresses : this.#keys).get(subject, now);
  }

  values(): Value[] {
    return [...this.#keys.values(), ...this.#addresses.values()];
  }

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }
}
