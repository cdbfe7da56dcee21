/** A map that forgets what was not asked for during a span of time, without ever walking through itself. */

/** Keeps each value for one span after its last use at least, and two at most: an older map is dropped whole. */
export class Generations<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #turnAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly spanMs: number,
    readonly create: (key: string) => Value,
  ) {}

  /** The value of a key, made if there is none. */
  get(key: string, now: number): Value {
    if (now >= this.#turnAt) this.#turn(now);
    let value = this.#young.get(key);
    if (value === undefined) {
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
